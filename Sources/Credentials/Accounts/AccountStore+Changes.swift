public import CredentialCore
import Platform
import Synchronization

extension AccountStore {
    /// Returns the events of the accounts of the group, or of all groups, from now on, in any process: accounts
    /// added, updated and removed, tokens refreshed and lost, sign-ins failed. No event holds a token. Events of
    /// other hosts in a shared group are included; events from the time when its cluster could not be reached come
    /// when it is back.
    ///
    /// Each call gives a sequence of its own, which ends when its reader goes.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/inputOutput`` when the event log cannot be followed.
    public func changes() throws(CredentialError) -> AsyncStream<AccountEvent> {
        let feed = try parts.machine.events.follow(options.group)
        let (stream, continuation) = AsyncStream.makeStream(of: AccountEvent.self)
        let machine = parts.machine, group = options.group
        let hosts = ClusterWatcher(
            parts.accountsAtOnce, start: { (body) throws(CredentialError) in try DeadlineThread.start(body) },
            warn: { [warn = options.warn] group, error in
                warn("cannot watch the other hosts of group \(group) for now: \(error)")
            })
        let follower = EventStream(feed, continuation) {
            // A folder that cannot be read now is looked into the next time.
            if let groups = try? group.map({ [$0] }) ?? machine.records.groups() { hosts.look(groups) }
        } ends: {
            hosts.stop()
        }
        continuation.onTermination = { _ in follower.stop() }
        try DeadlineThread.start { follower.follow() }
        return stream
    }
}

/// Hands events over from a thread of its own: the wait for them blocks.
///
/// The feed is used by that thread alone.
private final class EventStream: @unchecked Sendable {
    /// How often the thread looks whether anybody still reads, in milliseconds.
    private static let turn: Int64 = 250

    private let feed: any EventFeed
    private let look: () -> Void
    private let ends: () -> Void
    private let continuation: AsyncStream<AccountEvent>.Continuation
    private let isStopped = Atomic(false)

    init(
        _ feed: any EventFeed, _ continuation: AsyncStream<AccountEvent>.Continuation,
        look: @escaping () -> Void, ends: @escaping () -> Void
    ) {
        self.feed = feed
        self.look = look
        self.ends = ends
        self.continuation = continuation
    }

    func stop() { isStopped.store(true, ordering: .releasing) }

    func follow() {
        var turns: Int64 = 0
        while !isStopped.load(ordering: .acquiring) {
            if turns % (ClusterWatcher.interval / Self.turn) == 0 { look() }
            turns += 1
            do throws(CredentialError) {
                if let event = try feed.next(timeout: Self.turn) { continuation.yield(event) }
            } catch {
                break
            }
        }
        ends()
        continuation.finish()
    }
}
