import Glibc

/// What is said when a library ends the process: GLib and libgcrypt, which libsecret uses, do that where they get no
/// descriptor, no thread or no memory.
package enum AbortNotice {
    /// Turns the end by a library into an error message and the exit status 1, which is that of faults of our own. Call
    /// it after ``ProcessHygiene/harden()``.
    package static func install() {
        // abort() and, of GLib, a breakpoint. The handler may do nothing but write and leave.
        for number in [SIGABRT, SIGTRAP] {
            signal(number) { _ in
                let text: StaticString = """
                    credmgr: error: a library gave up, as it does without free descriptors, threads or memory
                    credmgr: hint: try again; 'ulimit -n' and 'ulimit -u' show the limits

                    """
                _ = unsafe write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
                _exit(1)
            }
        }
    }
}
