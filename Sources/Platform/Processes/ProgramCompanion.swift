package import CredentialCore
import Glibc

/// Runs a program in the place of this process: it has our streams, and the signals that we get.
///
/// Signals of the terminal reach the program by themselves, as it stands in the same group of processes; those that
/// somebody sends to this process are passed on. SIGKILL and SIGSTOP cannot be.
package struct ProgramCompanion: Sendable {
    private static let passedOn = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]
    /// `SI_KERNEL`: the kernel sent the signal, to the whole group of the terminal.
    private static let fromKernel: Int32 = 0x80

    private var launch: ProgramLaunch

    /// Describes a run.
    package init(_ launch: ProgramLaunch) {
        self.launch = launch
        self.launch.standardInput = .inherit
        self.launch.standardOutput = .inherit
        self.launch.standardError = .inherit
        self.launch.keepsIgnoredSignals = true
    }

    /// Runs the program to its end. From the first call on this process ends by none of the signals passed on, so
    /// it should end itself as the program did: ``ProgramEnding/endThisProcess()``.
    ///
    /// - Parameter meanwhile: runs on a thread of its own, which is not waited for.
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    package func run(meanwhile: @escaping @Sendable () -> Void) throws(CredentialError) -> ProgramEnding {
        // A parent that ignores it would have the kernel throw the exit status away.
        signal(SIGCHLD, SIG_DFL)
        var awaited = sigset_t()
        unsafe sigemptyset(&awaited)
        for number in Self.passedOn + [SIGCHLD] { unsafe sigaddset(&awaited, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &awaited, nil)
        let program = try launch.start()
        try DeadlineThread.start(meanwhile)
        while true {
            // Before the wait: another child's end may have covered this one's.
            if let ending = program.endingNow() { return ending }
            var facts = unsafe siginfo_t()
            let number = unsafe sigwaitinfo(&awaited, &facts)
            let isOthers = unsafe facts.si_code != Self.fromKernel
            if number > 0, number != SIGCHLD, isOthers { program.send(signal: number) }
        }
    }
}

extension ProgramEnding {
    /// Ends this process in the same way, so that its caller sees what the program's caller would have seen.
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
