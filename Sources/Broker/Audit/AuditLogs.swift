public import CredentialCore

/// The audit logs of this machine, as the commands read them.
public protocol AuditLogs: Sendable {
    /// The names of the brokers with a log, sorted.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func brokers() throws(CredentialError) -> [String]

    /// Reads the lines of a log from its beginning. A later call of ``AuditLines/next()`` after the end gives the
    /// lines that were added meanwhile.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func lines(of broker: String) throws(CredentialError) -> any AuditLines

    /// Verifies a log as it is now.
    ///
    /// - Returns: the verifier after the last line.
    /// - Throws: ``ErrorCode/problemsFound`` naming file and line; ``ErrorCode/inputOutput``.
    func verify(_ broker: String) throws(CredentialError) -> AuditVerifier

    /// The end of a log: the number of its last line and the digest of that line.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/storeDamaged``.
    func head(of broker: String) throws(CredentialError) -> (number: Int64, digest: String)

    /// Removes the oldest lines of a log, also while a broker writes it.
    ///
    /// - Parameter seconds: the age from which lines are removed; `nil` for the retention of the log itself.
    /// - Returns: the number of removed bytes.
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/temporary`` if the log is locked.
    func prune(_ broker: String, olderThan seconds: Int64?) throws(CredentialError) -> Int64

    /// Removes a log as a whole: its broker must not run.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove(_ broker: String) throws(CredentialError)

    /// Waits until a log may have changed.
    ///
    /// - Parameter milliseconds: the longest time.
    /// - Returns: `false` if a signal came.
    /// - Throws: ``ErrorCode/inputOutput``.
    func wait(milliseconds: Int64) throws(CredentialError) -> Bool
}

/// The lines of a log, one after the other.
public protocol AuditLines: AnyObject {
    /// The next whole line without its newline; `nil` at the end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func next() throws(CredentialError) -> [UInt8]?
}
