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

    /// The result, once.
    public func value() throws -> Value {
        done.wait()
        return try result.withLock { try $0?.get() } ?? { throw CancellationError() }()
    }
}
