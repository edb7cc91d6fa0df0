import CredentialCore
import Glibc

/// Why libcurl gave a transfer up.
struct CurlFailure {
    /// The number of libcurl-errors(3); the numbers are part of libcurl's binary interface.
    let code: UInt32
    /// The `errno` of a connection that failed, else 0.
    let systemError: Int32
    /// libcurl's own words. They name hosts, never a query.
    let text: String

    /// Whether the server's certificate leads to no trusted authority, or is invalid for another reason.
    var isUntrusted: Bool { code == 60 }

    /// Whether the server's certificate has ended, or does not count yet (X509_verify_cert_error_string(3)).
    var isOutdated: Bool {
        isUntrusted && (text.contains("certificate has expired") || text.contains("certificate is not yet valid"))
    }

    /// Whether the server's certificate is one of other names than the one that it was called by.
    var isMisnamed: Bool { isUntrusted && text.contains("subject name") }

    /// Whether the server has closed the connection in place of a response. A server does so if it requires a
    /// client certificate or rejects the given one (TLS 1.3 reports that only after the handshake, and not always
    /// in words).
    var isClosed: Bool { [16, 18, 35, 52, 55, 56, 92].contains(code) }

    /// Whether the server has spoken, and it was no TLS.
    var isWithoutTLS: Bool { code == 35 && text.contains("wrong version number") }

    /// Whether it ended before anything of the request had left: no name, no connection, no TLS.
    var isBeforeRequest: Bool { [5, 6, 7, 35, 53, 54, 58, 59, 60, 66, 77, 82, 83, 90, 91, 97, 98].contains(code) }

    /// The error of a request to `host`.
    ///
    /// - Parameters:
    ///   - host: the host, with its port if the address has one.
    ///   - limits: of the request.
    ///   - certificateFile: the certificate authorities that were given.
    func error(host: String, request: HTTPRequest, certificateFile: String?) -> CredentialError {
        let words = UntrustedText.shown(text)
        var error =
            switch code {
            case 5: unreachable(host, "cannot resolve the name of the proxy")
            case 6: unreachable(host, "cannot resolve its name")
            case 7:
                unreachable(
                    host, systemError == 0 ? "no connection" : LocalizedMessage(verbatim: reason(systemError)))
            case 28: Self.late(host)
            case 52, 18: Self.cutOff(host)
            case 1, 8, 27, 61, 100: CredentialError(.malformedReply, "the response of \(host) is not valid HTTP")
            case 63: Self.tooLarge(host, request.maximumReplySize)
            case 58 where request.clientCertificate != nil: unusable(request.clientCertificate)
            case 51, 58, 60, 83, 90, 91: untrusted(host, words, request.connection)
            case 77: Self.unreadableAuthorities(certificateFile)
            default:
                unreachable(host, words.isEmpty ? "error \(code) of libcurl" : LocalizedMessage(verbatim: words))
            }
        error.details.append("libcurl error \(code): \(words)")
        return error
    }

    /// The error of a reply with more than `limit` bytes.
    static func tooLarge(_ host: String, _ limit: Int?) -> CredentialError {
        CredentialError(.malformedReply, "the response of \(host) is larger than \(limit ?? 0) bytes")
    }

    /// The error of a reply that ended too early.
    static func cutOff(_ host: String) -> CredentialError {
        CredentialError(.temporary, "cannot reach \(host): the connection closed before the response was complete")
    }

    /// The error of a reply that was not complete in time.
    static func late(_ host: String) -> CredentialError {
        CredentialError(.temporary, "cannot reach \(host): timed out before the response was complete")
    }

    private func unreachable(_ host: String, _ reason: LocalizedMessage) -> CredentialError {
        CredentialError(.temporary, "cannot reach \(host): \(reason)")
    }

    /// The error of a client certificate that libcurl, which says which of both files it is, does not take.
    private func unusable(_ certificate: ClientCertificate?) -> CredentialError {
        let own = certificate?.certificateFile ?? "", key = certificate?.keyFile ?? ""
        let isKey = text.lowercased().contains("private key"), file = isKey ? key : own
        var message: LocalizedMessage =
            isKey
            ? "cannot use the key \(key): it is encrypted, does not match the certificate \(own) or is not a PEM "
                + "key"
            : "cannot use the client certificate \(own): it must be a PEM certificate"
        if unsafe access(file, R_OK) != 0 { message = "cannot read \(file): \(reason(errno))" }
        return CredentialError(
            .configuration, message,
            hint: "set tls_client_certificate and tls_client_key to matching PEM files")
    }

    /// The error of a file of the environment or the system that libcurl does not take.
    static func unreadableAuthorities(_ file: String?) -> CredentialError {
        CredentialError(
            .configuration, "cannot read the certificate authorities in \(file ?? "the system's file")",
            hint: "set CURL_CA_BUNDLE or SSL_CERT_FILE to a file of PEM certificates")
    }

    private func untrusted(_ host: String, _ words: String, _ settings: ConnectionSettings?) -> CredentialError {
        let hint: LocalizedMessage =
            switch settings?.source {
            case .type(let name):
                "if the certificate authority is your own: "
                    + "credmgr types set \(ShellQuoting.word(name)) ca_certificate=FILE; otherwise check this machine's clock"
            case .configuration, nil:
                "set ca_certificate in config.json if the certificate authority is your own; otherwise check this "
                    + "machine's clock"
            }
        return CredentialError(.denied, "the certificate of \(host) is not valid: \(words)", hint: hint)
    }

    private func reason(_ number: Int32) -> String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return unsafe String(cString: text).lowercased()
    }
}
