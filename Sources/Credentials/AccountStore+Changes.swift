public import CredentialCore
import Glibc
import LocalFiles
import Synchronization

extension AccountStore {
    /// What happens to the accounts of the group, or of all groups, from now on, in whatever process: accounts added,
    /// updated and removed, tokens refreshed and lost, sign-ins failed. No event holds a token.
    ///
    /// Each access gives a sequence of its own, which ends when its reader goes.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/inputOutput`` when the event log cannot be followed.
    public func changes() throws(CredentialError) -> AsyncStream<AccountEvent> {
        let reader = try EventReader(parts.folders, group: options.group)
        let (stream, continuation) = AsyncStream.makeStream(of: AccountEvent.self)
        let follower = ChangeFollower(reader, continuation)
        continuation.onTermination = { _ in follower.stop() }
        try follower.start()
        return stream
    }
}

/// Hands events over from a thread of its own: the wait for them blocks.
///
/// The reader is used by that thread alone.
private final class ChangeFollower: @unchecked Sendable {
    /// How often the thread looks whether anybody still reads, in milliseconds.
    private static let turn: Int64 = 250

    private let reader: EventReader
    private let continuation: AsyncStream<AccountEvent>.Continuation
    private let isStopped = Atomic(false)

    init(_ reader: EventReader, _ continuation: AsyncStream<AccountEvent>.Continuation) {
        self.reader = reader
        self.continuation = continuation
    }

    func stop() { isStopped.store(true, ordering: .releasing) }

    func start() throws(CredentialError) {
        var thread = pthread_t()
        let this = unsafe Unmanaged.passRetained(self)
        let status = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<ChangeFollower>.fromOpaque(argument).takeRetainedValue().follow()
                }
                return nil
            }, this.toOpaque())
        guard status == 0 else {
            unsafe this.release()
            throw CredentialError(.internalFault, "the system gives no thread")
        }
        pthread_detach(thread)
    }

    private func follow() {
        while !isStopped.load(ordering: .acquiring) {
            do throws(CredentialError) {
                if let event = try reader.next(timeout: Self.turn) { continuation.yield(event) }
            } catch {
                break
            }
        }
        continuation.finish()
    }
}
