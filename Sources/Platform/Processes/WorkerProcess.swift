import Glibc

/// What a worker does first, so that nothing but the end of the machine ends it in the middle of its work.
package enum WorkerProcess {
    /// The longest that a worker may live, in seconds: no fault of a library may hold the lock for ever.
    private static let lifetime: UInt32 = 150

    /// Ignores the signals of terminals, shells and `timeout`, and sets the alarm that ends it at last.
    package static func detach() {
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTOU, SIGTTIN] {
            _ = Glibc.signal(signal, SIG_IGN)
        }
        alarm(lifetime)
    }
}
