package import CredentialCore
import Glibc
import Synchronization

/// How long a worker may live, so that no fault of a library holds an account's lock for ever.
///
/// The life is counted in seconds for which the worker ran. A worker that was stopped (`SIGSTOP`, `docker pause`, a
/// debugger, a suspended machine) goes on with the time that it had left. An alarm of real time would end it at the
/// moment it is continued, perhaps between a provider's response and the write that saves the tokens.
///
/// From a response to ``answerIsSaved()`` no limit ends the worker: only the store's own deadlines apply then.
package final class WorkerLife: Sendable {
    /// How many seconds a worker runs at most, without those between a response and its write.
    package static let limit = 150
    /// How many of these seconds are kept for the work around a request: a request ends before them.
    private static let reserve = 10

    private let limit: Int
    private let ticks = Atomic<Int>(0)
    private let isSaving = Atomic<Bool>(false)

    /// A life of `limit` seconds; the count begins with ``start()``.
    package init(limit: Int = WorkerLife.limit) { self.limit = limit }

    /// How many seconds a request may still take; 0 when it has to be given up.
    package var remaining: Int { max(0, limit - Self.reserve - ticks.load(ordering: .relaxed)) }

    /// Whether the worker is to end now.
    package var isOver: Bool {
        !isSaving.load(ordering: .sequentiallyConsistent) && ticks.load(ordering: .relaxed) >= limit
    }

    /// Counts a second.
    package func tick() { ticks.add(1, ordering: .relaxed) }

    /// Notes that a response is here whose tokens are not saved: from now on no limit ends the worker.
    package func responseArrived() { isSaving.store(true, ordering: .sequentiallyConsistent) }

    /// Says that the tokens are saved, or cannot be. The remaining work gets ``reserve`` seconds.
    package func answerIsSaved() {
        ticks.store(max(0, limit - Self.reserve), ordering: .relaxed)
        isSaving.store(false, ordering: .sequentiallyConsistent)
    }

    /// Ignores the signals of terminals, shells and `timeout`, and counts the life on a thread of its own; at its
    /// end the process ends as by an alarm.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when the system gives no thread.
    package func start() throws(CredentialError) {
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTOU, SIGTTIN] {
            _ = Glibc.signal(signal, SIG_IGN)
        }
        try DeadlineThread.start { [self] in
            while !isOver {
                // The wait is relative: one that was interrupted by a stop of any length is one second.
                SystemTime.pause(milliseconds: 1_000)
                tick()
            }
            _ = Glibc.signal(SIGALRM, SIG_DFL)
            kill(getpid(), SIGALRM)
            // Every thread may have the signal blocked.
            _exit(128 + SIGALRM)
        }
    }
}
