package import CredentialCore
import Glibc
import Synchronization

/// A call on a thread of its own, which takes no signals. It is under way from the moment this is made, while its
/// maker does something else. A caller need not wait for it: without this, the thread ends by itself.
@safe package final class ThreadTask<Value: Sendable, Failure: Error>: Sendable {
    private let handover: OneShot<Value, Failure>
    private let thread: Mutex<JoinableThread>

    /// Starts `body`.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when the system gives no thread.
    package init(_ body: @escaping @Sendable () throws(Failure) -> Value) throws(CredentialError) {
        let handover = OneShot<Value, Failure>()
        self.handover = handover
        let started = try DeadlineThread.joinable {
            do throws(Failure) {
                handover.put(.success(try body()))
            } catch {
                handover.put(.failure(error))
            }
        }
        thread = Mutex(JoinableThread(started))
    }

    /// Waits for the result of the call; `nil` when it takes longer than `deadline`. It may be asked again.
    package func result(until deadline: Deadline) -> Result<Value, Failure>? {
        handover.take(until: deadline)
    }

    /// Waits for the thread's end: from then on it holds no object that it was given.
    ///
    /// - Returns: whether it has ended; false when the call takes longer than `deadline`.
    package func end(until deadline: Deadline) -> Bool {
        guard handover.take(until: deadline) != nil else { return false }
        thread.withLock { $0.join() }
        return true
    }
}

/// A thread whose end a caller may wait for; detached if no caller has waited.
private struct JoinableThread: ~Copyable {
    private var thread: pthread_t?

    init(_ thread: pthread_t) { self.thread = thread }

    mutating func join() {
        if let thread { pthread_join(thread, nil) }
        thread = nil
    }

    deinit {
        if let thread { pthread_detach(thread) }
    }
}

/// One result on its way from a thread to those that wait for it.
@safe package final class OneShot<Value: Sendable, Failure: Error>: @unchecked Sendable {
    // Guarded by `mutex`; the C objects stay at their addresses, as both sides hold a reference to this object.
    private var result: Result<Value, Failure>?
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let arrived: UnsafeMutablePointer<pthread_cond_t>

    /// Makes one without a result.
    package init() {
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

    /// Hands the result over; a later one takes its place.
    package func put(_ result: Result<Value, Failure>) {
        unsafe pthread_mutex_lock(mutex)
        self.result = result
        unsafe pthread_cond_broadcast(arrived)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits for the result; `nil` when it takes longer.
    package func take(until deadline: Deadline) -> Result<Value, Failure>? {
        var limit = deadline.timespec
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while result == nil {
            if unsafe pthread_cond_timedwait(arrived, mutex, &limit) == ETIMEDOUT { break }
        }
        return result
    }
}
