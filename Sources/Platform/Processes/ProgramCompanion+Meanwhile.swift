package import CredentialCore

extension ProgramCompanion {
    /// Waits for the program's end.
    ///
    /// - Parameter meanwhile: runs on a thread of its own, which is not waited for.
    /// - Throws: ``ErrorCode/internalFault`` when the system gives no thread.
    package consuming func end(meanwhile: @escaping @Sendable () -> Void) throws(CredentialError) -> ProgramEnding {
        try DeadlineThread.start(meanwhile)
        while true {
            if let ending = ending(within: nil) { return ending }
        }
    }
}
