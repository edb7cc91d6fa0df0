/// The rules for a header field of a request (RFC 9110 §5).
package enum HTTPField {
    /// Fields that the transport writes itself: a second one would let a server and a proxy see different requests.
    private static let reserved: Set<String> = ["content-length", "transfer-encoding", "expect", "connection"]

    /// Checks a field.
    ///
    /// - Throws: ``ErrorCode/usage`` for text that is not a field, and for a field that is the transport's.
    package static func check(_ name: String, _ value: String) throws(CredentialError) {
        let shown = UntrustedText.shown(name, limit: 40)
        guard isToken(name) else { throw CredentialError(.usage, "\(shown) is not a valid name of a header field") }
        guard !reserved.contains(name.lowercased()) else {
            throw CredentialError(.usage, "the header field \(shown) cannot be set")
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw CredentialError(.usage, "the header field \(shown) contains a control character")
        }
    }

    /// Whether `text` is a token of RFC 9110 §5.6.2.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
