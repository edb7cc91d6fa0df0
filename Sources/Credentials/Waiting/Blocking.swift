import CredentialCore
import Platform

/// Runs a call that waits for a file, a keyring or the network on a thread of its own. The cooperative pool has as
/// many threads as the machine has processors, and a few slow providers would hold all of them.
///
/// A cancelled task goes on at once. The thread comes to its own end, so that a request that was sent is never
/// given up: the tokens that a provider issued are saved.
///
/// - Throws: the errors of `body`, with hints in words for programs; ``CredentialCore/ErrorCode/cancelled`` when
///   the task is cancelled.
func blocking<Value: Sendable>(
    onCancel: @escaping @Sendable () -> Void = {},
    _ body: @escaping @Sendable () throws(CredentialError) -> Value
) async throws(CredentialError) -> Value {
    if Task.isCancelled { throw .taskCancelled }
    let result = AsyncResult<Value>()
    try DeadlineThread.start {
        do throws(CredentialError) {
            result.settle(.success(try body()))
        } catch {
            result.settle(.failure(error.forPrograms))
        }
    }
    return try await result.value(onCancel: onCancel)
}
