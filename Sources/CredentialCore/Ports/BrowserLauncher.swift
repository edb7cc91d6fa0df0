/// The parts of the desktop that a sign-in needs: to start a browser, and to leave a page for it.
package protocol BrowserLauncher: Sendable {
    /// Starts a program and does not wait for it, its streams on `/dev/null`: a browser.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    func launch(_ words: [String]) throws(CredentialError)

    /// A private file that lives as long as this process, in memory if the system allows that.
    ///
    /// - Parameters:
    ///   - prefix: how its name begins.
    ///   - suffix: how its name ends, such as `.html`.
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/storeUnavailable``.
    func runtimeFile(_ prefix: String, suffix: String) throws(CredentialError) -> any PrivateFile

    /// Waits; for the interval that a provider asks for between two polls (RFC 8628 §3.5).
    func pause(seconds: Int)
}

/// A file that only this user can read, replaced as a whole with each writing.
package protocol PrivateFile: Sendable {
    /// The path.
    var path: String { get }
    /// Replaces the content.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ bytes: [UInt8]) throws(CredentialError)
    /// Removes the file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove() throws(CredentialError)
    /// Removes the file of an expired token, or empties it if it is mounted; the next write makes it again.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func withdraw() throws(CredentialError)
}

extension PrivateFile {
    /// Leaves it: no other process reads the file.
    package func withdraw() throws(CredentialError) {}
}
