import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr accounts show`: everything that is known of one account.
struct AccountsShowCommand: Command {
    static let spec = CommandSpec(
        ["accounts", "show"], "show everything known of one account",
        details: """
            Shows who the account is, where its secrets are, and each policy's sign-in with its status, scopes and times. \
            Where its store cannot be opened, what the account's record says is shown, and that the rest is not known.
            """,
        parameters: [account], options: [SharedOption.type, SharedOption.json],
        examples: [.init("by the beginning of its id", "credmgr accounts show 08f0")], exitStatuses: [3])

    private static let account = Parameter.required(
        "account", .account, "its id or the beginning of it, username, subject or label")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let (group, account) = try AccountFinder(session).account(
            arguments[Self.account], type: arguments[SharedOption.type])
        let index = try session.context.records.index(of: group, .none)
        let presentation = AccountPresentation(
            account, group: group, isDefault: DefaultAccounts.contain(account, index))
        var set: TokenSet?
        do throws(CredentialError) {
            set = try session.services(session.stores(mayPrompt: false)).repository.read(
                account, in: group, isLocked: false)
        } catch {
            session.notices.warning("what is in the \(account.store.shownName) is not known: \(error)")
        }
        var json = presentation.json.object ?? JSONObject()
        json["label"] = JSONValue(account.label)
        json["display_name"] = JSONValue(account.displayName)
        json["grants"] = set.map { .array(Self.grants(of: $0)) } ?? .null
        if arguments.wantsJSON { return try session.print(.object(json)) }
        try session.print(lines(presentation, account, group, set, session.context.clock.now))
    }

    private static func grants(of set: TokenSet) -> [JSONValue] {
        set.grants.sorted { $0.key < $1.key }.map { policy, grant in
            let token = set.accessTokens.filter { $0.key.policy == policy }.max { $0.expiresAt < $1.expiresAt }
            return [
                "policy": policy.isEmpty ? .null : .string(policy),
                "status": .string(grant.lostReason == nil ? "active" : "needs-login"),
                "status_reason": JSONValue(grant.lostReason),
                "flow": .string(grant.flow.rawValue),
                "scope": JSONValue(grant.scope.isEmpty ? nil : grant.scope.joined(separator: " ")),
                "refreshable": .bool(grant.isRefreshable),
                "obtained_at": .string(grant.obtainedAt.rfc3339),
                "signed_in_at": .string(grant.signedInAt.rfc3339),
                "expires_at": JSONValue(token?.expiresAt.rfc3339),
                "expires_on": JSONValue(token?.expiresAt.epochSeconds),
                "refresh_expires_at": JSONValue(grant.refreshExpiresAt?.rfc3339),
                "refreshed_by": JSONValue(set.lines[policy]?.host),
            ]
        }
    }

    private func lines(
        _ presentation: AccountPresentation, _ account: Account, _ group: KeychainGroup, _ set: TokenSet?,
        _ now: Instant
    ) -> String {
        var facts: [(String, String?)] = [
            ("id", account.id), ("type", account.type), ("group", group.name), ("label", account.label),
            ("username", account.username), ("name", account.displayName), ("subject", account.subject),
            ("issuer", account.issuer), ("client", account.registration.clientID), ("adapter", account.adapter),
            ("status", presentation.statusLine), ("default", presentation.isDefault ? "yes" : "no"),
            ("store", account.store.rawValue), ("created", account.createdAt.rfc3339),
            ("updated", account.updatedAt.rfc3339),
        ]
        for (policy, grant) in set?.grants.sorted(by: { $0.key < $1.key }) ?? [] {
            let token = set?.accessTokens.filter { $0.key.policy == policy }.max { $0.expiresAt < $1.expiresAt }
            facts += [
                (policy.isEmpty ? "sign-in" : "policy", policy.isEmpty ? grant.flow.rawValue : policy),
                ("  status", grant.lostReason.map { "needs-login: \($0)" } ?? "active"),
                ("  scope", grant.scope.isEmpty ? nil : grant.scope.joined(separator: " ")),
                ("  signed in", grant.signedInAt.rfc3339),
                ("  refreshed by", set?.lines[policy]?.host),
                (
                    "  token",
                    token.map { "\($0.expiresAt.rfc3339) (\(RelativeTime.until($0.expiresAt, now: now)))" }
                ),
                (
                    "  sign-in ends",
                    grant.refreshExpiresAt.map { "\($0.rfc3339) (\(RelativeTime.until($0, now: now)))" }
                ),
            ]
        }
        return facts.compactMap { name, value in
            value.map { TextLayout.padded(name, to: 16) + ForeignText.shown($0, limit: 1_000) + "\n" }
        }.joined()
    }
}
