package import CredentialCore

/// Hands a refresh to a process of its own, so that the reply is persisted even when the caller is killed, its
/// terminal closes or its script's time is up.
package struct DetachedRefresher: GrantRefresher {
    private let programs: any Programs
    private let seconds: Int

    /// Makes a refresher that waits at most `seconds` for the worker; the worker is not ended by that.
    package init(programs: any Programs, seconds: Int) {
        self.programs = programs
        self.seconds = seconds
    }

    package func refresh(_ job: RefreshJob, holding lock: any HeldLock) throws(CredentialError) -> RefreshOutcome {
        let answer = try programs.refreshWorker(RefreshWire.encode(job), holding: lock, seconds: seconds)
        return try RefreshWire.decodeAnswer(answer)
    }
}
