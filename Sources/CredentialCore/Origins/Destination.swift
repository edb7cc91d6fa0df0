/// A server that a token is wanted for: scheme, host and port (RFC 6454 §4), and the path if it is known.
///
/// Text that names no valid server, such as `localhost:1/.evil.example` in the place of a host, has no destination,
/// and so no token goes there.
package struct Destination: Sendable, Hashable, CustomStringConvertible {
    /// The scheme in lower case, one of ``schemes``.
    package let scheme: String
    /// The host in lower case, without brackets.
    package let host: String
    /// The port; the scheme's own if the text has no port.
    package let port: UInt16
    /// The path as written, with a slash in front; `/` if there is no path.
    package let path: String

    /// The schemes of servers that take tokens, each with its port. A mail program hands its messages in at the
    /// port of submission (RFC 6409).
    private static let schemes: [(name: String, port: UInt16)] = [
        ("https", 443), ("http", 80), ("smtps", 465), ("smtp", 587), ("imaps", 993), ("imap", 143),
    ]

    /// The destination of an address; `nil` for a scheme that is not known, or a port of 0.
    package init?(_ address: URI) {
        guard let known = Self.schemes.first(where: { $0.name == address.scheme }), !address.host.isEmpty else {
            return nil
        }
        var scheme = known.name
        let port = address.port ?? known.port
        if port == 0 { return nil }
        // Mail programs say the protocol, and the port tells whether TLS comes first (RFC 8314 §3).
        if let secure = Self.schemes.first(where: { $0.name == scheme + "s" && $0.port == port }) {
            if scheme != "http" { scheme = secure.name }
        }
        self.scheme = scheme
        host = address.host
        self.port = port
        path = address.path.isEmpty ? "/" : address.path
    }

    /// The destination that a program describes in parts, as git does.
    ///
    /// - Parameters:
    ///   - authority: only the host, perhaps with a port.
    ///   - path: the path, with or without a slash in front.
    package init?(scheme: String, authority: String, path: String? = nil) {
        guard !authority.contains(where: { "/?#@\\".contains($0) }),
            let address = URI("\(scheme.lowercased())://\(authority)")
        else { return nil }
        let path = path ?? ""
        guard path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        self.init(address.replacing(path: path.hasPrefix("/") ? path : "/" + path))
    }

    /// Whether the scheme is one of mail, for which the client turns TLS on.
    package static func isMail(_ scheme: String) -> Bool {
        schemes.contains { $0.name == scheme } && !scheme.hasPrefix("http")
    }

    /// Whether a token may travel there at all: not over plain `http`, but to the loopback (RFC 6750 §5.3, RFC 8252
    /// §8.3). Mail programs speak `smtp` and `imap` and turn to TLS before they sign in (RFC 8314 §3).
    package var isProtected: Bool { scheme != "http" || address?.isLoopback == true }

    /// Whether both are at one origin.
    package func isSameOrigin(as other: Destination) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    /// Scheme, host and port, the scheme's own port left out: `https://example.com`, `smtp://mail.example.com`.
    package var description: String { "\(scheme)://\(authority)" }

    /// Host and port as a rule names them.
    package var authority: String {
        let shown = host.contains(":") ? "[\(host)]" : host
        return Self.schemes.contains { $0.name == scheme && $0.port == port } ? shown : "\(shown):\(port)"
    }

    /// The port that a rule without one means.
    package var isAtStandardPort: Bool { Self.schemes.contains { $0.name == scheme && $0.port == port } }

    private var address: URI? { URI("\(scheme)://\(host.contains(":") ? "[\(host)]" : host)") }
}
