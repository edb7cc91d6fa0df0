import CredentialCore
import Synchronization

/// One result that a task waits for and that another thread gives: the first one applies.
final class AsyncResult<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, CredentialError>

    private enum State {
        case open(CheckedContinuation<Outcome, Never>?)
        case settled(Outcome)
    }

    private let state = Mutex(State.open(nil))

    /// Gives the result, if there is not one yet.
    ///
    /// - Returns: whether it is the result now.
    @discardableResult func settle(_ outcome: Outcome) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Outcome, Never>?) in
            guard case .open(let waiting) = state else { return (false, nil) }
            state = .settled(outcome)
            return (true, waiting)
        }
        waiting?.resume(returning: outcome)
        return isFirst
    }

    /// Waits for the result; ends at once, with ``CredentialCore/ErrorCode/cancelled``, when the task is cancelled.
    /// One task may wait.
    func value(onCancel: @escaping @Sendable () -> Void = {}) async throws(CredentialError) -> Value {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let settled = state.withLock { state -> Outcome? in
                    if case .settled(let outcome) = state { return outcome }
                    state = .open(continuation)
                    return nil
                }
                if let settled { continuation.resume(returning: settled) }
            }
        } onCancel: {
            settle(.failure(.taskCancelled))
            onCancel()
        }
        return try outcome.get()
    }
}

extension CredentialError {
    /// The caller's task was cancelled.
    static let taskCancelled = CredentialError(.cancelled, "the task was cancelled")
}
