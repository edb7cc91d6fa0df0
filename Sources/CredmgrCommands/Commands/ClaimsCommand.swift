import CredentialCore
import OAuth
import StrictJSON

/// `credmgr claims`.
struct ClaimsCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let target = try TargetResolver(session).target(TargetOptions(arguments))
        let policy = try session.context.adapters.adapter(of: target.type)
            .policy(arguments.string("policy"), of: target.type)
        let repository = session.repository(session.stores())
        guard let set = try repository.read(target.account, in: target.group, isLocked: false),
            let grant = set.grants[policy]
        else {
            throw CredentialError(
                .signInRequired,
                "account \(target.account.id) has no sign-in\(policy.isEmpty ? "" : " for policy \(policy)")",
                hint: "credmgr login --type \(target.type.name)\(policy.isEmpty ? "" : " --policy \(policy)")")
        }
        guard let idToken = grant.idToken else {
            throw CredentialError(
                .unsupported, "account \(target.account.id) has no id token",
                hint: "the type's scope needs 'openid'")
        }
        let claims = try CompactToken(idToken.reveal()).claims
        if arguments.wantsJSON {
            try session.print(.object(claims))
        } else {
            try session.print(ClaimsPresentation.lines(of: claims).map { $0 + "\n" }.joined())
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
                text += "  (\(Instant(epochSeconds: seconds).rfc3339))"
            }
            let shown = ForeignText.shown(name, limit: 60)
            return shown + String(repeating: " ", count: max(0, width - shown.count) + 2)
                + ForeignText.shown(text, limit: 400)
        }
    }
}
