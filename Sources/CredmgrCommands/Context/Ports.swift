package import CredentialCore
package import LinuxPlatform

/// What a file looks like from outside; equal states mean an unchanged file.
package struct FileState: Sendable, Hashable {
    /// Device, inode, size, and the times of the last change of content and of status in nanoseconds.
    package var numbers: [Int64]

    /// Makes a state.
    package init(numbers: [Int64]) { self.numbers = numbers }
}

/// Looks at files without reading them.
package protocol FileStates: Sendable {
    /// The state of a file; `nil` where there is none.
    func state(of path: String) -> FileState?
}

/// A program that has ended.
package struct ProgramResult: Sendable {
    /// What it printed.
    package var output: [UInt8]
    /// Its exit status, or 128 plus the number of the signal that ended it.
    package var exitStatus: Int32

    /// Makes a result.
    package init(output: [UInt8], exitStatus: Int32) {
        self.output = output
        self.exitStatus = exitStatus
    }
}

/// Other programs and their files. Programs get a cleaned environment and none of our descriptors.
package protocol Programs: Sendable {
    /// Runs a program to its end; its standard error stays ours.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started or takes longer than `seconds`.
    func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProgramResult

    /// Starts a program and does not wait for it, its streams on `/dev/null`: a browser.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    func launch(_ words: [String]) throws(CredentialError)

    /// Whether `word` is a program that can be run.
    func isProgram(_ word: String) -> Bool

    /// Runs a program in the place of this process, with our streams, the whole environment and `variables`; the
    /// signals that we get are passed on, and end this process no more.
    ///
    /// - Parameter meanwhile: runs beside the program, on a thread that nobody waits for.
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    func accompany(
        _ words: [String], variables: [String: String], meanwhile: @escaping @Sendable () -> Void
    ) throws(CredentialError) -> ProgramEnding

    /// Ends this process as a program that it ran has ended.
    func end(like ending: ProgramEnding) -> Never

    /// A private file that lives as long as this process, in memory where that can be had.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/storeUnavailable``.
    func runtimeFile(_ prefix: String) throws(CredentialError) -> any PrivateFile

    /// Creates a file of the user's, or empties it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func createFile(_ path: String) throws(CredentialError) -> any OutputFile

    /// Waits; for the interval that a provider asks for between two polls (RFC 8628 §3.5).
    func pause(seconds: Int)

    /// Starts this program again as a refresh worker in a session of its own, gives it `input`, and waits for what
    /// it answers. The worker holds the lock from then on, and lives on when this process dies.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started; ``ErrorCode/temporary`` when it has not
    ///   answered after `seconds`.
    func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int
    ) throws(CredentialError) -> [UInt8]
}

/// A file that only this user can read, replaced as a whole with each writing.
package protocol PrivateFile: Sendable {
    /// Where it is.
    var path: String { get }
    /// Replaces the content.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ bytes: [UInt8]) throws(CredentialError)
    /// Removes the file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove() throws(CredentialError)
}

/// A file of the user's that is being written.
package protocol OutputFile {
    /// Adds bytes at the end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ bytes: [UInt8]) throws(CredentialError)
    /// Ends the writing.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when what was written is not safe on the disk.
    func close() throws(CredentialError)
}

/// Listens on the loopback for the redirect of one sign-in.
package protocol RedirectReceiver: Sendable {
    /// The redirect URI, with the port that is listened on.
    var redirectURI: String { get }

    /// Waits for the redirect; requests that `isExpected` refuses are answered and do not end the wait.
    ///
    /// - Throws: ``ErrorCode/temporary`` when none came within `seconds`.
    /// - Parameter formOrigin: the origin of the pages that may post the answer (`response_mode=form_post`); `nil`
    ///   for the other response modes.
    func wait(
        seconds: Int, formOrigin: String?, isExpected: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> String

    /// Stops listening.
    func stop()
}

/// Opens listeners for redirects.
package protocol RedirectReceivers: Sendable {
    /// Listens at a loopback redirect URI: at its port, or at a free one when it names none.
    ///
    /// - Throws: ``ErrorCode/temporary`` when the port is taken.
    func listen(at redirectURI: WebAddress) throws(CredentialError) -> any RedirectReceiver
}

/// Makes QR codes.
package protocol QRCodes: Sendable {
    /// The rows of the symbol of a text, `true` where a module is dark.
    ///
    /// - Throws: ``ErrorCode/internalFault`` where there is no library for it; ``ErrorCode/unsupported``.
    func modules(of text: String) throws(CredentialError) -> [[Bool]]
}

/// Reads the settings of an iOS app (`settings.plist`) as the definition of a type.
package protocol SettingsImporter: Sendable {
    /// What came of an import: the type, and a line per key that says what became of it.
    typealias Outcome = (type: AccountType, report: [String])

    /// Reads a file with a report of what became of each key.
    ///
    /// - Parameters:
    ///   - name: the type's name in place of the file's own.
    ///   - fix: mends what is known to be wrong in such files.
    ///   - exact: adds nothing that the file does not say.
    ///   - place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``.
    func importSettings(
        _ bytes: [UInt8], name: String?, fix: Bool, exact: Bool, place: String
    ) throws(CredentialError) -> Outcome

    /// Reads a file that stands in a folder of definitions.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    var readDefinition: AccountTypeCatalog.SettingsReader { get }
}
