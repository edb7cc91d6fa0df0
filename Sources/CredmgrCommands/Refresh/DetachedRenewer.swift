package import CredentialCore

/// Hands a renewal to a process of its own, so that the reply is persisted even when the caller is killed, its
/// terminal closes or its script's time is up.
package struct DetachedRenewer: TokenRenewer {
    private let programs: any Programs
    private let seconds: Int

    /// Makes a renewer that waits at most `seconds` for the worker; the worker is not ended by that.
    package init(programs: any Programs, seconds: Int) {
        self.programs = programs
        self.seconds = seconds
    }

    package func renew(
        _ request: TokenService.Request, holding lock: any HeldLock
    ) throws(CredentialError) -> TokenService.Answer {
        let answer = try programs.refreshWorker(RefreshWire.encode(request), holding: lock, seconds: seconds)
        return try RefreshWire.decodeAnswer(answer)
    }
}
