import CredentialCore
import Platform
import Synchronization

/// Refreshes the tokens of an account that are about to expire: per sign-in the token that its type asks for, and
/// every other token that has not ended yet.
///
/// Several accounts may be refreshed at once, each on a thread of its own: the stores are opened once for all of
/// them.
struct AccountRefresh: Sendable {
    /// The result for an account.
    struct Outcome: Sendable {
        /// The warnings for the user.
        var warnings: [LocalizedMessage] = []
        /// The notes on the refreshed tokens.
        var notes: [LocalizedMessage] = []
        /// The sign-ins that the provider has answered for.
        var refreshed: Set<String> = []
        /// The failures; one failure does not prevent the refresh of the next token.
        var failures: [CredentialError] = []
    }

    /// A provider whose responses cannot be used may have rotated the refresh token of each. So two accounts at
    /// once show whether it works, and credmgr sends no further request to one that does not.
    ///
    /// - Parameter done: called for each account without a request.
    func caution(_ done: @escaping @Sendable () -> Void) -> BoundedWorkQueue<RefreshPlan.Job, Outcome>.Caution {
        BoundedWorkQueue.Caution(
            unproven: 2,
            verdict: { outcome in
                if outcome.failures.contains(where: { Self.unusable.contains($0.code) }) { return .isBroken }
                return outcome.refreshed.isEmpty ? .unknown : .works
            },
            leaveOut: { job in
                done()
                var outcome = Outcome()
                tell(job, &outcome) { (_, _) throws(CredentialError) in
                    throw CredentialError(
                        .temporary, "not refreshed: credmgr could not use an earlier response of its provider")
                }
                return outcome
            })
    }
    /// The errors of a response that came and could not be used.
    private static let unusable: Set<ErrorCode> = [.malformedReply, .validationFailed]

    private let session: CommandSession
    private let demand: TokenDemand
    private let service: TokenService
    private let services: AccountServices
    private let reading = StoreReadLock()

    /// A store is read by one thread at a time: the first opens it for all, and a passphrase is asked for once.
    private final class StoreReadLock: Sendable { let turn = Mutex(()) }

    init(_ session: CommandSession, _ demand: TokenDemand) {
        self.session = session
        self.demand = demand
        services = session.services(session.stores(mayPrompt: false))
        service = services.tokens
    }

    /// Refreshes.
    ///
    /// - Parameter waits: whether a peer that is at work on the account is waited for.
    /// - Returns: `nil` if no refresh was made, as a peer is at work.
    func run(_ job: RefreshPlan.Job, waits: Bool) -> Outcome? {
        let account = job.account, group = job.group
        var outcome = Outcome()
        var isHeld = false
        tell(job, &outcome) { (types, outcome) throws(CredentialError) in
            guard let set = try read(account, in: group) else {
                throw Self.signInRequired(
                    account, group, "the account's secrets are missing from the \(account.store.shownName)")
            }
            for (index, request) in requests(for: account, set, in: group, types).enumerated() {
                let waits = waits || index > 0
                do throws(CredentialError) { try refresh(request, waits: waits, &outcome) } catch {
                    if !waits, error.code == .lockTimeout {
                        isHeld = true
                        return
                    }
                    outcome.failures.append(Self.named(error, account, type: request.type.name))
                    // Its other tokens are of the same provider.
                    if Self.unusable.contains(error.code) { break }
                }
            }
        }
        return isHeld ? nil : outcome
    }

    /// Notes that the sign-in of an account ends, and does `work` if a refresh is due and the account can have one.
    private func tell(
        _ job: RefreshPlan.Job, _ outcome: inout Outcome,
        _ work: ([RefreshPlan.CheckedType], inout Outcome) throws(CredentialError) -> Void
    ) {
        let account = job.account, group = job.group
        do throws(CredentialError) { try services.tellEnding(of: account, in: group) } catch {
            outcome.failures.append(Self.named(error, account, type: account.type))
        }
        guard job.isDue else { return }
        do throws(CredentialError) {
            let types = try job.types.get()
            if case .needsLogin(let reason) = account.status,
                try !services.repository.hasWaitingLogin(of: account.id, in: group)
            {
                throw Self.signInRequired(account, group, LocalizedMessage(kept: reason))
            }
            try work(types, &outcome)
        } catch {
            outcome.failures.append(Self.named(error, account, type: account.type))
        }
    }

    private func read(_ account: Account, in group: KeychainGroup) throws(CredentialError) -> TokenSet? {
        try reading.turn.withLock { (_) throws(CredentialError) in
            try services.repository.read(account, in: group, isLocked: false)
        }
    }

    /// The error with its account in front, for a list of errors of many accounts.
    private static func named(_ error: CredentialError, _ account: Account, type: String) -> CredentialError {
        let name = shown(account)
        let message = error.message.hasPrefix(name) ? error.message : "\(name): \(error)"
        return CredentialError(
            error.code, "account type \(type), \(message)", hint: error.advice, details: error.details)
    }

    private static func shown(_ account: Account) -> String {
        "\(UntrustedText.shown(account.shownName)) (\(account.id))"
    }

    private func refresh(
        _ request: TokenService.Request, waits: Bool, _ outcome: inout Outcome
    ) throws(CredentialError) {
        let answer = try service.token(request, waits: waits)
        if let failure = answer.failure { throw failure }
        let name = "\(request.account.id) (\(UntrustedText.shown(request.account.shownName)))"
        outcome.warnings += answer.warnings.map { "\(name): \($0)" }
        guard answer.refreshed else { return }
        outcome.notes.append("refreshed \(name)")
        outcome.refreshed.insert(request.key.policy)
    }

    /// Returns the requests to make.
    private func requests(
        for account: Account, _ set: TokenSet, in group: KeychainGroup, _ types: [RefreshPlan.CheckedType]
    ) -> [TokenService.Request] {
        let now = session.context.clock.now
        var requests: [TokenService.Request] = []
        if let own = types.first {
            for policy in set.grants.keys.sorted() {
                requests.append(
                    demand.request(of: account, under: own.type, in: group, by: own.adapter, policy: policy))
            }
        }
        for token in set.accessTokens
        where token.expiresAt > now && !requests.contains(where: { $0.key == token.key }) {
            // A token that no type would request today is left to expire.
            guard let asking = types.first(where: { token.key.isAsked(under: $0.type) }) else { continue }
            requests.append(
                demand.request(
                    of: account, under: asking.type, in: group, by: asking.adapter, again: token.key))
        }
        return requests
    }

    private static func signInRequired(
        _ account: Account, _ group: KeychainGroup, _ reason: LocalizedMessage
    ) -> CredentialError {
        CredentialError(
            .signInRequired,
            "\(shown(account)) requires a new sign-in: \(reason)",
            hint: LoginHint(for: account, in: group).hint)
    }
}
