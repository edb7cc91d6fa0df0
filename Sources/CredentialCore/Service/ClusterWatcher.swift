import Synchronization

/// The changes of other hosts in the shared groups that are watched: they come with the events of this host. Each
/// group is followed on a thread of its own, until ``stop()``.
package final class ClusterWatcher: Sendable {
    private let accounts: AccountServices
    private let start: @Sendable (@escaping @Sendable () -> Void) throws(CredentialError) -> Void
    private let warn: @Sendable (KeychainGroup, CredentialError) -> Void
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        /// The followed groups, and whether their events are seen.
        var followed: [KeychainGroup: Bool] = [:]
    }

    /// Makes it; it follows no group yet.
    ///
    /// - Parameters:
    ///   - accounts: the accounts that it works on.
    ///   - start: starts a thread.
    ///   - warn: called once, from any thread, when the other hosts of a group are not seen for now.
    package init(
        _ accounts: AccountServices,
        start: @escaping @Sendable (@escaping @Sendable () -> Void) throws(CredentialError) -> Void,
        warn: @escaping @Sendable (KeychainGroup, CredentialError) -> Void
    ) {
        self.accounts = accounts
        self.start = start
        self.warn = warn
    }

    /// How often to look whether a group is shared by now, in milliseconds.
    package static let interval: Int64 = 10_000

    /// Begins to follow those of the groups that are shared and not followed yet, and puts answers of providers
    /// into the clusters that could not be reached when they came.
    package func look(_ groups: [KeychainGroup]) {
        for group in groups {
            var isNew = false
            do throws(CredentialError) {
                guard try accounts.machine.sharing.isShared(group) else { continue }
                isNew = state.withLock { state in
                    guard !state.isStopped, state.followed[group] == nil else { return false }
                    state.followed[group] = false
                    return true
                }
                if isNew { try start { [self] in follow(group) } }
                if state.withLock({ $0.followed[group] == true }) { accounts.takeUpAnswers(in: group) }
            } catch {
                // One that is followed already goes on.
                if isNew { state.withLock { _ = $0.followed.removeValue(forKey: group) } }
                warn(group, error)
            }
        }
    }

    /// Ends it; the threads end within moments.
    package func stop() { state.withLock { $0.isStopped = true } }

    private func follow(_ group: KeychainGroup) {
        let locks = accounts.locks
        let following = WatchRequest(
            isWanted: { [self] in state.withLock { !$0.isStopped } },
            alone: { id, body in
                // If locks do not work, this host does no refresh that could be in the way.
                let lock: (any HeldLock)?
                do throws(CredentialError) {
                    guard let free = try locks.tryLock(id, in: group) else { return false }
                    lock = free
                } catch { lock = nil }
                defer { lock?.release() }
                body()
                return true
            },
            tell: { [self] error in
                state.withLock { $0.followed[group] = error == nil }
                if let error { return warn(group, error) }
                accounts.takeUpAnswers(in: group)
            })
        accounts.machine.sharing.follow(group, following)
        state.withLock { _ = $0.followed.removeValue(forKey: group) }
    }
}
