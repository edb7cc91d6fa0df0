import Glibc

/// Keeps SIGPIPE away: told not to touch signals, libcurl leaves it to its caller that a server which hangs up does
/// not end the program.
enum BrokenPipeSignal {
    /// Runs `work` with SIGPIPE held back on this thread, and drops the one that came meanwhile.
    static func held<Result>(_ work: () -> Result) -> Result {
        var pipe = sigset_t(), before = sigset_t(), pending = sigset_t()
        unsafe sigemptyset(&pipe)
        unsafe sigaddset(&pipe, SIGPIPE)
        unsafe sigpending(&pending)
        let wasPending = unsafe sigismember(&pending, SIGPIPE) == 1
        unsafe pthread_sigmask(SIG_BLOCK, &pipe, &before)
        let result = work()
        if !wasPending {
            var immediately = timespec()
            unsafe sigtimedwait(&pipe, nil, &immediately)
        }
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        return result
    }
}
