import CredentialCore

/// `credmgr oidc-token`: called like the `oidc-token` of oidc-agent, for scripts that were written for that.
struct OIDCTokenCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let query = try query(session)
        let target = try TargetResolver(session).target(query.target)
        let answer = try TokenAccess(session).token(query, target)
        for warning in answer.warnings { session.notices.warning(warning) }
        let shown = try TokenPresentation(answer, target, wantsIDToken: query.wantsIDToken)
        if arguments.flag("bearer") { return try session.context.console.writeResult(try shown.bytes(as: .bearer)) }
        if arguments.flag("auth-header") {
            // Like the model, without a newline.
            return try session.context.console.writeResult(Array(try shown.bytes(as: .header).dropLast()))
        }
        try session.print(text(try values(shown, target)))
    }

    /// One of the three things that can be told: the token, its issuer, its end.
    private struct Value {
        let option: String
        let variable: String
        let text: String
    }

    private func values(_ shown: TokenPresentation, _ target: Target) throws(CredentialError) -> [Value] {
        [
            Value(option: "token", variable: "OIDC_AT", text: try shown.checkedToken()),
            Value(option: "issuer", variable: "OIDC_ISS", text: target.account.issuer ?? target.type.issuer ?? ""),
            Value(option: "expires-at", variable: "OIDC_EXP", text: String(shown.expiresAt.epochSeconds)),
        ]
    }

    private func text(_ values: [Value]) -> String {
        if arguments.flag("all") { return values.map { $0.text + "\n" }.joined() }
        let chosen = values.filter { arguments.flag($0.option) }
        let isNamed = chosen.contains { arguments.string($0.option) != nil }
        if !arguments.flag("env"), !isNamed, chosen.count < 2 { return (chosen.first ?? values[0]).text + "\n" }
        return (arguments.flag("env") ? values : chosen).map { value in
            let name = arguments.string(value.option) ?? value.variable
            return "\(name)=\(ShellQuote.quoted(value.text)); export \(name);\n"
        }.joined()
    }

    private func query(_ session: Session) throws(CredentialError) -> TokenQuery {
        var query = TokenQuery()
        query.target.account = arguments.string("account")
        query.target.type = try arguments.string("name-or-issuer").map { (name) throws(CredentialError) in
            name.contains("://") ? try type(ofIssuer: name, session) : name
        }
        query.scope = arguments.strings("scope").flatMap { $0.split(separator: " ").map(String.init) }
        query.resource = arguments.string("aud")
        query.wantsIDToken = arguments.flag("id-token")
        query.forceRefresh = arguments.flag("force-new")
        query.freshness = Freshness(
            minimumValidity: try arguments.integer("time", in: TokenQuery.minimumValidityRange)
                ?? session.configuration.minimumValidity)
        for option in ["token", "issuer", "expires-at"] {
            if let name = arguments.string(option), !ShellQuote.isVariable(name) {
                throw CredentialError(.usage, "--\(option) takes the name of a variable: letters, digits and '_'")
            }
        }
        return query
    }

    private func type(ofIssuer issuer: String, _ session: Session) throws(CredentialError) -> String {
        func plain(_ text: String) -> Substring { text.hasSuffix("/") ? text.dropLast() : text[...] }
        let names = try session.catalog.entries().compactMap { entry -> String? in
            guard case .success(let type) = entry.type, let own = type.issuer, plain(own) == plain(issuer) else {
                return nil
            }
            return type.name
        }
        guard let name = names.first, names.count == 1 else {
            throw CredentialError(
                names.isEmpty ? .unknownType : .ambiguousAccount,
                names.isEmpty
                    ? "no account type has the issuer \(ForeignText.shown(issuer))"
                    : "several account types have the issuer \(ForeignText.shown(issuer)): "
                        + names.joined(separator: ", "),
                hint: names.isEmpty ? "credmgr types" : "name one of them")
        }
        return name
    }
}
