package import CredentialCore
package import StrictJSON

/// The metadata of a protected resource (RFC 9728 §2).
package struct ResourceMetadata: Sendable {
    /// The resource identifier, which tokens are asked for with (RFC 8707).
    package var resource: String
    /// The issuers whose tokens it takes, in its order.
    package var issuers: [String]
    /// The scopes it knows.
    package var scopes: [String]
    /// Whether it takes only tokens that are bound to a key (RFC 9449).
    package var demandsBoundTokens: Bool

    /// Reads a metadata document.
    ///
    /// The resource must be the requested address, or the identifier that the well-known place of the document is
    /// made of (RFC 9728 §3.3). Only the document of an origin, or of a parent path, may name that. An API at a
    /// path of a shared host gets no token for the whole host.
    ///
    /// - Parameters:
    ///   - address: the address asked for.
    ///   - place: the address of the document.
    /// - Throws: ``ErrorCode/validationFailed`` for another resource; ``ErrorCode/malformedReply`` without one;
    ///   ``ErrorCode/unsupported`` when it names no issuer or takes no token in a header field.
    package init(_ document: JSONObject, for address: URI, at place: URI) throws(CredentialError) {
        guard let resource = document["resource"]?.string, let named = URI(resource) else {
            throw CredentialError(.malformedReply, "the metadata of \(address.origin) names no resource")
        }
        let own = Self.identifier(of: place)
        let isIdentifier = own != nil && Self.isSame(named.path, own ?? "")
        guard named.origin == address.origin, named.query == nil || named.query == address.query,
            named.fragment == nil, Self.isPart(named.path, of: address.path),
            Self.isSame(named.path, address.path) || isIdentifier
        else {
            throw AddressAuthor.refusal(
                "the metadata of \(address.origin) is for another resource, '\(UntrustedText.shown(resource))'",
                of: resource, by: "the metadata of \(address.origin)", rule: .resource)
        }
        // An empty list says nothing.
        if let methods = document["bearer_methods_supported"]?.array, !methods.isEmpty, !methods.contains("header")
        {
            throw CredentialError(.unsupported, "\(address.origin) does not accept tokens in a header field")
        }
        self.resource = resource
        issuers = (document["authorization_servers"]?.array ?? []).compactMap(\.string)
        scopes = (document["scopes_supported"]?.array ?? []).compactMap(\.string).filter(Scope.isValid)
        demandsBoundTokens = document["dpop_bound_access_tokens_required"]?.bool ?? false
        guard !issuers.isEmpty else {
            throw CredentialError(
                .unsupported, "\(address.origin) does not name a trusted authorization server",
                hint: "define the type by hand: credmgr types add --help")
        }
    }

    private static let root = "/.well-known/oauth-protected-resource"

    /// The path of the resource whose metadata is at a well-known place; `nil` for another place.
    private static func identifier(of place: URI) -> String? {
        guard place.path == root || place.path.hasPrefix(root + "/") else { return nil }
        return String(place.path.dropFirst(root.count))
    }

    private static func isSame(_ first: String, _ second: String) -> Bool {
        first.split(separator: "/").elementsEqual(second.split(separator: "/"))
    }

    /// Returns the possible locations of a resource's metadata, in the order to try (RFC 9728 §3.1).
    package static func locations(of address: URI) -> [URI] {
        var path = address.path
        while path.hasSuffix("/") { path.removeLast() }
        return [path, ""].reduce(into: []) { places, path in
            let place = address.replacing(path: root + path)
            if !places.contains(place) { places.append(place) }
        }
    }

    private static func isPart(_ part: String, of path: String) -> Bool {
        let part = part.split(separator: "/", omittingEmptySubsequences: true)
        return path.split(separator: "/", omittingEmptySubsequences: true).starts(with: part)
            && !part.contains("..") && !part.contains(".")
    }
}
