import CredentialCore
import CredmgrCommands

/// Where the passphrase of the encrypted file comes from: `CREDMGR_PASSPHRASE_FILE`, then
/// `CREDMGR_PASSPHRASE_COMMAND`, then the credential `credmgr-passphrase` that systemd hands to a service
/// (`LoadCredential=`, `LoadCredentialEncrypted=`; systemd.exec(5)).
struct PassphraseSource: Sendable {
    let environment: [String: String]
    let files: any TypeFiles
    let programs: any Programs

    /// The passphrase; `nil` where none is configured.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when it is configured but cannot be had.
    func read() throws(CredentialError) -> Secret? {
        if let path = environment["CREDMGR_PASSPHRASE_FILE"], !path.isEmpty { return try fromFile(path) }
        if let command = environment["CREDMGR_PASSPHRASE_COMMAND"], !command.isEmpty { return try from(command) }
        if let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/") {
            return try fromCredential("\(folder)/credmgr-passphrase")
        }
        return nil
    }

    private func fromFile(_ path: String) throws(CredentialError) -> Secret {
        let file: TypeFile?
        do throws(CredentialError) { file = try files.read(path) } catch {
            throw locked("CREDMGR_PASSPHRASE_FILE cannot be read: \(error.message)", hint: error.hint)
        }
        guard let file else {
            throw locked("there is no file \(ForeignText.shown(path)), which CREDMGR_PASSPHRASE_FILE names")
        }
        guard file.isPrivate else {
            throw locked(
                "others can read \(ForeignText.shown(path)), which holds the passphrase", hint: "chmod 600 \(path)")
        }
        return try passphrase(file.bytes, "CREDMGR_PASSPHRASE_FILE")
    }

    /// A file that systemd has made, whose mode is systemd's business: for services of other users it has an access
    /// control list, which looks like a group that may read.
    private func fromCredential(_ path: String) throws(CredentialError) -> Secret? {
        let file: TypeFile?
        do throws(CredentialError) { file = try files.read(path) } catch {
            throw locked("the credential credmgr-passphrase cannot be read: \(error.message)", hint: error.hint)
        }
        return try file.map { (file) throws(CredentialError) in
            try passphrase(file.bytes, "the credential credmgr-passphrase")
        }
    }

    /// The command is words parted by spaces, run without a shell.
    private func from(_ command: String) throws(CredentialError) -> Secret {
        let result = try programs.run(command.split(separator: " ").map(String.init), seconds: 10)
        guard result.exitStatus == 0 else {
            throw locked("CREDMGR_PASSPHRASE_COMMAND ended with \(result.exitStatus)")
        }
        return try passphrase(result.output, "CREDMGR_PASSPHRASE_COMMAND")
    }

    /// The first line.
    private func passphrase(_ bytes: [UInt8], _ source: String) throws(CredentialError) -> Secret {
        let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
        guard !line.isEmpty, let text = String(validating: line, as: UTF8.self) else {
            throw locked("\(source) gives no passphrase")
        }
        return Secret(text)
    }

    private func locked(_ reason: String, hint: String? = nil) -> CredentialError {
        CredentialError(.storeLocked, "the encrypted file is locked: \(reason)", hint: hint)
    }
}
