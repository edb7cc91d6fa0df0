import CLinux
import Glibc

/// What a process that holds tokens does before anything else.
package enum ProcessHygiene {
    /// Makes the process keep its memory to itself. Call it first in `main`.
    ///
    /// - Crash signals get their default action: the reporter of the Swift runtime prints registers, and a token
    ///   may be in one.
    /// - No core file, and no process of the same user may read this one's memory or environment.
    /// - New files belong to the user alone.
    /// - Writing to a closed pipe is an error to handle, not the end.
    /// - Descriptors 0 to 2 are open, so that no file opened later becomes standard output. One that was closed
    ///   still fails when it is used: nobody is told that a token was printed when it was not.
    ///
    /// - Returns: what was changed that programs which run for the caller should not inherit.
    package static func harden() -> CallerSettings {
        for number in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGQUIT] { signal(number, SIG_DFL) }
        signal(SIGPIPE, SIG_IGN)
        _ = linux_set_dumpable(0)
        let settings = CallerSettings.replace()
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The lowest free number is this one. The access mode is the one that is of no use on it.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        return settings
    }
}
