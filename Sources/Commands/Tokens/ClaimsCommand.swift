import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr claims`.
struct ClaimsCommand: Command {
    static let spec = CommandSpec(
        ["claims"], "show the claims of the ID token or the access token",
        details: """
            Shows the claims of the ID token that was validated at sign-in or at the last refresh.

            --access-token shows the claims of an access token instead. credmgr refreshes the token if necessary \
            and validates it by RFC 9068: type, signature, issuer, audience, times and client. An opaque token has \
            no claims.

            --reply-fields shows the non-standard fields of the provider's token responses instead, such as the \
            address of an instance or the ID of a team.
            """,
        options: [
            SharedOption.type, SharedOption.account, SharedOption.policy, accessToken, replyFields,
            SharedOption.scope,
            SharedOption.resource, SharedOption.audience, SharedOption.json,
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let accessToken = Option.flag("access-token", "show the claims of the access token")

    private static let replyFields = Option.flag(
        "reply-fields", "show the non-standard fields of the provider's token responses")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let query = TokenQuery(arguments, configuration: session.configuration)
        let target = try TargetResolver(session).target(query.target)
        guard !arguments[Self.accessToken] || !arguments[Self.replyFields] else {
            throw CredentialError(.usage, "--access-token and --reply-fields cannot be used together")
        }
        let claims =
            try arguments[Self.accessToken]
            ? accessTokenClaims(query, target, session) : idTokenClaims(query, target, session)
        if arguments.wantsJSON {
            try session.print(.object(claims))
        } else {
            try session.print(ClaimsPresentation.lines(of: claims).map { $0 + "\n" }.joined())
        }
    }

    private func idTokenClaims(
        _ query: TokenQuery, _ target: Target, _ session: CommandSession
    ) throws(CredentialError) -> JSONObject {
        guard query.scope.isEmpty, query.resource == nil, query.audience == nil else {
            throw CredentialError(.usage, "--scope, --resource and --audience go with --access-token")
        }
        let grant = try grant(query, target, session)
        guard !arguments[Self.replyFields] else { return GrantMetadata.fields(in: grant.adapterState) }
        guard let idToken = grant.idToken else {
            throw CredentialError(
                .unsupported, "account \(target.account.id) has no ID token",
                hint: "add 'openid' to the scope of the type")
        }
        return try CompactJWT(idToken.reveal()).claims
    }

    private func grant(_ query: TokenQuery, _ target: Target, _ session: CommandSession) throws(CredentialError)
        -> Grant
    {
        let policy = try session.context.adapters.adapter(of: target.type).policy(query.policy, of: target.type)
        let repository = session.services(session.stores()).repository
        guard let set = try repository.read(target.account, in: target.group, isLocked: false),
            var grant = set.grants[policy]
        else {
            throw CredentialError(
                .signInRequired,
                "account \(target.account.id) has no grant\(policy.isEmpty ? "" : " for policy \(policy)")",
                hint: LoginHint(for: target.account, in: target.group, as: target.type, policy: policy)
                    .hint)
        }
        grant.idToken = set.idToken(of: policy)
        return grant
    }

    private func accessTokenClaims(
        _ query: TokenQuery, _ target: Target, _ session: CommandSession
    ) throws(CredentialError) -> JSONObject {
        let (token, grant) = try TokenAcquirer(session).issued(query, target)
        do throws(CredentialError) {
            return try session.context.adapters.adapter(of: target.type).accessTokenClaims(
                token, grant: grant, of: target.type,
                in: session.services(session.stores()).adapterContext(of: target.type))
        } catch {
            guard error == AccessTokenCheck.opaque else { throw error }
            var words = ["credmgr", "token", "--introspect", "--type", target.type.name]
            words += ["--account", target.account.id]
            if let policy = query.policy { words += ["--policy", policy] }
            if !query.scope.isEmpty { words += ["--scope", query.scope.joined(separator: " ")] }
            if let resource = query.resource { words += ["--resource", resource] }
            if let audience = query.audience { words += ["--audience", audience] }
            if let group = session.options.group { words += ["--group", group.name] }
            let asking = ShellQuoting.line(words)
            throw error.withHint("to ask the provider: \(asking)")
        }
    }
}

/// Claims as lines for people.
enum ClaimsPresentation {
    /// The claims that are times (OpenID Connect Core §2).
    private static let times: Set<String> = ["exp", "iat", "nbf", "auth_time", "updated_at"]

    /// One line per claim, names aligned, times as RFC 3339.
    static func lines(of claims: JSONObject) -> [String] {
        let width = claims.keys.map(\.count).max() ?? 0
        return claims.members.map { name, value in
            var text = value.string ?? value.text()
            if times.contains(name), let seconds = value.integer {
                text += "  (\(Timestamp(epochSeconds: seconds).rfc3339))"
            }
            let shown = UntrustedText.shown(name, limit: 60)
            return shown + String(repeating: " ", count: max(0, width - shown.count) + 2)
                + UntrustedText.shown(text, limit: 400)
        }
    }
}
