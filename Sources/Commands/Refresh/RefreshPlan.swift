import CredentialCore

/// The work of a refresh of many accounts: determined from the list of accounts and the definitions of types, each
/// of which is read once. No secret is read for it.
struct RefreshPlan {
    /// The work to do for an account.
    struct Job: Sendable {
        /// The keychain group.
        let group: KeychainGroup
        /// The account, as its record has it.
        let account: Account
        /// The types that see it, its own first; or why that one cannot be used.
        let types: Result<[CheckedType], CredentialError>
        /// Whether a token of it may be due.
        let isDue: Bool
    }

    /// A type and its adapter.
    struct CheckedType: Sendable {
        let type: AccountType
        let adapter: any CredentialAdapter
    }

    private struct View: Hashable {
        let type: String
        let registration: ClientIdentity
        let group: KeychainGroup
    }

    /// A definition, and the registration of its accounts.
    private struct Definition {
        let checked: CheckedType
        let registration: ClientIdentity
        let group: KeychainGroup
    }

    private let session: CommandSession
    private let resolver: TargetResolver
    private let demand: TokenDemand
    private let definitions: [Definition]
    private var views: [View: Result<[CheckedType], CredentialError>] = [:]
    private var marks: [View: [String: Int64]] = [:]

    /// Reads the definitions.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    init(_ session: CommandSession, _ demand: TokenDemand) throws(CredentialError) {
        self.session = session
        self.demand = demand
        let resolver = TargetResolver(session)
        self.resolver = resolver
        // One with a fault asks for no token; if it is an account's own, the account's report shows that.
        definitions = try session.catalog.entries().compactMap { entry in
            guard let checked = try? Self.checked(entry.name, session),
                let registration = try? resolver.registration(of: checked.type)
            else { return nil }
            return Definition(
                checked: checked, registration: registration, group: resolver.group(of: checked.type))
        }
    }

    /// Returns the work to do for these accounts; accounts without work are left out.
    mutating func jobs(_ accounts: [(group: KeychainGroup, account: Account)]) -> [Job] {
        let now = session.context.clock.now
        var jobs: [Job] = []
        for (group, account) in accounts {
            let view = View(type: account.type, registration: account.registration, group: group)
            let types = types(of: view, account)
            let isDue = account.status != .active || !isFresh(account, in: view, types, now)
            if isDue || account.needsExpiryNotice(now: now) {
                jobs.append(Job(group: group, account: account, types: types, isDue: isDue))
            }
        }
        return jobs
    }

    /// The type that accounts were signed in under, then the others of its group that see them.
    private mutating func types(of view: View, _ account: Account) -> Result<[CheckedType], CredentialError> {
        if let known = views[view] { return known }
        let types: Result<[CheckedType], CredentialError>
        do throws(CredentialError) {
            let known = definitions.first { $0.checked.type.name == view.type }
            let own = if let known { known.checked } else { try Self.checked(view.type, session) }
            let others = definitions.filter {
                $0.checked.type.name != view.type && $0.group == view.group && $0.registration == view.registration
            }.map(\.checked)
            // A client does not get tokens that another client has signed in for.
            let registration = try resolver.registration(of: own.type)
            if registration != view.registration, others.isEmpty {
                return .failure(view.registration.notSeen(account.id, by: own.type, registration, in: view.group))
            }
            types = .success((registration == view.registration ? [own] : []) + others)
        } catch {
            types = .failure(error)
        }
        views[view] = types
        return types
    }

    /// Whether the list alone says that no token is due.
    private mutating func isFresh(
        _ account: Account, in view: View, _ types: Result<[CheckedType], CredentialError>, _ now: Timestamp
    ) -> Bool {
        guard !demand.forceRefresh, case .success(let types) = types, let own = types.first else { return false }
        let marks = account.signIns.map { policy in mark(of: account, policy, own, in: view) }
        return account.isFresh(for: marks, demand.freshness, now: now)
    }

    /// Returns the mark of the token that a sign-in's type asks for.
    private mutating func mark(
        of account: Account, _ policy: String, _ own: CheckedType, in view: View
    ) -> Int64 {
        if let known = marks[view]?[policy] { return known }
        let mark = demand.request(
            of: account, under: own.type, in: view.group, by: own.adapter, policy: policy
        ).key.mark
        marks[view, default: [:]][policy] = mark
        return mark
    }

    private static func checked(_ name: String, _ session: CommandSession) throws(CredentialError) -> CheckedType {
        let type = try TargetResolver(session).type(named: name)
        return CheckedType(type: type, adapter: try session.context.adapters.adapter(of: type))
    }
}
