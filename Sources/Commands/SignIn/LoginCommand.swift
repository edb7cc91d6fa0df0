import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr login`.
struct LoginCommand: Command {
    static let spec = CommandSpec(
        ["login"], "sign in",
        details: """
            Signs in under an account type and stores what the provider issues. The code flow opens the browser \
            and listens on the redirect to localhost. credmgr also prints the URL on standard error. If it cannot \
            listen, it asks for the redirect URL or the code on the terminal, or reads one line of standard input.

            --print-url and --complete sign in in two steps. --print-url prints the URL and keeps the pending \
            sign-in for 15 minutes. --complete finishes it, also in another process.

            With a URL, credmgr signs in at that issuer. It first defines an account type, with a client of \
            --client-id or a new client of --register. If a type for the same issuer and client exists, credmgr \
            uses that type.

            --resource URL signs in for an API that describes its sign-in (RFC 9728). credmgr finds its \
            authorization server, registers a client there, and defines an account type, named after the host or \
            by --type.

            --account signs in the user of that account again. credmgr rejects any other user and stores no data \
            of that user. --new asks the provider to offer a choice of users. If the same user signs in, credmgr \
            renews that account, or with --duplicate adds another account. --if-needed does not prompt while the \
            account has a valid token, or can get a valid token without you. If several processes start at once, \
            one signs in, and the others wait.

            Prints the account's ID and name.
            """,
        parameters: [issuer],
        options: [
            SharedOption.type, account, ifNeeded, resource, clientID, register, name, SharedOption.policy, flow,
            SharedOption.scope,
            loginHint, prompt, acrValues, maximumAge, claims, param, username, passwordFile, noBrowser, showClaims,
            new, duplicate, replace, urlOnly, complete,
            SharedOption.json,
        ],
        examples: [
            .init("sign in through the browser", "credmgr login --type ToDoList"),
            .init(
                "sign in at a provider for the first time",
                "credmgr login https://login.example.com --client-id 0a1b --name Work"),
            .init("sign in on a machine without a browser", "credmgr login --type ToDoList --flow device"),
            .init(
                "sign in for an API that describes its sign-in",
                "credmgr login --resource https://api.example.com/"),
            .init("sign in again, as the same user", "credmgr login --account ann@example.com"),
            .init("finish a sign-in with a URL from the clipboard", "wl-paste | credmgr login --complete -"),
        ],
        exitStatuses: [3, 4, 5, 6, 7, 130])

    static let account = SharedOption.account.described("sign in the user of this account again, and no other user")
    private static let ifNeeded = Option.flag("if-needed", "do not sign in while the account works")
    static let param = Option.pairs(
        "param", "K=V", "an extra parameter of the authorization request, for this sign-in only")
    static let resource = Option.value("resource", .any("URL"), "the API to sign in for")
    static let clientID = Option.value(
        "client-id", .any("ID"), "with a URL or --resource, the client to use")
    static let register = Option.flag("register", "with a URL, register a client there (RFC 7591)")
    static let name = Option.value("name", .any("NAME"), "with a URL, the name of the new account type")
    static let issuer = Parameter.optional(
        "url", .any("URL"), "the issuer to sign in at, if no type is defined for it")
    static let flow = Option.choice("flow", "FLOW", of: SignInFlow.self, "how to obtain the grant")
    static let loginHint = Option.value("login-hint", .any("HINT"), "the user that the provider offers first")
    static let prompt = Option.value(
        "prompt", .any("PROMPT", .words(["none", "login", "consent", "select_account"])),
        "the prompt of the provider, such as login or select_account")
    static let acrValues = Option.value(
        "acr-values", .any("ACR"), "the authentication that an API requires (RFC 9470)")
    static let maximumAge = Option.integer(
        "max-age", "SECONDS", in: 0...Int64(Int32.max), "the maximum time since the user authenticated")
    static let claims = Option.value("claims", .any("JSON"), "claims to request, as an API requires them")
    static let username = Option.value(
        "username", .any("NAME"), "the username for the password flow, or the user for jwt_bearer")
    static let passwordFile = Option.value(
        "password-file", .file, "a file with the password of the password flow; - for standard input")
    private static let noBrowser = Option.flag("no-browser", "print the URL and open no browser")
    private static let showClaims = Option.flag("show-claims", "show the claims of the ID token")
    static let new = Option.flag("new", "sign in another user; the provider offers a choice of users")
    static let duplicate = Option.flag("duplicate", "add an account even if the user already has an account")
    static let replace = Option.flag("replace", "end the account's other grants, even those that allow more")
    private static let urlOnly = Option.flag(
        "print-url", "print the authorization URL and leave the sign-in pending")
    private static let complete = Option.value(
        "complete", .any("URL"), "finish a pending sign-in with the redirect URL; - reads standard input")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        if try InitCommand.isMeant(by: arguments, session) { return try InitCommand.guide(session) }
        if let issuer = try IssuerSignIn(arguments, session)?.issuerToAskAbout(arguments) {
            return try InitCommand.guide(session, name: arguments[Self.name], issuer: issuer)
        }
        if arguments[Self.urlOnly], arguments[Self.complete] != nil {
            throw CredentialError(.usage, "--print-url and --complete require two separate calls")
        }
        if let url = arguments[Self.complete] {
            // A handler of the desktop has no terminal: its entry sets the variable, and the browser shows the
            // result.
            let isHandler = GlobalOptions.set("CREDMGR_HANDLER", session.context.environment) != nil
            do throws(CredentialError) {
                let outcome = try complete(url == "-" ? try line(session) : url, session)
                if isHandler { Browser.show(title: outcome, text: "", session) }
            } catch {
                if isHandler {
                    Browser.show(title: "credmgr: not signed in", text: error.text, session)
                }
                throw error
            }
        } else if arguments[Self.urlOnly] {
            try printURL(session)
        } else {
            try signIn(session)
        }
    }

    // MARK: In one go

    private func signIn(_ session: CommandSession) throws(CredentialError) {
        guard arguments[Self.ifNeeded] else { return try signIn(try SignInTarget(arguments, session), session) }
        var target = try SignInTarget.defined(arguments, session)
        if let target, try showWorking(target, session) { return }
        // Of all that start at once one signs in, and the others find its account.
        let lock = try session.context.locks.lock(
            Self.lock, in: session.options.group ?? .standard, seconds: Self.patience)
        defer { lock.release() }
        // Another process may have defined the type meanwhile, or signed the account in.
        if target.map({ $0.account != nil }) ?? true { target = try SignInTarget.defined(arguments, session) }
        if let target, try showWorking(target, session) { return }
        let found = if let target { target } else { try SignInTarget(arguments, session) }
        try signIn(found, session)
    }

    /// The lock of processes that sign in only if no other one has.
    private static let lock = "sign-in"
    /// How long one waits for another's sign-in, in seconds: as long as a person may take.
    private static let patience = 600

    /// Shows the account that makes the sign-in unnecessary.
    ///
    /// - Returns: whether there is one.
    private func showWorking(_ target: SignInTarget, _ session: CommandSession) throws(CredentialError) -> Bool {
        guard let account = try workingAccount(target, session, session.stores()) else { return false }
        try show(account, in: target.group, session)
        return true
    }

    /// Signs in, and saves the account, and the type of the target if that is not saved yet.
    func signIn(_ target: SignInTarget, _ session: CommandSession) throws(CredentialError) {
        let stores = session.stores()
        let plan = try SignInPlan(arguments, target, session, stores)
        let clocks = ClockWatch()
        var driver = SignInDriver(
            session: session, plan: plan,
            adapterContext: session.services(stores).adapterContext(of: plan.request.type).watched(by: clocks),
            opensBrowser: !arguments[Self.noBrowser], isDefined: target.save == nil)
        defer { driver.end() }
        defer { tell(clocks, session) }
        do throws(CredentialError) {
            let services = session.services(stores)
            try plan.checkSecrets(services.adapterContext.clientSecrets)
            let result = try services.signIn.withReservedSpace(in: plan.group, of: plan.store.kind) {
                () throws(CredentialError) in try driver.run()
            }
            try target.save?()
            let outcome = try plan.keep(result, by: services)
            driver.show(title: plan.title(of: outcome))
            try tell(outcome, result, plan, session)
        } catch {
            driver.show(
                title: plan.failureTitle, text: error.text)
            // An error in the call or the type before the user was asked for anything is not a failed sign-in.
            if driver.hasAsked || error.code.exitStatus != 2 {
                plan.tell(error, on: session.context.machine)
            }
            throw named(error, plan)
        }
    }

    /// The account that makes this sign-in unnecessary: it has a token that is valid, or can get one without a
    /// person.
    ///
    /// - Throws: ``ErrorCode/ambiguousAccount`` if it is not clear which account is meant; the errors of the store.
    private func workingAccount(
        _ target: SignInTarget, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) -> Account? {
        // The options require a new sign-in, whichever accounts exist.
        if arguments[Self.new] || arguments[Self.duplicate] || arguments[Self.acrValues] != nil
            || arguments[Self.maximumAge] != nil
            || arguments[Self.claims] != nil || arguments[Self.prompt].map({ $0 != "none" }) == true
        {
            return nil
        }
        let person = arguments[Self.username] ?? arguments[Self.loginHint]
        let resolver = TargetResolver(session)
        let found: Account
        do throws(CredentialError) {
            if let account = target.account {
                found = account
                if let person, !AccountSelection.fits(person, account) { return nil }
            } else {
                found = try resolver.target(ofType: target.type, TargetOptions(account: person)).account
            }
        } catch {
            if error.code == .noSuchAccount { return nil }
            throw error
        }
        let demand = TokenDemand(policy: arguments[SharedOption.policy], scope: arguments[SharedOption.scope])
        let request = try demand.request(
            of: found, under: target.type, in: target.group,
            by: session.context.adapters.adapter(of: target.type))
        let now = session.context.clock.now
        if let token = session.cache.token(for: request.key, of: found.id, in: target.group),
            request.freshness.allows(token, now: now)
        {
            return found
        }
        guard let set = try session.services(stores).repository.read(found, in: target.group, isLocked: false)
        else {
            return nil
        }
        if let token = set.accessToken(for: request.key), request.freshness.allows(token, now: now) { return found }
        let grants = set.allGrants.filter { $0.policy == request.key.policy }.map(\.grant)
        let isWorking = grants.contains { grant in
            grant.isRefreshable && grant.refreshExpiresAt.map { $0 > now } ?? true
                && Set(grant.scope).isSuperset(of: demand.scope)
        }
        if isWorking { return found }
        guard grants.contains(where: \.isDoubtful) else { return nil }
        return try isRevived(request, session, stores) ? found : nil
    }

    /// Whether a grant that the provider has refused in words of its own can be refreshed after all: that is tried
    /// before a browser opens.
    private func isRevived(
        _ request: TokenService.Request, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) -> Bool {
        var request = request
        request.forceRefresh = true
        do throws(CredentialError) {
            return try session.services(stores).tokens.token(request).refreshed
        } catch {
            guard error.code == .signInRequired else { throw error }
            return false
        }
    }

    // MARK: In two halves

    private func printURL(_ session: CommandSession) throws(CredentialError) {
        let stores = session.stores()
        let plan = try SignInPlan(arguments, try SignInTarget(arguments, session), session, stores)
        guard plan.request.flow == .code else {
            throw CredentialError(.usage, "--print-url requires --flow code")
        }
        let step = try plan.adapter.begin(
            plan.request, in: session.services(stores).adapterContext(of: plan.request.type))
        guard case .interaction(.openURL(let address, let state), let pending) = step else {
            throw CredentialError(
                .unsupported, "this sign-in does not begin with a page to open",
                hint: plan.command.hint)
        }
        try PendingSignIns(session.context.machine, stores).keep(
            PendingSignIn(plan: plan, pending: pending, createdAt: session.context.clock.now), state: state)
        if let text = ServerNotice.text(plan.request, .openURL(address, state: state), pending) {
            session.notices.say(text)
        }
        AnotherPerson(plan).tellWhatIsSent(pending, at: address, session.notices)
        guard arguments.wantsJSON else { return try session.print("\(address)\n") }
        var json = JSONObject()
        json["url"] = .string("\(address)")
        try session.print(.object(json))
    }

    /// Finishes a pending sign-in.
    ///
    /// - Returns: the outcome in one line.
    private func complete(_ redirected: String, _ session: CommandSession) throws(CredentialError)
        -> LocalizedMessage
    {
        let stores = session.stores()
        let services = session.services(stores)
        let clocks = ClockWatch()
        defer { tell(clocks, session) }
        let context = services.adapterContext.watched(by: clocks)
        // The room is in the group that keeps pending sign-ins, too: the group of a sign-in is known only after it
        // was taken, and it cannot be taken again.
        let (signIn, step) = try services.signIn.withReservedSpace(in: .standard) { () throws(CredentialError) in
            let signIn = try PendingSignIns(session.context.machine, stores).take(
                redirected, from: session.options.store, in: context)
            return (
                signIn,
                try told(signIn.plan, session) { () throws(CredentialError) in
                    try signIn.plan.adapter.resume(
                        signIn.plan.request, pending: signIn.pending, with: .redirect(redirected),
                        in: context.connected(as: signIn.plan.request.type))
                }
            )
        }
        let plan = signIn.plan
        return try told(plan, session) { () throws(CredentialError) in
            guard case .done(let result) = step else { throw try goOn(step, with: signIn, session, stores) }
            let outcome = try plan.keep(result, by: services)
            try tell(outcome, result, plan, session)
            return plan.title(of: outcome)
        }
    }

    /// Reports a failure here to every process of the group.
    private func told<Value>(
        _ plan: SignInPlan, _ session: CommandSession, _ work: () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Value {
        do throws(CredentialError) { return try work() } catch {
            plan.tell(error, on: session.context.machine)
            throw named(error, plan)
        }
    }

    /// Keeps a sign-in pending that has a further page, and prints the next step.
    private func goOn(
        _ step: SignInStep, with signIn: PendingSignIn, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) -> CredentialError {
        guard case .interaction(.openURL(let address, let state), let pending) = step else {
            return CredentialError(
                .unsupported, "the provider requires more than a page",
                hint: signIn.plan.command.hint)
        }
        var signIn = signIn
        signIn.pending = pending
        signIn.createdAt = session.context.clock.now
        try PendingSignIns(session.context.machine, stores).keep(signIn, state: state)
        session.notices.say("The sign-in has a further page. Open this address:")
        session.notices.say("  \(address)")
        return CredentialError(
            .signInRequired, "the sign-in is not finished: it has a further page",
            hint: "paste the redirect URL into: credmgr login --complete -")
    }

    private func line(_ session: CommandSession) throws(CredentialError) -> String {
        guard let line = try session.context.console.readInputLine(), !line.isEmpty else {
            throw CredentialError(.usage, "no redirect URL on standard input")
        }
        return line
    }

    // MARK: The end

    private func registration(_ plan: SignInPlan, _ session: CommandSession) throws(CredentialError)
        -> ClientIdentity
    {
        try TargetResolver(session).registration(of: plan.request.type)
    }

    /// Reports and prints the result of a sign-in that is kept.
    private func tell(
        _ outcome: SignInService.Outcome, _ result: SignInResult, _ plan: SignInPlan, _ session: CommandSession
    ) throws(CredentialError) {
        let (request, store) = (plan.request, plan.store)
        if outcome.account.store == store.kind {
            store.tell("the grant", session)
        } else if session.options.store == store.kind, outcome.account.store != .etcd {
            // The accounts of a shared group are in the cluster of the group.
            session.notices.note(
                "the account stays in the \(outcome.account.store.shownName); to move it: "
                    + "credmgr store migrate --to \(store.kind.rawValue) --group \(plan.group)")
        }
        AnotherPerson(plan).tell(outcome, session.notices)
        for warning in outcome.warnings { session.notices.warning(warning) }
        for note in outcome.notes { session.notices.note(note) }
        for warning in plan.revokeReplaced(outcome, by: session.services(session.stores())) {
            session.notices.warning(warning)
        }
        let index = try session.context.records.index(of: plan.group, .none)
        let registration = try registration(plan, session)
        if outcome.isNew {
            tellChoice(outcome.account, of: request.type, among: index, registration, plan.group, session)
        }
        warnOfAnother(result, session)
        let signedIn = SignedIn(outcome, result, plan)
        // Whether a command without a name takes the account.
        signedIn.tell(session, isDefault: index.defaultEntry(of: registration)?.id == outcome.account.id)
        try show(outcome.account, in: plan.group, session)
        if arguments[Self.showClaims] || request.type.showClaims, let idToken = result.tokens.grant.idToken {
            for line in ClaimsPresentation.lines(of: try CompactJWT(idToken.reveal()).claims) {
                session.notices.say(LocalizedMessage(verbatim: line))
            }
        }
    }

    /// If there is more than one account, tells which one is used without a name, before a script finds out.
    private func tellChoice(
        _ account: Account, of type: AccountType, among index: AccountIndex, _ registration: ClientIdentity,
        _ group: KeychainGroup, _ session: CommandSession
    ) {
        let count = index.count(of: registration)
        let chosen = index.chosen(of: registration)
        // A new record may have come in the place of a damaged one, which was the default and still is.
        guard count > 1, chosen?.id != account.id else { return }
        let shown: LocalizedMessage =
            chosen.map { "; the default stays \(UntrustedText.shown($0.shownName))" }
            ?? " and no default"
        session.notices.note(
            "account type \(type.name) has \(count) accounts\(shown); to make this account the default: "
                + "\(TargetResolver.use(account.id, of: type, in: group))")
    }

    /// Says if a clock is wrong, whether or not the sign-in succeeds: tokens are judged by it.
    private func tell(_ clocks: ClockWatch, _ session: CommandSession) {
        if let warning = clocks.warning { session.notices.warning(warning) }
    }

    /// Prints who is signed in.
    private func show(
        _ account: Account, in group: KeychainGroup, _ session: CommandSession
    ) throws(CredentialError) {
        guard arguments.wantsJSON else {
            return try session.print("\(account.id)\t\(UntrustedText.shown(account.shownName))\n")
        }
        let isDefault = DefaultAccounts.contain(account, try session.context.records.index(of: group, .none))
        try session.print(AccountPresentation(account, group: group, isDefault: isDefault).json)
    }

    /// The browser's session may be another user's than the requested one.
    private func warnOfAnother(_ result: SignInResult, _ session: CommandSession) {
        guard let hint = arguments[Self.loginHint], !result.isOf(hint) else { return }
        session.notices.warning(
            "\(UntrustedText.shown(result.identity.shownName)) has signed in instead of "
                + "\(UntrustedText.shown(hint)) from --login-hint")
    }

    /// The error with the hint that begins this sign-in again, if an adapter could name the type only.
    private func named(_ error: CredentialError, _ plan: SignInPlan) -> CredentialError {
        let ofAdapter = LoginHint(type: plan.request.type.name)
        let withPolicy = LoginHint(type: plan.request.type.name, policy: plan.request.policy)
        guard error.hint == ofAdapter.description || error.hint == withPolicy.description else { return error }
        var error = error
        error.advice = plan.command.hint
        return error
    }
}
