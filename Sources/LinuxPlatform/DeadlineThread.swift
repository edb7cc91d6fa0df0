package import CredentialCore
import Glibc

/// Runs a call that may never return on a thread of its own, so that its caller can go on at a deadline, or at once.
package enum DeadlineThread {
    /// What came of a call.
    package enum Outcome<Value: Sendable>: Sendable {
        /// It returned in time.
        case finished(Value)
        /// It did not. Its thread is left to itself: it may still end, or stay until the process ends, which does
        /// not wait for it.
        case abandoned
    }

    /// Runs `body` on a new thread, which takes no signals, and waits for it until `deadline`.
    ///
    /// - Throws: what `body` throws; ``ErrorCode/internalFault`` when the system gives no thread.
    package static func run<Value: Sendable>(
        until deadline: Deadline, _ body: @escaping @Sendable () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Outcome<Value> {
        let handover = Handover<Value>()
        try start {
            do throws(CredentialError) {
                handover.put(.success(try body()))
            } catch {
                handover.put(.failure(error))
            }
        }
        guard let result = handover.take(until: deadline) else { return .abandoned }
        return .finished(try result.get())
    }

    /// Runs `body` on a new thread, which takes no signals and which nobody waits for.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when the system gives no thread.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(CredentialError) {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // Threads inherit the mask, also those that a library starts on this one: signals stay with the caller. Those
        // that a library ends the process with are its own.
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        for own in [SIGABRT, SIGTRAP] { unsafe sigdelset(&all, own) }
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let work = unsafe Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, &attributes,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                }
                return nil
            }, work.toOpaque())
        guard status == 0 else {
            unsafe work.release()
            throw CredentialError(
                .internalFault, "the system gives no thread", details: ["pthread_create: error \(status)"])
        }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// One result on its way from a thread to the one that waits for it.
@safe private final class Handover<Value: Sendable>: @unchecked Sendable {
    // Guarded by `mutex`; the C objects stay where they are, as both sides hold a reference to this object.
    private var result: Result<Value, CredentialError>?
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let arrived: UnsafeMutablePointer<pthread_cond_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe arrived = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(arrived, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(arrived)
        unsafe pthread_mutex_destroy(mutex)
        unsafe arrived.deallocate()
        unsafe mutex.deallocate()
    }

    func put(_ result: Result<Value, CredentialError>) {
        unsafe pthread_mutex_lock(mutex)
        self.result = result
        unsafe pthread_cond_signal(arrived)
        unsafe pthread_mutex_unlock(mutex)
    }

    func take(until deadline: Deadline) -> Result<Value, CredentialError>? {
        var limit = deadline.timespec
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while result == nil {
            if unsafe pthread_cond_timedwait(arrived, mutex, &limit) == ETIMEDOUT { break }
        }
        return result
    }
}
