import CommandLine
import CredentialCore
import StrictJSON

/// The things that a definition reads here, the accounts that it sees, and the places that their tokens may go to.
struct DefinitionReach {
    /// A command, a file, a variable or a proxy of a definition.
    struct Use {
        /// The key of the definition.
        let key: String
        /// The command, file or variable with the place that its content goes to, or the proxy.
        let text: LocalizedMessage
        /// Whether the definition's author may only name it if the user confirms that.
        let needsTrust: Bool
    }

    let uses: [Use]
    /// The accounts that were signed in before.
    let accounts: [(group: KeychainGroup, account: Account)]
    /// The origins that tokens may go to.
    let origins: [String]

    /// Looks at a definition that is to be written, or is there.
    init(of type: AccountType, _ session: CommandSession) {
        uses = Self.uses(of: type, session)
        origins = Set(([type.apiBase] + type.apiOrigins).compactMap { $0.flatMap(URI.init)?.origin })
            .sorted()
        let resolver = TargetResolver(session), group = resolver.group(of: type)
        guard let registration = try? resolver.registration(of: type),
            let registry = try? session.context.records.registry(of: group)
        else {
            accounts = []
            return
        }
        accounts = registry.accounts(of: registration).map { (group, $0) }
    }

    /// The commands, files, variables and the proxy that need the user's confirmation.
    var needingTrust: [Use] { uses.filter(\.needsTrust) }

    /// Shows all of that, but the uses that a question shows.
    func tell(_ session: CommandSession, besides asked: [Use] = []) {
        for use in uses where !asked.contains(where: { $0.key == use.key }) {
            session.notices.note("\(use.key): \(use.text)")
        }
        for (_, account) in accounts {
            session.notices.note(
                "the type sees the account \(UntrustedText.shown(account.shownName)) (\(account.id)), signed in "
                    + "under \(account.type)"
            )
        }
        if !origins.isEmpty {
            session.notices.note("tokens of its accounts may go to \(origins.joined(separator: ", "))")
        }
    }

    /// The same for `--json`.
    var json: [(String, JSONValue)] {
        [
            ("uses", JSONValue(uses.map { "\($0.key): \($0.text.description)" })),
            ("accounts", JSONValue(accounts.map(\.account.id))), ("origins", JSONValue(origins)),
        ]
    }

    /// Has the user confirm the commands, files, variables and the proxy of a definition that another one wrote.
    ///
    /// - Parameters:
    ///   - uses: those to confirm. The question and the error show them, even if notes are not shown.
    ///   - again: the command that confirms them.
    /// - Throws: ``ErrorCode/usage`` if no user can be asked; ``ErrorCode/denied`` for a no.
    static func confirm(
        _ uses: [Use], of name: String, again: LocalizedMessage, _ session: CommandSession
    ) throws(CredentialError) {
        let shown = LocalizedMessage.joined(uses.map { "\($0.key): \($0.text)" }, by: "; ")
        guard session.mayAsk else {
            throw CredentialError(
                .usage,
                "the definition of \(name) names commands, files, variables or a proxy, which are not confirmed: \(shown)",
                hint: again)
        }
        let answer = try session.context.console.ask("Let \(name) use \(shown)? [y/N] ", isSecret: false).reveal()
        guard ["y", "Y", "yes"].contains(answer) else {
            throw CredentialError(
                .denied,
                "nothing was defined: \(uses.map(\.key).joined(separator: ", ")) of \(name) is not confirmed")
        }
    }

    // MARK: What it reads

    private static func uses(of type: AccountType, _ session: CommandSession) -> [Use] {
        let place = UntrustedText.shown(destination(of: type, session), limit: 200)
        var uses: [Use] = []
        func add(_ key: String, _ source: ClientSecretSource?, signs: Bool = false) {
            guard let what = source.flatMap(shown) else { return }
            uses.append(
                Use(
                    key: key, text: signs ? "\(what) signs requests to \(place)" : "\(what) goes to \(place)",
                    needsTrust: true))
        }
        add("client_secret", type.clientSecret)
        add("private_key", type.privateKey, signs: true)
        if let source = type.identityToken {
            let what = source.platform.map { issued(source, by: $0) } ?? source.secret.flatMap(shown)
            if let what {
                uses.append(
                    Use(key: "identity_token", text: "\(what) goes to \(place)", needsTrust: true))
            }
        }
        for (key, path) in [
            ("tls_client_certificate", type.tlsClientCertificate), ("tls_client_key", type.tlsClientKey),
        ] {
            guard let path else { continue }
            uses.append(
                Use(
                    key: key, text: "the file \(UntrustedText.shown(path)) authenticates to \(place)",
                    needsTrust: true))
        }
        if let path = type.caCertificate {
            uses.append(
                Use(
                    key: ConnectionSettings.certificateKey,
                    text: "credmgr trusts the certificate authorities in \(UntrustedText.shown(path))",
                    needsTrust: true))
        }
        if let proxy = type.proxy {
            uses.append(
                Use(
                    key: ConnectionSettings.proxyKey,
                    text: "requests go through the proxy \(UntrustedText.shown(proxy, limit: 200))",
                    needsTrust: true))
        }
        if let provider = type.identityProvider {
            uses.append(
                Use(
                    key: "identity_provider", text: "the account of \(provider) vouches for you at \(place)",
                    needsTrust: false))
        }
        return uses
    }

    /// A platform's token with the variables that credmgr reads to request it.
    private static func issued(_ source: IdentityTokenSource, by platform: IdentityPlatform) -> LocalizedMessage {
        let variables = "\(platform.addressVariable), \(platform.tokenVariable)"
        let purpose: String
        switch source {
        case .githubActions(let audience): purpose = audience
        case .azureDevOps(let id): purpose = id
        case .environment, .file, .command: purpose = ""
        }
        return
            "an identity token of \(platform.name) for \(UntrustedText.shown(purpose, limit: 200)) (variables \(variables))"
    }

    private static func shown(_ source: ClientSecretSource) -> LocalizedMessage? {
        switch source {
        case .environment(let name): "the variable \(UntrustedText.shown(name, limit: 80))"
        case .file(let path): "the content of the file \(UntrustedText.shown(path))"
        case .command(let words):
            "the output of the command \(UntrustedText.shown(ShellQuoting.line(words), limit: 400))"
        case .store, .literal: nil
        }
    }

    /// The place that secrets of the client go to.
    private static func destination(of type: AccountType, _ session: CommandSession) -> String {
        type.endpoints[.token] ?? type.issuer ?? type.authority
            ?? (try? TargetResolver(session).registration(of: type).shownProvider) ?? type.adapter
    }
}
