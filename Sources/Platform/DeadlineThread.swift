package import CredentialCore
import Glibc

/// Runs a call that may never return on a thread of its own, so that its caller can go on at a deadline, or at
/// once.
package enum DeadlineThread {
    /// The outcome of a call.
    package enum Outcome<Value: Sendable>: Sendable {
        /// It returned in time.
        case finished(Value)
        /// It did not. Its thread is left to itself: it may still end, or stay until the process ends, which does
        /// not wait for it.
        case abandoned
    }

    /// Runs `body` on a new thread, which takes no signals, and waits for it until `deadline`.
    ///
    /// - Throws: the errors of `body`; ``ErrorCode/internalFault`` when the system gives no thread.
    package static func run<Value: Sendable>(
        until deadline: Deadline, _ body: @escaping @Sendable () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Outcome<Value> {
        let call = try ThreadTask(body)
        guard let result = call.result(until: deadline) else { return .abandoned }
        return .finished(try result.get())
    }

    /// Runs `body` on a new thread, which takes no signals and which no caller waits for.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when the system gives no thread.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(CredentialError) {
        pthread_detach(try joinable(body))
    }

    /// Runs `body` on a new thread, which takes no signals; the caller must join or detach it.
    static func joinable(_ body: @escaping @Sendable () -> Void) throws(CredentialError) -> pthread_t {
        // Threads inherit the mask, also those that a library starts on this one: signals stay with the caller.
        // Those that a library ends the process with are its own.
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        for own in [SIGABRT, SIGTRAP] { unsafe sigdelset(&all, own) }
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let work = unsafe Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread, nil,
            { argument in
                if let argument = unsafe argument {
                    unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                }
                return nil
            }, work.toOpaque())
        guard status == 0 else {
            unsafe work.release()
            throw CredentialError(
                .internalFault, "cannot start a thread", details: ["pthread_create: error \(status)"])
        }
        return thread
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// A point on the monotonic clock by which something must have ended; changes of the wall clock do not move it.
package struct Deadline: Sendable {
    private let nanoseconds: Int64

    /// The point `milliseconds` from now.
    package init(milliseconds: Int32) {
        nanoseconds = Self.now() + Int64(max(0, milliseconds)) * 1_000_000
    }

    private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The point `milliseconds` before this one.
    package func earlier(milliseconds: Int32) -> Deadline {
        Deadline(nanoseconds: nanoseconds - Int64(milliseconds) * 1_000_000)
    }

    /// Milliseconds left, rounded up; 0 when it has passed.
    package var remainingMilliseconds: Int32 {
        let left = nanoseconds - Self.now()
        return left <= 0 ? 0 : Int32(clamping: (left + 999_999) / 1_000_000)
    }

    /// Whether it has passed.
    package var hasPassed: Bool { Self.now() >= nanoseconds }

    /// The same point as `CLOCK_MONOTONIC` counts it.
    var timespec: Glibc.timespec {
        Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    private static func now() -> Int64 {
        var time = Glibc.timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
