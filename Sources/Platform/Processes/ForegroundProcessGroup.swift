import Glibc

/// The terminal, lent to a program that leads a process group of its own, as a shell lends it to a job. Its keys
/// reach the program, and reading from it does not stop the program. It is taken back at the end.
struct ForegroundProcessGroup {
    /// The terminal's descriptor; -1 if no terminal was lent.
    private let terminal: Int32

    /// Opens it, if this process has one and is in its foreground. The program takes the foreground itself as it
    /// starts (``SpawnConfiguration/terminal``): were it given later, a key could come between.
    ///
    /// - Parameter isWanted: whether to lend it at all.
    init(if isWanted: Bool) {
        let number = isWanted ? unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC) : -1
        guard number >= 0, tcgetpgrp(number) == getpgrp() else {
            if number >= 0 { close(number) }
            terminal = -1
            return
        }
        terminal = number
    }

    /// The terminal that is lent; `nil` if no terminal is.
    var descriptor: Int32? { terminal < 0 ? nil : terminal }

    /// Takes it back. Call it once.
    func end() {
        guard terminal >= 0 else { return }
        _ = Self.give(terminal, to: getpgrp())
        close(terminal)
    }

    /// The kernel stops a process outside the foreground with SIGTTOU for this call.
    private static func give(_ terminal: Int32, to group: Int32) -> Bool {
        var stop = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&stop)
        unsafe sigaddset(&stop, SIGTTOU)
        unsafe pthread_sigmask(SIG_BLOCK, &stop, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        return tcsetpgrp(terminal, group) == 0
    }
}
