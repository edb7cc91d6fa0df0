/// A program that has ended.
package struct ProcessResult: Sendable {
    /// The output of the program.
    package var output: [UInt8]
    /// Its exit status, or 128 plus the number of the signal that ended it.
    package var exitStatus: Int32

    /// Makes a result.
    package init(output: [UInt8], exitStatus: Int32) {
        self.output = output
        self.exitStatus = exitStatus
    }
}

/// The programs that accounts need: those that print secrets, and this one itself as a refresh worker. Programs get
/// a cleaned environment, and do not inherit our descriptors.
package protocol ProcessRunner: Sendable {
    /// Runs a program to its end; its standard error stays ours.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started or takes longer than `seconds`.
    func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult

    /// Starts this program again as a refresh worker in a session of its own, gives it `input`, and waits for its
    /// response. The worker holds the lock from then on, and lives on when this process dies.
    ///
    /// In a PID namespace whose first process is this one or its parent, the worker would end with this process.
    /// There it is waited for to its end, and `whenLate` is called once when `seconds` are over.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started; ``ErrorCode/temporary`` when it has not
    ///   answered after `seconds` and goes on without this process.
    func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
    ) throws(CredentialError) -> [UInt8]
}
