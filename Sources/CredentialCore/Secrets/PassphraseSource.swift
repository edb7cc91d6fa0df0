/// The source of the passphrase of the encrypted file: `CREDMGR_PASSPHRASE_FILE`, then
/// `CREDMGR_PASSPHRASE_COMMAND`, then systemd's credential `credmgr-passphrase`.
package struct PassphraseSource: Sendable {
    private let environment: [String: String]
    private let files: any DefinitionStore
    private let programs: any ProcessRunner
    private let timeout: Int?

    /// Makes a source.
    ///
    /// - Parameter timeout: how long the caller waits for a command, in seconds.
    package init(
        environment: [String: String], files: any DefinitionStore, programs: any ProcessRunner, timeout: Int? = nil
    ) {
        self.timeout = timeout
        self.environment = environment
        self.files = files
        self.programs = programs
    }

    /// The source of the passphrase, for messages; `nil` if no source is configured.
    package var giver: String? {
        configured?.giver ?? (systemdFolder == nil ? nil : "systemd's credential \(Self.credential)")
    }

    /// The passphrase; `nil` if no source is configured.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when it is configured but cannot be had; ``ErrorCode/configuration`` for
    ///   a file that others can read.
    package func read() throws(CredentialError) -> Secret? {
        if let (source, giver) = configured { return try read(source, giver) }
        if let folder = systemdFolder, try files.read("\(folder)/\(Self.credential)") != nil {
            return try read(.systemdCredential(Self.credential), "systemd's LoadCredential=")
        }
        return nil
    }

    /// The source that a variable names, and the variable.
    private var configured: (source: SecretSource, giver: String)? {
        if let path = environment["CREDMGR_PASSPHRASE_FILE"], !path.isEmpty {
            return (.file(path), "CREDMGR_PASSPHRASE_FILE")
        }
        if let command = environment["CREDMGR_PASSPHRASE_COMMAND"], !command.isEmpty {
            return (.command(command.split(separator: " ").map(String.init)), "CREDMGR_PASSPHRASE_COMMAND")
        }
        return nil
    }

    /// The directory in which systemd puts a service's credentials.
    private var systemdFolder: String? {
        environment["CREDENTIALS_DIRECTORY"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    private static let credential = "credmgr-passphrase"

    private func read(_ source: SecretSource, _ asker: String) throws(CredentialError) -> Secret {
        try SecretReader(environment: environment, files: files, programs: programs, timeout: timeout).read(
            source, for: SecretRequest("the passphrase of the encrypted file (\(asker))", absence: .storeLocked))
    }
}

/// The requirements for a passphrase that a user makes up.
package enum PassphraseRules {
    /// The fewest characters that are taken without a word.
    package static let shortest = 8

    /// Whether a holder of the file could soon guess it.
    package static func isWeak(_ passphrase: Secret) -> Bool { passphrase.reveal().count < shortest }

    /// Refuses a weak one.
    ///
    /// - Parameter name: its name and source, for the message.
    /// - Throws: ``ErrorCode/usage``.
    package static func check(_ passphrase: Secret, _ name: LocalizedMessage, hint: LocalizedMessage)
        throws(CredentialError)
    {
        if isWeak(passphrase) {
            throw CredentialError(
                .usage,
                "\(name) has fewer than \(shortest) characters: attackers with a copy of the encrypted file can "
                    + "guess it",
                hint: hint)
        }
    }
}
