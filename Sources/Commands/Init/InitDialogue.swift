import CommandLine
import CredentialCore
import OAuth

/// Asks the questions of a guided sign-in on the terminal, and has its effects.
struct InitDialogue {
    private let session: CommandSession
    private let layout: HelpLayout

    init(_ session: CommandSession) {
        self.session = session
        layout = HelpLayout(session)
    }

    /// Runs it to its end.
    ///
    /// - Throws: ``ErrorCode/cancelled`` if the terminal has no more input; ``ErrorCode/interrupted``; a failure
    ///   that no other input can fix.
    func run(_ beginning: GuidedSetup) throws(CredentialError) {
        var setup = beginning
        say(
            "This guides you through your first sign-in. Press Ctrl-C to stop. credmgr saves only in the last "
                + "step.")
        while true {
            switch setup.step {
            case .ask(let question): try ask(question, &setup)
            case .perform(let effect): setup.finish(try perform(effect, of: setup))
            case .end: return tellCommands(of: setup)
            }
        }
    }

    private func say(_ text: LocalizedMessage) { show(layout.paragraph(text)) }

    private func show(_ text: String) {
        session.notices.say(LocalizedMessage(verbatim: text.hasSuffix("\n") ? String(text.dropLast()) : text))
    }

    // MARK: Questions

    private func ask(_ question: GuidedSetup.Question, _ setup: inout GuidedSetup) throws(CredentialError) {
        introduce(question, setup)
        while setup.step == .ask(question) {
            let answer = try session.context.console.ask(
                prompt(of: question, setup), isSecret: question == .clientSecret)
            switch setup.answer(answer.reveal()) {
            case .accepted: return
            case .refused(let reason): say("\(reason)")
            case .narrowed: showProviders(setup)
            }
        }
    }

    private func showProviders(_ setup: GuidedSetup) {
        for line in setup.providerLines(width: min(session.context.console.width, 80)) {
            session.notices.say(LocalizedMessage(verbatim: line))
        }
    }

    /// The explanation above a question.
    private func introduce(_ question: GuidedSetup.Question, _ setup: GuidedSetup) {
        switch question {
        case .provider:
            show("\n" + layout.paragraph("Which provider?"))
            showProviders(setup)
        case .placeholder(let name):
            guard let placeholder = setup.placeholder(name) else { return }
            let summary = LocalizedMessage(kept: placeholder.summary)
            let example: LocalizedMessage = placeholder.example.map { "\(summary), such as \($0)" } ?? summary
            let isTenant = placeholder.form == .guid && name == "tenant"
            show(
                "\n"
                    + layout.paragraph(
                        isTenant ? "\(example); or a domain of the tenant, such as contoso.com" : example))
        case .issuer:
            show("\n" + layout.paragraph("The address (issuer) of the provider, such as https://login.example.com"))
        case .settingsFile: show("\n" + layout.paragraph("The path of the file, such as ./settings.plist"))
        case .clientID: guide(setup)
        // The user said no to a registration later, and has a client to set up.
        case .clientSecret: if setup.replacesRegistered { guide(setup) }
        case .registration, .name, .retry: return
        }
    }

    private func prompt(of question: GuidedSetup.Question, _ setup: GuidedSetup) -> LocalizedMessage {
        switch question {
        case .provider: "Number or name, or a part of the name: "
        case .placeholder(let name):
            setup.placeholder(name)?.standard.map { "\(name) [\($0)]: " } ?? "\(name): "
        case .issuer: "Issuer: "
        case .settingsFile: "File: "
        case .registration: "This provider registers clients by itself. Register one now? [Y/n] "
        case .clientID: "Client ID: "
        case .clientSecret:
            setup.preset?.needsClientSecret == true
                ? "Client secret (hidden): "
                : "Client secret (hidden; press Enter if the client has no secret): "
        case .name: "Name of the account type [\(setup.suggestedName)]: "
        case .retry:
            setup.file == nil
                ? "Press Enter to sign in again, or enter another client ID: "
                : "Press Enter to sign in again, or enter the path of another file: "
        }
    }

    // MARK: Effects

    private func perform(
        _ effect: GuidedSetup.Effect, of setup: GuidedSetup
    ) throws(CredentialError) -> GuidedSetup.Outcome {
        do throws(CredentialError) {
            switch effect {
            case .resolveTenant(let domain):
                guard let preset = setup.preset else { return .failed }
                let id = try TenantLookup(session).id(of: domain, preset)
                say("The ID of this tenant is \(id).")
                return .tenant(id)
            case .askProvider: return try askProvider(setup)
            case .readSettings(let file): return try readSettings(file, setup)
            case .signIn: return try signIn(setup)
            }
        } catch {
            // No other input fixes a locked store, a fault or a signal.
            guard [2, 4, 6, 7].contains(error.code.exitStatus) || error.code == .malformedReply else { throw error }
            session.notices.error(effect == .signIn ? Self.withoutCommands(error) : error)
            return .failed
        }
    }

    /// The error without the commands of its hints: the account type that they name is not saved.
    private static func withoutCommands(_ error: CredentialError) -> CredentialError {
        var error = error
        error.additionalHints = error.hints.filter { !$0.description.contains("credmgr ") }
        error.advice = nil
        return error
    }

    /// The session of a command whose notes repeat those printed here.
    private var quiet: CommandSession { session.quieted }

    private func arguments(_ words: [String]) throws(CredentialError) -> Arguments {
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            throw CredentialError(.internalFault, "the arguments of the guided sign-in are not a valid command")
        }
        return arguments
    }

    private func draft(
        _ setup: GuidedSetup, client placeholder: String? = nil
    ) throws(CredentialError) -> DefinitionDraft {
        var builder = DefinitionBuilder(try arguments(setup.definitionWords(client: placeholder)), quiet)
        builder.alwaysAsks = placeholder != nil
        builder.clientSecret = setup.clientSecret
        return try builder.draft()
    }

    /// Has the user confirm the commands, files and variables of a definition that another one wrote, before a
    /// sign-in uses them.
    ///
    /// - Parameter place: the file or preset that they are of.
    /// - Returns: the confirmed uses; `nil` for a no.
    private func confirmation(
        of uses: [DefinitionReach.Use], in place: String, _ setup: GuidedSetup
    ) throws(CredentialError) -> [String]? {
        let texts = uses.map { "\($0.key): \($0.text.description)" }
        let confirmed = setup.facts?.confirmed ?? []
        if texts.allSatisfy(confirmed.contains) { return confirmed }
        let words = ShellQuoting.line(["credmgr"] + setup.definitionWords() + ["--trust"])
        do throws(CredentialError) {
            try DefinitionReach.confirm(
                uses, of: UntrustedText.shown(place, limit: 200), again: LocalizedMessage(verbatim: words), session)
            return texts
        } catch {
            guard error.code == .denied else { throw error }
            session.notices.error(error)
            return nil
        }
    }

    private func askProvider(_ setup: GuidedSetup) throws(CredentialError) -> GuidedSetup.Outcome {
        let command = TypesAddCommand(arguments: try arguments(setup.definitionWords(client: Self.nobody)))
        let draft = try draft(setup, client: Self.nobody)
        let type = draft.type, adapter = try session.context.adapters.adapter(of: type)
        guard
            let confirmed = try confirmation(
                of: command.unconfirmed(type, draft.preset, session), in: draft.preset?.title ?? type.name, setup)
        else { return .unconfirmed }
        if draft.metadata == nil, type.issuer == nil, type.signInFlow == .code, type.endpoints.isEmpty {
            // An adapter without an issuer asks its provider when a sign-in begins; this sign-in is never finished.
            let request = SignInRequest(
                type: type, flow: .code, policy: try adapter.policy(nil, of: type), scope: type.scope,
                redirectURI: type.redirectURI ?? adapter.defaultRedirectURI)
            _ = try adapter.begin(request, in: session.services(session.stores(mayPrompt: false)).adapterContext)
        }
        var facts = facts(of: type, adapter)
        facts.confirmed = confirmed
        facts.place = setup.preset?.title ?? facts.place
        facts.registersClients = setup.preset == nil && draft.metadata?.endpoints[.registration] != nil
        if let given = setup.issuer, let issuer = facts.issuer,
            let correction = IssuerDiscovery.correction(of: given, to: issuer)
        {
            say(correction)
        }
        return .facts(facts)
    }

    /// A client ID for the time at which the provider is asked only: Azure AD B2C takes GUIDs.
    private static let nobody = "00000000-0000-0000-0000-000000000000"

    private func readSettings(
        _ file: String, _ setup: GuidedSetup
    ) throws(CredentialError) -> GuidedSetup.Outcome {
        let (type, _) = try TypesImportCommand(arguments: arguments(setup.definitionWords())).read(quiet)
        let reach = DefinitionReach(of: type, session)
        reach.tell(session, besides: reach.needingTrust)
        guard let confirmed = try confirmation(of: reach.needingTrust, in: file, setup) else { return .unconfirmed }
        var facts = facts(of: type, try session.context.adapters.adapter(of: type))
        (facts.clientID, facts.name) = (type.clientID, Identifier.near(type.clientID).map { _ in "app" })
        facts.confirmed = confirmed
        guide(facts, nil)
        return .facts(facts)
    }

    private func facts(of type: AccountType, _ adapter: any CredentialAdapter) -> GuidedSetup.Facts {
        GuidedSetup.Facts(
            issuer: type.issuer, redirectURI: type.redirectURI ?? adapter.defaultRedirectURI,
            scope: type.scope, flow: type.signInFlow,
            place: type.issuer.flatMap(URI.init)?.origin ?? type.authority ?? type.adapter)
    }

    private func guide(_ setup: GuidedSetup) {
        if let facts = setup.facts { guide(facts, setup.preset) }
    }

    /// Shows the exact values to register at the provider.
    private func guide(_ facts: GuidedSetup.Facts, _ preset: Preset?) {
        let place = facts.place
        var text = "\n"
        if let link = preset?.documentation {
            text += layout.paragraph(
                "Register an application at \(UntrustedText.shown(place)); \(link) describes it:")
        } else {
            text += layout.paragraph("Register an application at \(UntrustedText.shown(place)):")
        }
        let isConfidential = preset?.needsClientSecret == true
        var rows: [(LocalizedMessage, LocalizedMessage)] = [
            (
                "kind",
                isConfidential
                    ? "native or desktop application (with a client secret)"
                    : "native or desktop application (public client, no secret)"
            )
        ]
        if facts.flow == .code {
            rows.append(
                ("grant", "authorization code with PKCE; also refresh tokens, if the provider offers the choice"))
            let isPortFree = LoopbackRedirect.hasFreePort(facts.redirectURI)
            let redirect = UntrustedText.shown(facts.redirectURI)
            rows.append(("redirect URI", isPortFree ? "\(redirect) (with any port)" : "\(redirect)"))
        } else {
            rows.append(("grant", "\(facts.flow.rawValue)"))
        }
        if !facts.scope.isEmpty { rows.append(("scopes", "\(facts.scope.joined(separator: " "))")) }
        let translations = session.context.console.translations
        text += layout.terms(rows.map { ($0.0.text(in: translations), $0.1) })
        for note in preset?.notes ?? [] {
            text += layout.item(LocalizedMessage(kept: UntrustedText.shown(note, limit: 300)))
        }
        show(text)
    }

    // MARK: The end

    /// Signs in, and saves the account type after the sign-in: a sign-in that is interrupted leaves no type. A
    /// client that credmgr registers is saved before, since the provider has it from then on.
    private func signIn(_ setup: GuidedSetup) throws(CredentialError) -> GuidedSetup.Outcome {
        let words = setup.definitionWords()
        let login = LoginCommand(arguments: try arguments(setup.loginWords))
        if words[1] == "import" {
            let command = TypesImportCommand(arguments: try arguments(words))
            let (type, _) = try command.read(quiet)
            // The file may have changed since it was read first.
            let uses = DefinitionReach(of: type, session).needingTrust
            guard try confirmation(of: uses, in: setup.file ?? type.name, setup) != nil else { return .unconfirmed }
            let saving = TypesImportCommand(arguments: try arguments(Self.words(words, confirming: uses)))
            try login.signIn(
                target(type) { () throws(CredentialError) in _ = try saving.write(type, quiet) }, session)
            return .signedIn
        }
        if setup.replacesRegistered, let name = setup.name, try session.catalog.isDefined(name) {
            try TypesRemoveCommand(arguments: arguments(["types", "remove", name])).run(quiet)
        }
        let draft = try draft(setup)
        let command = TypesAddCommand(arguments: try arguments(words))
        if setup.registers {
            if try !session.catalog.isDefined(draft.type.name) { try command.write(draft, session) }
            let type = try TargetResolver(session).type(named: draft.type.name)
            try login.signIn(target(type, saving: nil), session)
            return .signedIn
        }
        let uses = command.unconfirmed(draft.type, draft.preset, session)
        guard try confirmation(of: uses, in: draft.preset?.title ?? draft.type.name, setup) != nil else {
            return .unconfirmed
        }
        var type = draft.type
        if let secret = draft.clientSecret { type.clientSecret = .literal(secret) }
        let saving = TypesAddCommand(arguments: try arguments(Self.words(words, confirming: uses)))
        try login.signIn(target(type) { () throws(CredentialError) in try saving.write(draft, quiet) }, session)
        return .signedIn
    }

    /// The words with the option that confirms the definition, if there is something to confirm: all of it was
    /// asked about.
    private static func words(_ words: [String], confirming uses: [DefinitionReach.Use]) -> [String] {
        words.filter { $0 != "--trust" } + (uses.isEmpty ? [] : ["--trust"])
    }

    private func target(
        _ type: AccountType, saving save: (() throws(CredentialError) -> Void)?
    ) -> SignInTarget {
        SignInTarget(newType: type, group: TargetResolver(session).group(of: type), save: save)
    }

    private func tellCommands(of setup: GuidedSetup) {
        let name = setup.name ?? setup.suggestedName
        session.notices.outcome("")
        session.notices.outcome("In a script:")
        session.notices.outcome(
            LocalizedMessage(
                verbatim: "  TOKEN=$(" + ShellQuoting.line(["credmgr", "token", "--type", name]) + ")"))
        session.notices.outcome("The same without questions:")
        for words in [setup.definitionWords(), setup.loginWords] {
            session.notices.outcome(LocalizedMessage(verbatim: "  " + ShellQuoting.line(["credmgr"] + words)))
        }
    }
}
