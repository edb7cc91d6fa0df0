package import CredentialCore

extension ForegroundChild {
    /// Waits for the program's end.
    ///
    /// - Parameters:
    ///   - meanwhile: runs on a thread of its own, which is not waited for.
    ///   - unattended: is given the reason if the system gives no thread; the call still waits for the program.
    package consuming func end(
        meanwhile: @escaping @Sendable () -> Void, unattended: (CredentialError) -> Void
    ) -> TerminationStatus {
        do throws(CredentialError) { try DeadlineThread.start(meanwhile) } catch { unattended(error) }
        while true {
            if let ending = ending(within: nil) { return ending }
        }
    }
}
