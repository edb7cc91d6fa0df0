import Foundation
import Synchronization

/// Work on a thread of its own, whose result is waited for later.
public final class Background<Value: Sendable>: @unchecked Sendable {
    private let done = DispatchSemaphore(value: 0)
    private let result = Mutex<Result<Value, any Error>?>(nil)

    /// Starts it.
    public init(_ work: @escaping @Sendable () throws -> Value) {
        let thread = Thread { [self] in
            let outcome = Result { try work() }
            result.withLock { $0 = outcome }
            done.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// The result.
    ///
    /// - Throws: the error of the work; ``ProcessFailure`` when it is not done within `seconds`.
    @discardableResult public func value(
        within seconds: Double = 300, file: StaticString = #fileID, line: UInt = #line
    ) throws -> Value {
        guard done.wait(timeout: .now() + seconds) == .success else {
            throw ProcessFailure(
                description: "the work waited for at \(file):\(line) is not done within \(seconds) s")
        }
        // A caller that asks again gets the same.
        done.signal()
        guard let outcome = result.withLock({ $0 }) else { throw CancellationError() }
        return try outcome.get()
    }
}
