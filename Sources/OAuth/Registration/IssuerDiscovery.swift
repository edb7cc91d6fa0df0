package import CredentialCore

/// Finds the authorization server that the user names, by whichever address of it: the issuer, with a slash too
/// many or too few, or the address of its metadata. A definition gets the issuer as the provider spells it.
package struct IssuerDiscovery: Sendable {
    private let context: AdapterContext
    private let source = MetadataFetcher()

    /// Makes it for a machine.
    package init(in context: AdapterContext) { self.context = context }

    /// The parts of a well-known address (OpenID Connect Discovery §4, RFC 8414 §3.1).
    private static let documents = [
        "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
    ]

    /// The issuer that an address is about: that of the document for the address of a metadata document, else the
    /// address itself.
    package static func issuer(of text: String) -> String {
        guard let address = URI(text), address.query == nil, address.fragment == nil else { return text }
        for document in documents {
            if address.path.hasSuffix(document) {
                return address.origin + String(address.path.dropLast(document.count))
            }
            if address.path.hasPrefix(document + "/") {
                return address.origin + String(address.path.dropFirst(document.count))
            }
        }
        return text
    }

    /// Whether two texts of users or definitions name one issuer, slashes at the end forgiven.
    package static func isSame(_ one: String, _ other: String) -> Bool {
        ServerMetadata.withoutSlashes(issuer(of: one)) == ServerMetadata.withoutSlashes(issuer(of: other))
    }

    /// The metadata of the server that the user names; its issuer is spelled as the provider spells it.
    ///
    /// - Parameters:
    ///   - text: the issuer, or the address of its metadata.
    ///   - needs: endpoints that are wanted.
    /// - Throws: ``ErrorCode/usage`` for a text that is no URL of a server; as
    ///   ``MetadataFetcher/metadata(of:_:needs:spelling:in:)``.
    package func server(
        _ text: String, needs: [AccountType.Endpoint] = []
    ) throws(CredentialError) -> ServerMetadata {
        let issuer = Self.issuer(of: text)
        guard let address = URI(issuer), address.isWeb, address.isSecure, address.query == nil,
            address.fragment == nil
        else {
            throw CredentialError(
                .usage, "'\(UntrustedText.shown(issuer, limit: 200))' is not the https URL of an issuer")
        }
        return try source.metadata(of: issuer, address, needs: needs, spelling: .ofUser, in: context)
    }

    /// Says that a definition gets another spelling than the user gave; `nil` if it gets the same.
    package static func correction(of given: String, to issuer: String) -> LocalizedMessage? {
        if given == issuer { return nil }
        return
            "the issuer is \(UntrustedText.shown(issuer, limit: 200)), not \(UntrustedText.shown(given, limit: 200))"
    }
}
