import CredentialCore
import StrictJSON

/// Whether one account can give tokens, by its record and its store, without a request.
struct AccountStatus {
    /// The account, as its record says.
    let account: Account
    /// Its group.
    let group: KeychainGroup
    /// Why `token` would take it here; `nil` if `token` would take another one.
    let choice: Choice?
    /// The account's problem; the code is that of the exit status.
    let problem: CredentialError?

    private let isDefault: Bool
    private let isTypeMissing: Bool
    private let newest: (policy: String, grant: Grant)?
    private let refreshedBy: String?
    private let now: Timestamp

    /// Why `token` would take an account.
    struct Choice {
        /// The type that it is taken for.
        let type: AccountType
        /// The rule.
        let rule: AccountSelection.Rule
        /// The file and the line of the rule, if it is in a file.
        let place: RuleLocation?
    }

    /// The facts about an account.
    ///
    /// - Parameters:
    ///   - account: the account, as its record says.
    ///   - group: its group.
    ///   - choice: why `token` would take it.
    ///   - isDefault: whether it is the default of its type.
    ///   - type: the definition of its type, or the reason for its absence.
    ///   - set: the content of its store, or the error of reading it.
    ///   - now: the time.
    init(
        _ account: Account, in group: KeychainGroup, choice: Choice?, isDefault: Bool,
        type: Result<AccountType, CredentialError>, set: Result<TokenSet?, CredentialError>, now: Timestamp
    ) {
        self.account = account
        self.group = group
        self.choice = choice
        self.isDefault = isDefault
        self.now = now
        isTypeMissing = if case .failure(let error) = type { error.code == .unknownType } else { false }
        let known = try? set.get()
        newest = known?.grants.max { $0.value.signedInAt < $1.value.signedInAt }.map { ($0.key, $0.value) }
        refreshedBy = newest.flatMap { known?.lines[$0.policy]?.host }
        problem = Self.problem(of: account, in: group, type, set, now: now)
    }

    /// The problems, the worst first: no other command helps before that one is fixed.
    private static func problem(
        of account: Account, in group: KeychainGroup, _ type: Result<AccountType, CredentialError>,
        _ set: Result<TokenSet?, CredentialError>, now: Timestamp
    ) -> CredentialError? {
        if case .failure(let error) = type { return error }
        let definition = try? type.get()
        func signIn(_ message: LocalizedMessage, policy: String? = nil) -> CredentialError {
            CredentialError(
                .signInRequired, message,
                hint: LoginHint(for: account, in: group, as: definition, policy: policy).hint)
        }
        if case .needsLogin(let reason) = account.status {
            return signIn("sign-in required: \(LocalizedMessage(kept: reason))")
        }
        let known: TokenSet?
        switch set {
        case .success(let found): known = found
        case .failure(let error): return error
        }
        guard let known else { return signIn("account \(account.id) no longer has a grant") }
        for policy in known.grants.keys.sorted() {
            let grants = known.allGrants.filter { $0.policy == policy }.map(\.grant)
            guard grants.allSatisfy({ $0.lostReason != nil }), let reason = known.grants[policy]?.lostReason else {
                continue
            }
            return policy.isEmpty
                ? signIn("sign-in required: \(LocalizedMessage(kept: reason))")
                : signIn("sign-in required for policy \(policy): \(LocalizedMessage(kept: reason))", policy: policy)
        }
        let isOver =
            account.refreshExpiresAt.map { $0 <= now } ?? false
            || !known.isRefreshable && account.expiresAt.map { $0 <= now } ?? true
        return isOver ? signIn("the sign-in has ended") : nil
    }

    // MARK: JSON

    /// The object of `status --json`: that of `accounts --json` with further keys.
    var json: JSONValue {
        var json = presentation.json.object ?? JSONObject()
        if let choice { json["type"] = .string(choice.type.name) }
        json["rule"] = JSONValue(choice?.rule.rawValue)
        json["rule_file"] = JSONValue(choice?.place?.file)
        json["rule_line"] = JSONValue(choice?.place?.line.map(Int64.init))
        json["signed_in_at"] = JSONValue(newest?.grant.signedInAt.rfc3339)
        json["refreshed_at"] = JSONValue(refreshedAt?.rfc3339)
        json["refreshed_by"] = JSONValue(refreshedBy)
        json["problem"] = JSONValue(problem?.message)
        json["fix"] = JSONValue((problem?.advice ?? renewal)?.description)
        json["exit"] = .integer(Int64(problem?.code.exitStatus ?? 0))
        return .object(json)
    }

    private var presentation: AccountPresentation {
        AccountPresentation(account, group: group, isDefault: isDefault, isTypeMissing: isTypeMissing)
    }

    /// When the newest sign-in was refreshed last; `nil` if it never was.
    private var refreshedAt: Timestamp? {
        newest.flatMap { $0.grant.obtainedAt > $0.grant.signedInAt ? $0.grant.obtainedAt : nil }
    }

    /// The command that renews a sign-in that ends soon.
    private var renewal: LocalizedMessage? {
        account.endsSoon(now: now) ? LoginHint(for: account, in: group, as: choice?.type).hint : nil
    }

    // MARK: Lines

    /// The facts, each with its label.
    var facts: FactList {
        var facts = FactList()
        facts.add("account", presentation.name)
        facts.add("id", account.id)
        facts.add("type", choice?.type.name ?? account.type)
        if group != .standard { facts.add("group", group.name) }
        if let choice { facts.add("chosen by", choice.text) }
        facts.add("provider", account.issuer ?? account.registration.shownProvider)
        facts.add("status", presentation.statusLine, colour: presentation.statusColour(now: now))
        facts.add("signed in", newest?.grant.signedInAt.rfc3339)
        facts.add(
            "last refresh",
            refreshedAt.map { at in
                refreshedBy.map { "\(at.rfc3339), by \($0)" } ?? LocalizedMessage(verbatim: at.rfc3339)
            })
        facts.add("token", account.expiresAt.map(time))
        if account.refreshExpiresAt == nil, newest?.grant.isRefreshable == true {
            facts.add("sign-in", "renewed automatically" as LocalizedMessage)
        }
        facts.add("sign-in ends", (account.endsWithToken ? account.expiresAt : account.refreshExpiresAt).map(time))
        facts.add("store", account.store.rawValue)
        facts.add("problem", problem?.text, colour: 31)
        if let fix = problem?.advice ?? renewal { facts.add("fix", fix, isWhole: true) }
        return facts
    }

    private func time(_ end: Timestamp) -> LocalizedMessage {
        "\(end.rfc3339) (\(RelativeTime.until(end, now: now)))"
    }
}

extension AccountStatus.Choice {
    /// The rule and its location.
    fileprivate var text: LocalizedMessage {
        let text: LocalizedMessage =
            switch rule {
            case .option, .environment: LocalizedMessage(verbatim: rule.rawValue)
            case .configuration: "a rule of config.json"
            case .defaultAccount: "the default of the type"
            case .onlyAccount: "the only account"
            }
        return place.map { "\(text) (\($0.description))" } ?? text
    }
}
