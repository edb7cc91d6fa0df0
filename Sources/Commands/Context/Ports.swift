import CommandLine
package import CredentialCore
package import Platform
package import Relay

/// Other programs and their files, as commands use them.
package protocol ProcessPort: ProcessRunner, BrowserLauncher {
    /// Whether the user may not read this program's file: the kernel then keeps other processes of the user out of
    /// its memory from the first moment on.
    var isUnreadable: Bool { get }

    /// Whether `word` is a program that can be run.
    func isProgram(_ word: String) -> Bool

    /// Runs a program in the place of this process, with our streams, the whole environment and `variables`; the
    /// signals that we get are passed on, and end this process no more.
    ///
    /// - Parameters:
    ///   - meanwhile: runs beside the program, on a thread that is never joined.
    ///   - unattended: receives the reason if there is no such thread; the program still runs.
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be started.
    func accompany(
        _ words: [String], variables: [String: String], meanwhile: @escaping @Sendable () -> Void,
        unattended: (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus

    /// Runs a command beside a relay to a broker's socket, in the place of this process.
    ///
    /// - Parameter warn: receives the failures that occur while the command runs.
    /// - Throws: before the command is started, as ``Relay/run(caller:)``.
    func relay(
        _ arguments: RelayArguments, warn: @escaping (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus

    /// Whether all that this process leaves behind ends with it, as in a container whose first process it is.
    var endsWithThisProcess: Bool { get }

    /// Whether a process is a child of this one that was not waited for.
    func isChild(_ process: Int32) -> Bool

    /// Goes on with a program that runs in the place of this process since before this process became this program.
    ///
    /// - Parameters:
    ///   - process: a child.
    ///   - meanwhile: runs beside it, on a thread that is never joined.
    ///   - unattended: receives the reason if there is no such thread; the call still waits for the program.
    func accompany(
        _ process: Int32, meanwhile: @escaping @Sendable () -> Void, unattended: (CredentialError) -> Void
    ) throws(CredentialError) -> TerminationStatus

    /// A file in memory for the token of a command, in a directory of its own; `nil` if the machine has no place
    /// for it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/storeUnavailable`` if locks do not work.
    func execTokenFile() throws(CredentialError) -> (any PrivateFile)?

    /// The file for a command's token that this process has made before it became this program.
    ///
    /// - Parameters:
    ///   - directory: the name of its directory.
    ///   - lock: the descriptor that holds the directory's lock.
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/usage`` for another directory.
    func execTokenFile(takenOver directory: String, lock: Int32) throws(CredentialError) -> any PrivateFile

    /// Ends this process as a program that it ran has ended.
    ///
    /// - Throws: in a test only, in which no process ends.
    func end(like ending: TerminationStatus) throws(CredentialError) -> Never

    /// The path of the first program called `word` in `PATH` that is not this one; `nil` if there is no such
    /// program.
    func otherProgram(_ word: String) -> String?

    /// This program's own path, by its real name.
    var ownPath: String { get }

    /// Whether anything has this path.
    func isThere(_ path: String) -> Bool

    /// Returns the target of a symbolic link of the user's; `nil` if it is not a link.
    func linkTarget(_ path: String) -> String?

    /// Makes a link, and its missing directories, in place of a link that was there.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if a file or directory has the name.
    func link(_ path: String, to target: String) throws(CredentialError)

    /// Returns the content of a file of the user's; `nil` if it does not exist.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` for one that cannot be read or holds more than 8 MiB.
    func readFile(_ path: String) throws(CredentialError) -> [UInt8]?

    /// Replaces a file of the user's as a whole, but keeps its mode and symbolic links. A new one is for its owner
    /// alone, as a secret always is. Folders that are missing are made.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, also if the path is not a file.
    func replaceFile(_ path: String, _ bytes: [UInt8], isProgram: Bool, isSecret: Bool) throws(CredentialError)

    /// Removes a file of the user's, if it is there.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func removeFile(_ path: String) throws(CredentialError)

    /// Removes a file that ``replaceFile(_:_:isProgram:isSecret:)`` has written, at the target of links; one that
    /// is mounted by itself is emptied.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/denied`` as there.
    func withdrawFile(_ path: String) throws(CredentialError)

    /// Removes a folder of the user's, if it is empty; any other stays.
    func removeFolder(_ path: String)

    /// Creates a file of the user's, or empties it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func createFile(_ path: String) throws(CredentialError) -> any OutputFile
}

/// A file of the user's that is being written.
package protocol OutputFile {
    /// Adds bytes at the end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ bytes: [UInt8]) throws(CredentialError)
    /// Ends the writing.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when the written data are not safe on the disk.
    func close() throws(CredentialError)
}

/// Makes QR codes.
package protocol QRCodes: Sendable {
    /// The rows of the symbol of a text, `true` for a dark module.
    ///
    /// - Throws: ``ErrorCode/internalFault`` if there is no library for it; ``ErrorCode/unsupported``.
    func modules(of text: String) throws(CredentialError) -> [[Bool]]
}

/// Reads the settings of an iOS app (`settings.plist`) as the definition of a type.
package protocol SettingsImporter: Sendable {
    /// The result of an import: the type, and a line for each key with its result.
    typealias Outcome = (type: AccountType, report: [LocalizedMessage])

    /// Reads a file with a report of the outcome for each key.
    ///
    /// - Parameters:
    ///   - name: the type's name in place of the file's own.
    ///   - fix: fixes the known mistakes in such files.
    ///   - exact: adds no setting that is not in the file.
    ///   - place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``.
    func importSettings(
        _ bytes: [UInt8], name: String?, fix: Bool, exact: Bool, place: String
    ) throws(CredentialError) -> Outcome
}

/// `credmgr demo`, which brings a provider of its own and therefore lives outside the commands.
package protocol DemoRunner: Sendable {
    /// Runs the walkthrough to its end.
    ///
    /// - Throws: the failure in it.
    func run(_ session: CommandSession, _ form: DemoMode) throws(CredentialError)
}

/// The form of a demonstration.
package enum DemoMode: Sendable, Hashable {
    /// All that one user does, without a person.
    case walkthrough
    /// A sign-in through the real browser.
    case browser
    /// Runs no command: the provider runs until standard input ends.
    case server
    /// A group that so many hosts share.
    case hosts(Int)
}

extension ProcessPort {
    /// Replaces a file that holds no secret.
    func replaceFile(_ path: String, _ bytes: [UInt8], isProgram: Bool) throws(CredentialError) {
        try replaceFile(path, bytes, isProgram: isProgram, isSecret: false)
    }
}
