import CommandLine
import CredentialCore
import FastToken

/// `credmgr oidc-token`: called like the `oidc-token` of oidc-agent, for scripts that were written for that.
struct OIDCTokenCommand: Command {
    static let spec = CommandSpec(
        ["oidc-token"], "print a token as oidc-agent does",
        details: """
            Accepts the options of oidc-agent's oidc-token. Use the account type as the short name. The URL of an \
            issuer selects the account type with that issuer.
            """,
        parameters: [nameOrIssuer],
        options: [
            time, forceNew, scope, aud, idToken, all, env, token, issuer, expiresAt, bearer, authHeader, name,
            SharedOption.account,
        ],
        examples: [.init("the usual call", "credmgr oidc-token --time 60 ToDoList")],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let nameOrIssuer = Parameter.optional(
        "name-or-issuer", .any("TYPE|ISSUER", .accountType), "the account type, or its issuer")
    private static let time = Option.time(
        "time", short: "t", atLeast: 0, "how long the token must still be valid"
    )
    private static let forceNew = Option.flag("force-new", short: "f", "refresh even if the token is still valid")
    private static let scope = Option.words("scope", short: "s", .any("SCOPES"), "the scopes to request")
    // As oidc-agent accepts it: also a word that is no URI, which the provider may know.
    private static let aud = Option.value("aud", .any("URI"), "the resource the token is for (RFC 8707)")
    private static let idToken = Option.flag("id-token", "print the ID token")
    private static let all = Option.flag("all", short: "a", "print token, issuer and expiry, a line each")
    private static let env = Option.flag(
        "env", short: "c", "print shell commands that set OIDC_AT, OIDC_ISS and OIDC_EXP")
    private static let token = Option.optional(
        "token", short: "o", .any("VAR"), "print the token, or set VAR to it")
    private static let issuer = Option.optional(
        "issuer", short: "i", .any("VAR"), "print the issuer, or set VAR to it")
    private static let expiresAt = Option.optional(
        "expires-at", short: "e", .any("VAR"), "print when the token ends, or set VAR to it")
    private static let bearer = Option.flag("bearer", "print 'Bearer' and the token")
    private static let authHeader = Option.flag("auth-header", "print the header field, without a newline")
    private static let name = Option.value(
        "name", .any("NAME"), "accepted for compatibility; ignored")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let (shown, issuer) = try answer(session)
        if arguments[Self.bearer] { return try session.context.console.writeResult(try shown.bytes(as: .bearer)) }
        if arguments[Self.authHeader] {
            // Like the model, without a newline.
            return try session.context.console.writeResult(Array(try shown.bytes(as: .header).dropLast()))
        }
        try session.print(text(try values(shown, issuer: issuer)))
    }

    /// The token, and its issuer.
    private func answer(_ session: CommandSession) throws(CredentialError) -> (TokenOutput, issuer: String) {
        let client = SocketClient(session), query = try query(session, client)
        if let client { return try answer(query, client) }
        let target = try TargetResolver(session).target(query.target)
        let given = try TokenAcquirer(session).token(query, target)
        TokenAcquirer(session).tell(given)
        return (
            try TokenOutput(given, target, wantsIDToken: query.wantsIDToken),
            target.account.issuer ?? target.type.issuer ?? ""
        )
    }

    /// The token of a broker, and its issuer if the output shows the issuer.
    private func answer(
        _ query: TokenQuery, _ client: SocketClient
    ) throws(CredentialError) -> (TokenOutput, issuer: String) {
        if query.forceRefresh, query.wantsIDToken {
            // The reply to a refused token has no ID token.
            throw SocketCommands.refusal("oidc-token --id-token --force-new", client.path)
        }
        let shown = try client.token(query)
        guard arguments[Self.all] || arguments[Self.env] || arguments[Self.issuer] != nil else {
            return (shown, "")
        }
        let entry = try client.entries().first { $0.type == shown.accountType && $0.accountID == shown.accountID }
        return (shown, entry?.issuer ?? "")
    }

    /// One of the three things that can be told: the token, its issuer, its end.
    private struct Value {
        let option: Option<ParsedOption?>
        let variable: String
        let text: String
    }

    private func values(_ shown: TokenOutput, issuer: String) throws(CredentialError) -> [Value] {
        [
            Value(option: Self.token, variable: "OIDC_AT", text: try shown.checkedToken()),
            Value(option: Self.issuer, variable: "OIDC_ISS", text: issuer),
            Value(option: Self.expiresAt, variable: "OIDC_EXP", text: String(shown.bearerExpiresAt.epochSeconds)),
        ]
    }

    private func text(_ values: [Value]) -> String {
        if arguments[Self.all] { return values.map { $0.text + "\n" }.joined() }
        let chosen = values.filter { arguments[$0.option] != nil }
        let isNamed = chosen.contains { arguments[$0.option]?.value != nil }
        if !arguments[Self.env], !isNamed, chosen.count < 2 { return (chosen.first ?? values[0]).text + "\n" }
        return (arguments[Self.env] ? values : chosen).map { value in
            let name = arguments[value.option]?.value ?? value.variable
            return "\(name)=\(ShellQuoting.quoted(value.text)); export \(name);\n"
        }.joined()
    }

    private func query(_ session: CommandSession, _ client: SocketClient?) throws(CredentialError) -> TokenQuery {
        var query = TokenQuery()
        query.target.account = arguments[SharedOption.account]
        query.target.type = arguments[Self.nameOrIssuer]
        if let issuer = query.target.type, issuer.contains("://") {
            if let client {
                query.target.type = try client.entry(ofIssuer: issuer).type
            } else {
                query.target.type = try type(ofIssuer: issuer, session)
            }
        }
        query.scope = arguments[Self.scope]
        query.resource = arguments[Self.aud]
        query.wantsIDToken = arguments[Self.idToken]
        query.forceRefresh = arguments[Self.forceNew]
        query.freshness = Freshness(
            demanded: arguments[Self.time], configured: session.configuration.minimumValidity)
        for option in [Self.token, Self.issuer, Self.expiresAt] {
            if let name = arguments[option]?.value, !ShellQuoting.isVariable(name) {
                throw CredentialError(
                    .usage, "\(option.spec.written) must be the name of a variable: letters, digits and '_'")
            }
        }
        return query
    }

    /// The type of an issuer. Types that see the same accounts count as one.
    private func type(ofIssuer issuer: String, _ session: CommandSession) throws(CredentialError) -> String {
        func plain(_ text: String) -> Substring { text.hasSuffix("/") ? text.dropLast() : text[...] }
        let resolver = TargetResolver(session)
        var types = try session.catalog.entries().compactMap { try? $0.type.get() }
            .filter { $0.issuer.map(plain) == plain(issuer) }
        if types.isEmpty {
            // A definition of B2C names no issuer; its accounts do.
            let accounts = try session.accounts { session.notices.warning($1.text) }
                .filter { $0.account.issuer.map(plain) == plain(issuer) }
            types = try Set(accounts.map(\.account.type)).sorted().map { (name) throws(CredentialError) in
                try resolver.type(named: name)
            }
        }
        let seen = types.map { type in
            "\(resolver.group(of: type)) \((try? resolver.registration(of: type))?.provider ?? type.name) \(type.clientID)"
        }
        guard let first = types.first, Set(seen).count == 1 else {
            throw CredentialError(
                types.isEmpty ? .unknownType : .ambiguousAccount,
                types.isEmpty
                    ? "no account type has the issuer \(UntrustedText.shown(issuer))"
                    : "several account types have the issuer \(UntrustedText.shown(issuer)): \(types.map(\.name).joined(separator: ", "))",
                hint: types.isEmpty ? "credmgr types" : "name one of these account types")
        }
        return first.name
    }
}
