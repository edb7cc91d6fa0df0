import Foundation

/// Runs the jobs of tasks that prefer it, one after the other on a thread of its own, and no job while it is held.
///
/// The condition's lock guards its state.
final class HeldExecutor: TaskExecutor, @unchecked Sendable {
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var isHeld: Bool
    private var isFinished = false
    private var started = 0
    private var reached: (step: Int, body: @Sendable () -> Void)?

    init(isHeld: Bool = false) {
        self.isHeld = isHeld
        Thread.detachNewThread { [self] in run() }
    }

    /// How many jobs have been started.
    var count: Int { condition.withLock { started } }

    /// Does something just before the job of a number, counted from 1, is started.
    func before(_ step: Int, _ body: @escaping @Sendable () -> Void) {
        condition.withLock { reached = (step, body) }
    }

    /// Starts no job from now on.
    func hold() { condition.withLock { isHeld = true } }

    /// Starts jobs again.
    func release() {
        condition.withLock {
            isHeld = false
            condition.signal()
        }
    }

    /// Ends the thread, once no task has anything to do here any more.
    func finish() {
        condition.withLock {
            isFinished = true
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

    private func run() {
        while let (job, before) = next() {
            before?()
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private func next() -> (UnownedJob, (@Sendable () -> Void)?)? {
        condition.withLock {
            while !isFinished, isHeld || jobs.isEmpty { condition.wait() }
            if jobs.isEmpty { return nil }
            started += 1
            return (jobs.removeFirst(), reached?.step == started ? reached?.body : nil)
        }
    }
}
