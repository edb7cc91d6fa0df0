import Foundation

/// Runs the jobs of tasks that prefer it on a thread of its own, and none while it is held.
///
/// What it knows is guarded by the condition's lock.
final class HeldExecutor: TaskExecutor, @unchecked Sendable {
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var isHeld = false

    init() { Thread.detachNewThread { [self] in run() } }

    /// Starts no job from now on.
    func hold() { condition.withLock { isHeld = true } }

    /// Starts jobs again.
    func release() {
        condition.withLock {
            isHeld = false
            condition.signal()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock {
            jobs.append(job)
            condition.signal()
        }
    }

    private func run() -> Never {
        while true {
            let job = condition.withLock {
                while isHeld || jobs.isEmpty { condition.wait() }
                return jobs.removeFirst()
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
