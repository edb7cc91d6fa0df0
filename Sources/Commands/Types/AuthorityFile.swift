import CredentialCore

/// Checks a file of certificate authorities before a definition that names it is used.
struct AuthorityFile {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// Reads the file of settings, if they name one.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming key and file, if it cannot be read or has no certificates.
    func check(_ settings: ConnectionSettings) throws(CredentialError) {
        guard let path = settings.certificateFile else { return }
        let content: [UInt8]?
        do throws(CredentialError) { content = try session.context.typeFiles.read(path)?.bytes } catch {
            throw settings.unreadable(error.text)
        }
        _ = try settings.certificates(in: content)
    }
}
