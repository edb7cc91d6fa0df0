package import CredentialCore
package import StrictJSON

/// What a provider tells of itself (RFC 8414 §2, OpenID Connect Discovery §3), or what a type says in its place.
package struct ServerMetadata: Sendable {
    /// The issuer; `nil` for a type with explicit endpoints only.
    package var issuer: String?
    /// The endpoints known.
    package var endpoints: [AccountType.Endpoint: WebAddress]
    /// Where endpoints are for clients that authenticate by certificate (RFC 8705 §5).
    package var certificateEndpoints: [AccountType.Endpoint: WebAddress]
    /// Algorithms an id token may be signed with: those the provider lists, without `none` and the symmetric ones;
    /// all supported ones when it lists nothing.
    package var signingAlgorithms: [SignatureAlgorithm]
    /// Client authentication methods, where the provider lists them.
    package var authenticationMethods: [String]?
    /// Algorithms for the client's assertions, where the provider lists them.
    package var assertionAlgorithms: [String]?
    /// Scopes, where the provider lists them.
    package var scopes: [String]?
    /// Whether authorization requests must be pushed (RFC 9126 §5).
    package var demandsPushedRequests: Bool
    /// Whether a URL of a document about the client serves as client id (OAuth Client ID Metadata Document).
    package var takesClientDocuments: Bool
    /// PKCE methods, where the provider lists them.
    package var challengeMethods: [String]?
    /// Whether every authorization response carries `iss` (RFC 9207 §3).
    package var sendsIssuer: Bool

    /// Makes the metadata of a provider about which nothing is known.
    package init(issuer: String? = nil, endpoints: [AccountType.Endpoint: WebAddress] = [:]) {
        self.issuer = issuer
        self.endpoints = endpoints
        signingAlgorithms = SignatureAlgorithm.allCases
        certificateEndpoints = [:]
        demandsPushedRequests = false
        takesClientDocuments = false
        sendsIssuer = false
    }

    /// Reads a metadata document.
    ///
    /// - Parameters:
    ///   - document: the document.
    ///   - issuerRule: checks the document's issuer; ``exactIssuer(_:)`` but for B2C.
    /// - Throws: ``ErrorCode/validationFailed`` for another issuer or an endpoint that is not `https` (or loopback);
    ///   ``ErrorCode/malformedReply`` for one without issuer.
    package init(
        _ document: JSONObject, issuerRule: (String) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        guard let issuer = document["issuer"]?.string, !issuer.isEmpty, issuer.utf8.count <= 2_048 else {
            throw CredentialError(.malformedReply, "the provider's metadata names no issuer")
        }
        try issuerRule(issuer)
        self.init(issuer: issuer)
        for endpoint in AccountType.Endpoint.allCases {
            endpoints[endpoint] = try Self.address(endpoint.rawValue, in: document)
        }
        if let aliases = document["mtls_endpoint_aliases"]?.object {
            for endpoint in AccountType.Endpoint.allCases {
                certificateEndpoints[endpoint] = try Self.address(endpoint.rawValue, in: aliases)
            }
        }
        if let listed = document["id_token_signing_alg_values_supported"]?.array {
            let usable = listed.compactMap(\.string).compactMap(SignatureAlgorithm.init)
            signingAlgorithms = usable.isEmpty ? [.rs256] : usable
        }
        authenticationMethods = document["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string)
        assertionAlgorithms =
            document["token_endpoint_auth_signing_alg_values_supported"]?.array?.compactMap(\.string)
        scopes = document["scopes_supported"]?.array?.compactMap(\.string)
        demandsPushedRequests = document["require_pushed_authorization_requests"]?.bool ?? false
        takesClientDocuments = document["client_id_metadata_document_supported"]?.bool ?? false
        challengeMethods = document["code_challenge_methods_supported"]?.array?.compactMap(\.string)
        sendsIssuer = document["authorization_response_iss_parameter_supported"]?.bool ?? false
    }

    /// The rule that a document's issuer must be the one asked for, byte for byte (RFC 8414 §3.3).
    package static func exactIssuer(_ expected: String) -> (String) throws(CredentialError) -> Void {
        { (issuer: String) throws(CredentialError) in
            guard ConstantTime.equal(issuer, expected) else {
                throw CredentialError(
                    .validationFailed,
                    "the metadata of '\(expected)' is for another issuer, '\(ForeignText.shown(issuer))'",
                    hint: "write the issuer in the account type exactly as the provider does")
            }
        }
    }

    /// Where the metadata of an issuer may be, in the order to try: OpenID Connect Discovery §4 (appended to the
    /// path), then RFC 8414 §3.1 (put before the path).
    package static func locations(of issuer: WebAddress) -> [WebAddress] {
        var path = issuer.path
        while path.hasSuffix("/") { path.removeLast() }
        return [
            issuer.replacing(path: path + "/.well-known/openid-configuration", query: issuer.query),
            issuer.replacing(path: "/.well-known/oauth-authorization-server" + path, query: issuer.query),
        ]
    }

    /// The endpoint.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the provider has none.
    package func required(_ endpoint: AccountType.Endpoint) throws(CredentialError) -> WebAddress {
        guard let address = endpoints[endpoint] else {
            throw CredentialError(
                .unsupported, "the provider has no \(endpoint.rawValue)",
                hint: "if it has one, write \(endpoint.rawValue) into the account type")
        }
        return address
    }

    private static func address(_ name: String, in document: JSONObject) throws(CredentialError) -> WebAddress? {
        guard let value = document[name], value != .null else { return nil }
        guard let text = value.string, let address = WebAddress(text), address.isWeb, address.isSecure,
            address.fragment == nil
        else {
            throw CredentialError(
                .validationFailed, "the provider's metadata has a \(name) that is not a URL with https")
        }
        return address
    }
}
