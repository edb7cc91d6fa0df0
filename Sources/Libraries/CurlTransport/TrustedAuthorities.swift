import CredentialCore
import Platform

/// The authorities that a request trusts: the system's, and those that the user names in addition.
struct TrustedAuthorities {
    /// A PEM file in place of the system's, of the environment.
    let certificateFile: String?
    /// The system's own.
    let system: CertificateStore
    /// The certificates of the user's own authorities in PEM form; empty if the user has no authorities.
    private let own: [UInt8]

    /// Reads the files of the user.
    ///
    /// - Parameters:
    ///   - settings: those of the account type, then those of `config.json`.
    ///   - certificateFile: a file in place of the system's.
    ///   - system: the system's authorities.
    /// - Throws: ``ErrorCode/configuration``, naming key and file.
    init(
        _ settings: [ConnectionSettings], certificateFile: String?, system: CertificateStore
    ) throws(CredentialError) {
        self.certificateFile = certificateFile
        self.system = system
        var own: [UInt8] = []
        for settings in settings {
            guard let path = settings.certificateFile else { continue }
            own += try settings.certificates(in: try Self.read(path, settings)) + [0x0A]
        }
        self.own = own
    }

    /// Whether an address is reached with the system's folder, and not with a file.
    func usesSystemFolder(for address: URI) -> Bool {
        address.scheme == "https" && certificateFile == nil && system.exists
    }

    /// Has a transfer trust them. Of the system's own authorities the folder is asked first (``CertificateStore``).
    ///
    /// - Parameters:
    ///   - transfer: before it is done.
    ///   - address: the target of the transfer.
    ///   - proxy: the proxy, if there is one.
    /// - Throws: ``ErrorCode/configuration`` if a file that `CURL_CA_BUNDLE` names cannot be read.
    func apply(to transfer: CurlTransfer, for address: URI, through proxy: ProxyChoice?)
        throws(CredentialError)
    {
        if let certificateFile {
            try transfer.set(.certificateFile, certificateFile)
            try transfer.set(.proxyCertificateFile, certificateFile)
        } else if usesSystemFolder(for: address) {
            try transfer.set(.certificateFolder, system.folder)
            try transfer.set(.certificateFile, nil)
        }
        guard !own.isEmpty else { return }
        // libcurl takes the certificates in memory in place of its file, and the directory in addition.
        try transfer.setCertificates(usesSystemFolder(for: address) ? own : try all(transfer))
        if proxy != nil { try transfer.setCertificates(try all(transfer), ofProxy: true) }
    }

    /// Has a transfer trust the system's file as well, after the folder was not enough.
    func applySystemFile(to transfer: CurlTransfer) throws(CredentialError) {
        try transfer.set(.certificateFile, system.file)
        if !own.isEmpty { try transfer.setCertificates(try all(transfer)) }
    }

    /// The certificates of the file that counts otherwise, and the user's own.
    private func all(_ transfer: CurlTransfer) throws(CredentialError) -> [UInt8] {
        let file = certificateFile ?? (system.exists ? system.file : transfer.defaultCertificateFile)
        guard let file else { return own }
        let content: [UInt8]?
        do throws(CredentialError) { content = try UserInputFile.read(file, limit: 16 << 20)?.content } catch {
            throw CurlFailure.unreadableAuthorities(file)
        }
        // libcurl's own choice may not be there: then the system has no authorities.
        guard let content else {
            if certificateFile == nil { return own }
            throw CurlFailure.unreadableAuthorities(file)
        }
        return content + [0x0A] + own
    }

    private static func read(_ path: String, _ settings: ConnectionSettings) throws(CredentialError) -> [UInt8]? {
        do throws(CredentialError) { return try UserInputFile.read(path, limit: 1 << 20)?.content } catch {
            throw settings.unreadable(error.text)
        }
    }
}
