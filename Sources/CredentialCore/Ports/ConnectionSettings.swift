/// How requests reach their servers: the certificates trusted in addition to those of the system's authorities, and
/// the proxy.
package struct ConnectionSettings: Sendable, Hashable {
    /// The source of the settings.
    package enum Source: Sendable, Hashable {
        /// The definition of the account type of this name.
        case type(String)
        /// `config.json`, at this path.
        case configuration(String)
    }

    /// The key of the file of certificates.
    package static let certificateKey = "ca_certificate"
    /// The key of the proxy.
    package static let proxyKey = "proxy"

    /// The source of the settings.
    package let source: Source
    /// The PEM file of certificate authorities to trust in addition to the system's.
    package var certificateFile: String?
    /// The URL of the proxy, without user and password.
    package var proxy: String?

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - source: the source of these settings.
    ///   - certificateFile: the PEM file of certificate authorities.
    ///   - proxy: the URL of the proxy.
    package init(_ source: Source, certificateFile: String? = nil, proxy: String? = nil) {
        self.source = source
        self.certificateFile = certificateFile
        self.proxy = proxy
    }

    /// The settings of an account type.
    package init(of type: AccountType) {
        self.init(.type(type.name), certificateFile: type.caCertificate, proxy: type.proxy)
    }

    /// The settings of `config.json`.
    ///
    /// - Parameters:
    ///   - configuration: the content of the file.
    ///   - path: the file.
    package init(of configuration: Configuration, at path: String) {
        self.init(.configuration(path), certificateFile: configuration.caCertificate, proxy: configuration.proxy)
    }

    /// The keys that are set.
    package var keys: [String] {
        [certificateFile.map { _ in Self.certificateKey }, proxy.map { _ in Self.proxyKey }].compactMap(\.self)
    }

    /// The settings for the user, as `doctor` shows them; `nil` without a setting.
    package var summary: LocalizedMessage? {
        let parts: [LocalizedMessage] = [
            certificateFile.map {
                "credmgr trusts the authorities in \(UntrustedText.shown($0)) and those of the system"
            },
            proxy.map { "requests go through the proxy \(UntrustedText.shown($0, limit: 200))" },
        ].compactMap(\.self)
        return parts.isEmpty ? nil : .joined(parts, by: "; ")
    }

    /// A key with its place in the file, for messages.
    package func place(of key: String) -> LocalizedMessage {
        switch source {
        case .type(let name): "\(key) of account type \(name)"
        case .configuration(let path): "\(key) in \(path)"
        }
    }

    // MARK: The file of certificates

    /// Checks the content of ``certificateFile``.
    ///
    /// - Parameter content: the content; `nil` if there is no such file.
    /// - Returns: the content.
    /// - Throws: ``ErrorCode/configuration``, naming key and file, unless there is a certificate in PEM form and
    ///   each one is sound.
    package func certificates(in content: [UInt8]?) throws(CredentialError) -> [UInt8] {
        guard let content else { throw unreadable("file not found") }
        guard Self.holdsCertificates(content) else {
            throw unusable(
                "\(place(of: Self.certificateKey)): \(shownFile) is not a file of PEM certificates"
            )
        }
        return content
    }

    /// The error of a ``certificateFile`` that cannot be read.
    package func unreadable(_ reason: LocalizedMessage) -> CredentialError {
        unusable("\(place(of: Self.certificateKey)): cannot read \(shownFile): \(reason)")
    }

    private func unusable(_ message: LocalizedMessage) -> CredentialError {
        var error = CredentialError(.configuration, message)
        error.isBeforeRequest = true
        return error
    }

    private var shownFile: String { UntrustedText.shown(certificateFile ?? "") }

    /// Whether there is at least one certificate, and each begins and ends as one does (RFC 7468 §5). libcurl
    /// passes over text that it cannot read, and the server would only seem untrusted.
    private static func holdsCertificates(_ content: [UInt8]) -> Bool {
        var lines: [Substring]?, count = 0
        for line in String(decoding: content, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let text = line.trimmingSpaces
            switch text {
            case "-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----":
                guard lines == nil else { return false }
                lines = []
            case "-----END CERTIFICATE-----", "-----END TRUSTED CERTIFICATE-----":
                guard let body = lines, let bytes = Base64URL.decodeOrdinary(body.joined()), isSequence(bytes)
                else { return false }
                count += 1
                lines = nil
            default: lines?.append(text)
            }
        }
        return lines == nil && count > 0
    }

    /// Whether the bytes begin as a long sequence of DER (X.690 §8.1.3.5), whose content is there.
    private static func isSequence(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 4, bytes[0] == 0x30, bytes[1] > 0x80 else { return false }
        let size = Int(bytes[1] - 0x80)
        guard size <= 3, bytes.count > 2 + size else { return false }
        let length = bytes[2..<(2 + size)].reduce(0) { $0 << 8 | Int($1) }
        // OpenSSL's own form has its trust settings behind the certificate.
        return bytes.count >= 2 + size + length
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        while text.first?.isWhitespace == true { text.removeFirst() }
        return text
    }
}

/// Sends requests of an account type the way that its definition says.
struct ConnectedTransport: HTTPTransport {
    let transport: any HTTPTransport
    /// Gives the settings, asked for with each request: a definition that is not confirmed is refused only if it is
    /// used.
    let settings: @Sendable () throws(CredentialError) -> ConnectionSettings

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        var request = request
        if request.connection == nil { request.connection = try settings() }
        return try transport.send(request, observer: observer)
    }

    func prepare() { transport.prepare() }
}

extension AdapterContext {
    /// The same context, which sends the requests of a type the way that its definition says.
    package func connected(as type: AccountType) -> AdapterContext {
        sending { [connection] transport in
            ConnectedTransport(transport: transport) { () throws(CredentialError) in try connection(type) }
        }
    }

    /// The same context, which sends requests with settings that the user has given just now.
    package func connected(by settings: ConnectionSettings) -> AdapterContext {
        sending { transport in
            ConnectedTransport(transport: transport) { () throws(CredentialError) in settings }
        }
    }
}

extension DefinitionTrust {
    /// The settings of a type.
    ///
    /// - Throws: ``ErrorCode/denied`` for those of a definition that is not confirmed: with a certificate authority
    ///   and a proxy its author could read the traffic.
    package func connection(of type: AccountType) throws(CredentialError) -> ConnectionSettings {
        let settings = ConnectionSettings(of: type)
        guard let key = settings.keys.first, !isConfirmed(type.name) else { return settings }
        throw CredentialError(
            .denied, "\(settings.place(of: key)) is not used: the definition is not confirmed",
            hint: LocalizedMessage(verbatim: "credmgr types trust \(ShellQuoting.word(type.name))"))
    }
}
