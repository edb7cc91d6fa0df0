package import CredentialCore

/// Redirect URIs: their kinds, and whether a URL that came back is one's own.
package enum RedirectURI {
    /// The out-of-band redirect: the user copies the code that the provider shows.
    package static let outOfBand = "urn:ietf:wg:oauth:2.0:oob"

    /// Whether `text` is an out-of-band redirect, `urn:ietf:wg:oauth:2.0:oob` or `…:oob:auto`.
    package static func isOutOfBand(_ text: String) -> Bool {
        let text = text.lowercased()
        return text == outOfBand || text.hasPrefix(outOfBand + ":")
    }

    /// Whether `received` came to the redirect `expected`: scheme and host in any case, path and port exactly, the
    /// query of `expected` first. For a loopback redirect the port is free (RFC 8252 §7.3), and `localhost`,
    /// `127.0.0.1` and `::1` are the same machine.
    package static func matches(_ received: URI, _ expected: URI) -> Bool {
        guard received.scheme == expected.scheme else { return false }
        if expected.scheme == "http", expected.isLoopback {
            guard received.isLoopback else { return false }
        } else {
            guard received.host == expected.host, received.effectivePort == expected.effectivePort else {
                return false
            }
        }
        guard ConstantTime.equal(path(of: received), path(of: expected)) else { return false }
        guard let query = expected.query, !query.isEmpty else { return true }
        guard let own = received.query?.utf8 else { return false }
        return own.elementsEqual(query.utf8) || own.starts(with: (query + "&").utf8)
    }

    /// A browser asks for `/` if a web URL has no path.
    private static func path(of address: URI) -> String {
        address.isWeb && address.path.isEmpty ? "/" : address.path
    }
}
