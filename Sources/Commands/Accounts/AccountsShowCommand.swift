import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr accounts show`: everything that is known of one account.
struct AccountsShowCommand: Command {
    static let spec = CommandSpec(
        ["accounts", "show"], "show all details of one account",
        details: """
            Shows the user of the account, the store of its secrets, and the grant of each policy with its status, \
            scopes and times. If the store cannot be opened, it shows the account's record, and reports that the \
            rest is unknown.
            """,
        parameters: [account], options: [SharedOption.type, SharedOption.json],
        examples: [.init("by the beginning of its ID", "credmgr accounts show 08f0")], exitStatuses: [3])

    private static let account = Parameter.required(
        "account", .account, "its ID or an ID prefix, username, subject or label")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        var (group, account) = try AccountFinder(session).account(
            arguments[Self.account], type: arguments[SharedOption.type], in: (["accounts", "show"], []))
        if session.undecryptable(in: group).contains(account.id) { account.noteUndecryptable() }
        let index = try session.context.records.index(of: group, .none)
        let presentation = AccountPresentation(
            account, group: group, isDefault: DefaultAccounts.contain(account, index))
        var set: TokenSet?
        do throws(CredentialError) {
            set = try session.services(session.stores(mayPrompt: false)).repository.read(
                account, in: group, isLocked: false)
        } catch {
            session.notices.warning("cannot read the \(account.store.shownName): \(error)")
        }
        var json = presentation.json.object ?? JSONObject()
        json["label"] = JSONValue(account.label)
        json["display_name"] = JSONValue(account.displayName)
        json["grants"] = set.map { .array(Self.grants(of: $0)) } ?? .null
        if arguments.wantsJSON { return try session.print(.object(json)) }
        try session.print(lines(presentation, account, group, set, session))
    }

    /// The access tokens of a grant: those of its policy whose scopes it has.
    private static func tokens(of grant: Grant, _ policy: String, in set: TokenSet?) -> [AccessToken] {
        set?.accessTokens.filter { $0.key.policy == policy && grant.includes($0.scope) } ?? []
    }

    private static func grants(of set: TokenSet) -> [JSONValue] {
        set.allGrants.map { policy, grant in
            let token = tokens(of: grant, policy, in: set).max { $0.expiresAt < $1.expiresAt }
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

    /// A fact of the account, or of one of its sign-ins, which is indented; an unknown fact is not shown.
    private struct Fact {
        var isOfSignIn = false
        let name: LocalizedMessage
        let value: LocalizedMessage?

        init(_ name: LocalizedMessage, _ value: LocalizedMessage?) { (self.name, self.value) = (name, value) }
        init(_ name: LocalizedMessage, _ data: String?) {
            self.init(name, data.map(LocalizedMessage.init(verbatim:)))
        }
    }

    private func lines(
        _ presentation: AccountPresentation, _ account: Account, _ group: KeychainGroup, _ set: TokenSet?,
        _ session: CommandSession
    ) -> String {
        let now = session.context.clock.now
        let yes: LocalizedMessage = "yes", no: LocalizedMessage = "no"
        var facts = [
            Fact("id", account.id), Fact("type", account.type), Fact("group", group.name),
            Fact("label", account.label), Fact("username", account.username), Fact("name", account.displayName),
            Fact("subject", account.subject), Fact("issuer", account.issuer),
            Fact("client", account.registration.clientID), Fact("adapter", account.adapter),
            Fact("status", presentation.statusLine), Fact("default", presentation.isDefault ? yes : no),
            Fact("store", account.store.rawValue), Fact("created", account.createdAt.rfc3339),
            Fact("updated", account.updatedAt.rfc3339),
        ]
        for (policy, grant) in set?.allGrants ?? [] {
            let token = Self.tokens(of: grant, policy, in: set).max { $0.expiresAt < $1.expiresAt }
            func time(_ end: Timestamp) -> LocalizedMessage {
                "\(end.rfc3339) (\(RelativeTime.until(end, now: now)))"
            }
            let status = AccountPresentation.statusLine(
                grant.lostReason == nil ? "active" : "needs-login", grant.lostReason)
            facts.append(policy.isEmpty ? Fact("sign-in", grant.flow.rawValue) : Fact("policy", policy))
            facts += [
                Fact("status", status),
                Fact("scope", grant.scope.isEmpty ? nil : grant.scope.joined(separator: " ")),
                Fact("signed in", grant.signedInAt.rfc3339), Fact("refreshed by", set?.lines[policy]?.host),
                Fact("token", token.map { time($0.expiresAt) }),
                Fact("sign-in ends", (grant.isRefreshable ? grant.refreshExpiresAt : token?.expiresAt).map(time)),
            ].map { fact in
                var fact = fact
                fact.isOfSignIn = true
                return fact
            }
        }
        let lines = facts.compactMap { fact in
            fact.value.map { value in
                (
                    name: (fact.isOfSignIn ? "  " : "") + session.shown(fact.name),
                    value: UntrustedText.shown(session.shown(value), limit: 1_000)
                )
            }
        }
        let width = max(16, (lines.map { TextLayout.columns($0.name) }.max() ?? 0) + 2)
        return lines.map { TextLayout.padded($0.name, to: width) + $0.value + "\n" }.joined()
    }
}
