package import CredentialCore
package import StrictJSON

/// What a protected resource tells of itself (RFC 9728 §2).
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
    /// The resource must be the address asked for (RFC 9728 §3.3), or a part of its path: an API names itself once
    /// for all its addresses. It cannot be of another origin, so no token asked for by it goes elsewhere.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` for another resource; ``ErrorCode/malformedReply`` without one;
    ///   ``ErrorCode/unsupported`` when it names no issuer or takes no token in a header field.
    package init(_ document: JSONObject, for address: WebAddress) throws(CredentialError) {
        guard let resource = document["resource"]?.string, let named = WebAddress(resource) else {
            throw CredentialError(.malformedReply, "the metadata of \(address.origin) names no resource")
        }
        guard named.origin == address.origin, named.query == nil || named.query == address.query,
            Self.isPart(named.path, of: address.path), named.fragment == nil
        else {
            throw CredentialError(
                .validationFailed,
                "the metadata of \(address.origin) is for another resource, '\(ForeignText.shown(resource))'")
        }
        if let methods = document["bearer_methods_supported"]?.array, !methods.contains("header") {
            throw CredentialError(.unsupported, "\(address.origin) takes no token in a header field")
        }
        self.resource = resource
        issuers = (document["authorization_servers"]?.array ?? []).compactMap(\.string)
        scopes = (document["scopes_supported"]?.array ?? []).compactMap(\.string).filter(Scope.isValid)
        demandsBoundTokens = document["dpop_bound_access_tokens_required"]?.bool ?? false
        guard !issuers.isEmpty else {
            throw CredentialError(
                .unsupported, "\(address.origin) does not say which authorization server it trusts",
                hint: "define the type by hand: credmgr types add --help")
        }
    }

    /// Where the metadata of a resource may be, in the order to try (RFC 9728 §3.1).
    package static func locations(of address: WebAddress) -> [WebAddress] {
        var path = address.path
        while path.hasSuffix("/") { path.removeLast() }
        let root = "/.well-known/oauth-protected-resource"
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
