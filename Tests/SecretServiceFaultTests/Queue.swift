import Foundation

/// Runs a few jobs at a time on threads of their own: they wait most of the time, and the pool that tests share has
/// only as many threads as the machine has processors.
final class Queue: Sendable {
    private let slots: OperationQueue

    init(width: Int) {
        slots = OperationQueue()
        slots.maxConcurrentOperationCount = width
    }

    func run<Value: Sendable>(_ job: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            slots.addOperation { continuation.resume(with: Result { try job() }) }
        }
    }
}
