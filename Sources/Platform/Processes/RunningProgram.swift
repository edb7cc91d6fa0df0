import Glibc

/// How a program ended.
package enum TerminationStatus: Sendable, Hashable {
    /// It ended by itself, with this exit status.
    case exited(Int32)
    /// A signal killed it.
    case killed(signal: Int32)

    /// The exit status as a shell has it: 128 plus the number for a signal.
    package var exitStatus: Int32 {
        switch self {
        case .exited(let status): status
        case .killed(let signal): 128 + signal
        }
    }

    /// Reads the status from `waitpid`.
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal)
    }
}

/// A program that was started, and the parent's ends of its pipes.
///
/// Dropping it neither ends the program nor waits for it: a worker that must outlive its caller is simply left.
package struct RunningProgram: ~Copyable, Sendable {
    /// The number of the process.
    package let process: Int32
    private let leadsGroup: Bool
    private let endsGroup: Bool
    /// The descriptor to which its standard input is written; `nil` unless it is a pipe, and after it is closed.
    package var input: FileDescriptor?
    /// The descriptor from which its standard output is read; `nil` unless it is a pipe.
    package var output: FileDescriptor?
    /// The descriptor from which its standard error is read; `nil` unless it is a pipe.
    package var errors: FileDescriptor?

    init(
        process: Int32, leadsGroup: Bool = false, endsGroup: Bool = false, input: consuming FileDescriptor? = nil,
        output: consuming FileDescriptor? = nil, errors: consuming FileDescriptor? = nil
    ) {
        self.process = process
        self.leadsGroup = leadsGroup
        self.endsGroup = endsGroup
        self.input = input
        self.output = output
        self.errors = errors
    }

    /// Sends a signal to the program; to all of its group if it leads one. Only before it has been waited for:
    /// afterwards its number may be another's.
    package borrowing func send(signal: Int32) { kill(leadsGroup ? -process : process, signal) }

    /// Waits for its end. Call it once.
    package borrowing func wait() -> TerminationStatus { Self.wait(for: process) }

    static func wait(for process: Int32) -> TerminationStatus {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) == -1 {
            // ECHILD: a caller ignores SIGCHLD, and the end is unknown.
            if errno != EINTR { return .exited(255) }
        }
        return TerminationStatus(waitStatus: status)
    }

    /// How it ended, if it has.
    borrowing func endingNow() -> TerminationStatus? {
        if endsGroup {
            // Before its end is taken: afterwards the group's number may be another's.
            var facts = unsafe siginfo_t()
            let result = unsafe waitid(P_PID, id_t(process), &facts, WEXITED | WNOHANG | WNOWAIT)
            if result == 0, unsafe facts.si_signo == SIGCHLD { kill(-process, SIGKILL) }
        }
        var status: Int32 = 0
        let result = unsafe waitpid(process, &status, WNOHANG)
        if result == 0 || result == -1 && errno == EINTR { return nil }
        return result == process ? TerminationStatus(waitStatus: status) : .exited(255)
    }
}
