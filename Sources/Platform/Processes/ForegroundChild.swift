import CLinux
package import CredentialCore
import Glibc

/// A program that runs in the place of this process: it has our streams, and the signals that we get.
///
/// Signals of the terminal reach the program by themselves, as it is in the same process group; signals that are
/// sent to this process are passed on. SIGKILL and SIGSTOP cannot be.
///
/// With one of these, the signals that are passed on do not end this process, so it should end itself as the
/// program did: ``TerminationStatus/endThisProcess()``.
package struct ForegroundChild: ~Copyable, Sendable {
    private static let passedOn = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]
    /// `SI_KERNEL`: the kernel sent the signal, to the whole group of the terminal.
    private static let fromKernel: Int32 = 0x80

    /// The program.
    package let program: RunningProgram

    /// Starts a program, with our streams even if the launch names others.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started; then signals are as they were.
    package init(starting launch: SpawnConfiguration) throws(CredentialError) {
        var launch = launch
        launch.standardInput = .inherit
        launch.standardOutput = .inherit
        launch.standardError = .inherit
        launch.keepsIgnoredSignals = true
        // A parent that ignores it would have the kernel throw the exit status away.
        signal(SIGCHLD, SIG_DFL)
        var awaited = Self.awaited
        var before = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, &awaited, &before)
        do throws(CredentialError) {
            program = try launch.start()
        } catch {
            unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
            throw error
        }
    }

    /// Goes on with a program that this process has started as a companion before it became this program
    /// (execve(2)), which keeps children, and the signals that are blocked and pending.
    ///
    /// - Parameter process: a child, by ``isChild(_:)``.
    package init(of process: Int32) {
        var awaited = Self.awaited
        unsafe pthread_sigmask(SIG_BLOCK, &awaited, nil)
        program = RunningProgram(process: process)
    }

    /// Whether a process is a child of this one that was not waited for.
    package static func isChild(_ process: Int32) -> Bool {
        var facts = unsafe siginfo_t()
        return unsafe waitid(P_PID, id_t(process), &facts, WEXITED | WNOHANG | WNOWAIT) == 0
    }

    /// Waits until the program has ended, a signal was passed on, or so many seconds are over.
    ///
    /// - Parameter seconds: without limit for `nil`.
    /// - Returns: how the program ended; `nil` if its end is not known yet.
    package borrowing func ending(within seconds: Int64?) -> TerminationStatus? {
        // Before the wait: another child's end may have covered this one's.
        if let ending = program.endingNow() { return ending }
        var awaited = Self.awaited
        var facts = unsafe siginfo_t()
        var limit = timespec(tv_sec: Int(seconds ?? 0), tv_nsec: 0)
        let number =
            unsafe seconds == nil
            ? sigwaitinfo(&awaited, &facts) : sigtimedwait(&awaited, &facts, &limit)
        let isOthers = unsafe facts.si_code != Self.fromKernel
        if number > 0, number != SIGCHLD, isOthers { program.send(signal: number) }
        return program.endingNow()
    }

    /// A descriptor that can be read while a signal waits to be passed on, or while the program has ended: then
    /// ``ending(within:)`` does not wait.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func signals() throws(CredentialError) -> FileDescriptor {
        var awaited = Self.awaited
        let number = unsafe linux_signalfd(&awaited)
        guard number >= 0 else { throw .system("cannot watch", "signals", number: errno) }
        return FileDescriptor(owning: number)
    }

    fileprivate static var awaited: sigset_t {
        var awaited = sigset_t()
        unsafe sigemptyset(&awaited)
        for number in passedOn { unsafe sigaddset(&awaited, number) }
        unsafe sigaddset(&awaited, SIGCHLD)
        return awaited
    }
}

/// Holds the signals that a ``ForegroundChild`` passes on, for work before its start that must be taken back.
package struct HeldSignals {
    private var before = sigset_t()

    /// Holds the signals of this thread: they wait.
    package init() {
        var awaited = ForegroundChild.awaited
        unsafe pthread_sigmask(SIG_BLOCK, &awaited, &before)
    }

    /// Lets the signals act that came meanwhile. A child that was started takes them, so this is for a failure.
    package func release() {
        var before = before
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}

extension TerminationStatus {
    /// Ends this process in the same way, so that its caller sees the status that the program's caller would have
    /// seen.
    package func endThisProcess() -> Never {
        if case .killed(let number) = self {
            signal(number, SIG_DFL)
            var mask = sigset_t()
            unsafe sigemptyset(&mask)
            unsafe sigaddset(&mask, number)
            unsafe pthread_sigmask(SIG_UNBLOCK, &mask, nil)
            raise(number)
        }
        _exit(exitStatus)
    }
}
