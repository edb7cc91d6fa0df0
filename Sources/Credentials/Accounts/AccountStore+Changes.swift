public import CredentialCore
import Platform
import Synchronization

extension AccountStore {
    /// What happens to the accounts of the group, or of all groups, from now on, in whatever process: accounts added,
    /// updated and removed, tokens refreshed and lost, sign-ins failed. No event holds a token.
    ///
    /// Each call gives a sequence of its own, which ends when its reader goes.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/inputOutput`` when the event log cannot be followed.
    public func changes() throws(CredentialError) -> AsyncStream<AccountEvent> {
        let feed = try parts.machine.events.follow(options.group)
        let (stream, continuation) = AsyncStream.makeStream(of: AccountEvent.self)
        let follower = ChangeFollower(feed, continuation)
        continuation.onTermination = { _ in follower.stop() }
        try DeadlineThread.start { follower.follow() }
        return stream
    }
}

/// Hands events over from a thread of its own: the wait for them blocks.
///
/// The feed is used by that thread alone.
private final class ChangeFollower: @unchecked Sendable {
    /// How often the thread looks whether anybody still reads, in milliseconds.
    private static let turn: Int64 = 250

    private let feed: any EventFeed
    private let continuation: AsyncStream<AccountEvent>.Continuation
    private let isStopped = Atomic(false)

    init(_ feed: any EventFeed, _ continuation: AsyncStream<AccountEvent>.Continuation) {
        self.feed = feed
        self.continuation = continuation
    }

    func stop() { isStopped.store(true, ordering: .releasing) }

    func follow() {
        while !isStopped.load(ordering: .acquiring) {
            do throws(CredentialError) {
                if let event = try feed.next(timeout: Self.turn) { continuation.yield(event) }
            } catch {
                break
            }
        }
        continuation.finish()
    }
}
