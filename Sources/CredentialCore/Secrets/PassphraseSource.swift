/// Where the user keeps the passphrase of the encrypted file: `CREDMGR_PASSPHRASE_FILE`, then
/// `CREDMGR_PASSPHRASE_COMMAND`, then systemd's credential `credmgr-passphrase`.
package struct PassphraseSource: Sendable {
    private let environment: [String: String]
    private let files: any TypeFiles
    private let programs: any ProgramRunner

    /// Makes a source.
    package init(environment: [String: String], files: any TypeFiles, programs: any ProgramRunner) {
        self.environment = environment
        self.files = files
        self.programs = programs
    }

    /// The passphrase; `nil` where none is configured.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when it is configured but cannot be had; ``ErrorCode/configuration`` for a
    ///   file that others can read.
    package func read() throws(CredentialError) -> Secret? {
        if let path = environment["CREDMGR_PASSPHRASE_FILE"], !path.isEmpty {
            return try read(.file(path), "CREDMGR_PASSPHRASE_FILE")
        }
        if let command = environment["CREDMGR_PASSPHRASE_COMMAND"], !command.isEmpty {
            return try read(
                .command(command.split(separator: " ").map(String.init)), "CREDMGR_PASSPHRASE_COMMAND")
        }
        if let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/"),
            try files.read("\(folder)/\(Self.credential)") != nil
        {
            return try read(.systemdCredential(Self.credential), "systemd's LoadCredential=")
        }
        return nil
    }

    private static let credential = "credmgr-passphrase"

    private func read(_ source: SecretSource, _ asker: String) throws(CredentialError) -> Secret {
        try SecretReader(environment: environment, files: files, programs: programs).read(
            source, for: SecretNeed("the passphrase of the encrypted file (\(asker))", absence: .storeLocked))
    }
}
