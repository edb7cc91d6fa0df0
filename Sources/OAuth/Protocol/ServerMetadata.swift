public import CredentialCore
public import StrictJSON

/// The metadata of a provider (RFC 8414 §2, OpenID Connect Discovery §3), or the statements of a type in its place.
public struct ServerMetadata: Sendable {
    /// The issuer; `nil` for a type with explicit endpoints only.
    public var issuer: String?
    /// The endpoints known.
    public var endpoints: [AccountType.Endpoint: URI]
    /// The endpoints for clients that authenticate by certificate (RFC 8705 §5).
    public var certificateEndpoints: [AccountType.Endpoint: URI]
    /// Algorithms an ID token may be signed with: those the provider lists, without `none` and the symmetric ones;
    /// all supported ones when it has no list.
    public var signingAlgorithms: [SignatureAlgorithm]
    /// Client authentication methods, if the provider lists them.
    public var authenticationMethods: [String]?
    /// Algorithms for the client's assertions, if the provider lists them.
    public var assertionAlgorithms: [String]?
    /// Scopes, if the provider lists them.
    public var scopes: [String]?
    /// Whether authorization requests must be pushed (RFC 9126 §5).
    public var demandsPushedRequests: Bool
    /// Whether a URL of a document about the client serves as client id (OAuth Client ID Metadata Document).
    public var takesClientDocuments: Bool
    /// PKCE methods, if the provider lists them.
    public var challengeMethods: [String]?
    /// Whether every authorization response carries `iss` (RFC 9207 §3).
    public var sendsIssuer: Bool
    /// The values of `prompt`, if the provider lists them (Initiating User Registration via OpenID Connect §4.1).
    public var prompts: [String]?

    /// Why endpoints that the document names cannot be used.
    private var unusable: [AccountType.Endpoint: CredentialError] = [:]
    /// The same for the endpoints in ``certificateEndpoints``.
    private var unusableForCertificates: [AccountType.Endpoint: CredentialError] = [:]

    /// Makes the metadata of a provider without any known fact.
    public init(issuer: String? = nil, endpoints: [AccountType.Endpoint: URI] = [:]) {
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
    /// An endpoint that cannot be used is left out; ``usable(_:)`` and ``required(_:)`` refuse it. The token
    /// endpoint is necessary for every flow, so an unusable one is refused here.
    ///
    /// - Parameters:
    ///   - document: the document.
    ///   - source: the URL of the document, as the user or API that named the issuer gave it; the document's issuer
    ///     for `nil`.
    ///   - issuerRule: checks the document's issuer; ``exactIssuer(_:)`` but for B2C.
    /// - Throws: ``ErrorCode/validationFailed`` for another issuer or a token endpoint that is not `https` (or
    ///   loopback); ``ErrorCode/malformedReply`` for one without issuer.
    public init(
        _ document: JSONObject, from source: URI? = nil, issuerRule: (String) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        guard let issuer = document["issuer"]?.string, !issuer.isEmpty, issuer.utf8.count <= 2_048 else {
            throw CredentialError(.malformedReply, "the provider's metadata names no issuer")
        }
        try issuerRule(issuer)
        self.init(issuer: issuer)
        let source = source ?? URI(issuer)
        let author =
            source?.author == .user
            ? AddressAuthor.issuer(host: source?.host ?? "") : source?.author ?? .issuer(host: "")
        let place: LocalizedMessage = "the metadata of \(UntrustedText.shown(issuer))"
        (endpoints, unusable) = Self.addresses(in: document, of: place, author)
        if let fault = unusable[.token] { throw fault }
        if let aliases = document["mtls_endpoint_aliases"]?.object {
            (certificateEndpoints, unusableForCertificates) = Self.addresses(in: aliases, of: place, author)
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
        prompts = document["prompt_values_supported"]?.array?.compactMap(\.string)
        sendsIssuer = document["authorization_response_iss_parameter_supported"]?.bool ?? false
    }

    /// The rule that a document's issuer must be the one asked for, byte for byte (RFC 8414 §3.3).
    public static func exactIssuer(_ expected: String) -> (String) throws(CredentialError) -> Void {
        { (issuer: String) throws(CredentialError) in
            guard ConstantTime.equal(issuer, expected) else {
                // The template of Microsoft's common metadata is no issuer: each tenant's tokens name the tenant.
                let isTemplate = issuer.contains("{") || expected.contains("{")
                throw AddressAuthor.refusal(
                    "the metadata of '\(expected)' is for another issuer, '\(UntrustedText.shown(issuer))'",
                    of: issuer, by: "the metadata of \(expected)", rule: .issuer,
                    hint: isTemplate
                        ? "replace the part in braces in the issuer with your tenant ID"
                        : "write the issuer in the account type exactly as the provider does")
            }
        }
    }

    /// How much the issuer of a document may differ from the one that it was asked for.
    public enum IssuerSpelling: Sendable {
        /// Not at all: a definition names it (RFC 8414 §3.3).
        case exact
        /// By the slash of a bare origin: an API names it.
        case ofAPI
        /// By slashes at its end: the user has just written it, and the document's spelling goes into the
        /// definition.
        case ofUser
    }

    /// The rule for an issuer in a spelling.
    public static func issuerRule(
        _ expected: String, _ spelling: IssuerSpelling
    ) -> (String) throws(CredentialError) -> Void {
        switch spelling {
        case .exact: exactIssuer(expected)
        case .ofAPI: namedIssuer(expected)
        case .ofUser:
            { (issuer: String) throws(CredentialError) in
                if withoutSlashes(issuer) != withoutSlashes(expected) { try exactIssuer(expected)(issuer) }
            }
        }
    }

    /// An issuer without the slashes at its end.
    public static func withoutSlashes(_ issuer: String) -> String {
        var issuer = issuer
        while issuer.hasSuffix("/") { issuer.removeLast() }
        return issuer
    }

    /// The rule for an issuer that another party names: for a bare origin, `https://as.example` and
    /// `https://as.example/` are one. Their well-known addresses are the same, and some libraries add the slash to
    /// every URL they write. All else is compared as by ``exactIssuer(_:)``.
    public static func namedIssuer(_ expected: String) -> (String) throws(CredentialError) -> Void {
        { (issuer: String) throws(CredentialError) in
            if isSameIssuer(issuer, expected) { return }
            try exactIssuer(expected)(issuer)
        }
    }

    /// Whether two issuers are the same, the slash of a bare origin forgiven.
    public static func isSameIssuer(_ one: String, _ other: String) -> Bool {
        func withoutRootSlash(_ issuer: String) -> String {
            guard issuer.hasSuffix("/"), let address = URI(issuer), address.path == "/",
                address.query == nil, address.fragment == nil
            else { return issuer }
            return String(issuer.dropLast())
        }
        return ConstantTime.equal(withoutRootSlash(one), withoutRootSlash(other))
    }

    /// Returns the possible locations of an issuer's metadata, in the order to try. These are OpenID Connect
    /// Discovery §4 (appended to the path), RFC 8414 §3.1 (inserted before the path), and OpenID's document
    /// inserted there, too (RFC 8414 §5).
    public static func locations(of issuer: URI) -> [URI] {
        var path = issuer.path
        while path.hasSuffix("/") { path.removeLast() }
        return [
            path + "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server" + path,
            "/.well-known/openid-configuration" + path,
        ].reduce(into: []) { places, path in
            let place = issuer.replacing(path: path, query: issuer.query)
            if !places.contains(place) { places.append(place) }
        }
    }

    /// Whether each endpoint that the document names can be used.
    var isSound: Bool { unusable.isEmpty && unusableForCertificates.isEmpty }

    /// Adds from another document of the same issuer the entries that this one lacks.
    mutating func complete(by other: ServerMetadata?) {
        guard let other else { return }
        endpoints.merge(other.endpoints) { own, _ in own }
        unusable.merge(other.unusable) { own, _ in own }
        certificateEndpoints.merge(other.certificateEndpoints) { own, _ in own }
        unusableForCertificates.merge(other.unusableForCertificates) { own, _ in own }
        takesClientDocuments = takesClientDocuments || other.takesClientDocuments
    }

    /// Whether codes are safe with it: PKCE by S256, if the provider lists its methods; `nil` if it does not, as
    /// many do that have it.
    public var protectsCodes: Bool? {
        guard let challengeMethods, !challengeMethods.isEmpty else { return nil }
        return challengeMethods.contains("S256")
    }

    /// Refuses a provider that says it cannot do PKCE by S256 (RFC 7636 §4.2).
    ///
    /// - Throws: ``ErrorCode/unsupported``.
    public func checkCodesAreSafe() throws(CredentialError) {
        if protectsCodes == false {
            throw CredentialError(
                .unsupported, "the provider does not support PKCE with S256, which protects codes from theft")
        }
    }

    /// Takes the endpoints for clients that authenticate by certificate, but not those in `own`.
    mutating func preferCertificateEndpoints(except own: [AccountType.Endpoint: String]) {
        for endpoint in AccountType.Endpoint.allCases where own[endpoint] == nil {
            if let address = certificateEndpoints[endpoint] {
                endpoints[endpoint] = address
            } else if let fault = unusableForCertificates[endpoint] {
                (endpoints[endpoint], unusable[endpoint]) = (nil, fault)
            }
        }
    }

    /// The endpoint; `nil` when the provider does not have it.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when it names one that cannot be used.
    public func usable(_ endpoint: AccountType.Endpoint) throws(CredentialError) -> URI? {
        if let address = endpoints[endpoint] { return address }
        if let fault = unusable[endpoint] { throw fault }
        return nil
    }

    /// The endpoint.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the provider does not have it; ``ErrorCode/validationFailed`` when
    ///   it names one that cannot be used.
    public func required(_ endpoint: AccountType.Endpoint) throws(CredentialError) -> URI {
        guard let address = try usable(endpoint) else {
            throw CredentialError(
                .unsupported, "the provider has no \(endpoint.rawValue)",
                hint: "set \(endpoint.rawValue) in the account type, if the provider has this endpoint")
        }
        return address
    }

    private static func addresses(
        in document: JSONObject, of place: LocalizedMessage, _ author: AddressAuthor
    ) -> (usable: [AccountType.Endpoint: URI], unusable: [AccountType.Endpoint: CredentialError]) {
        var usable: [AccountType.Endpoint: URI] = [:]
        var unusable: [AccountType.Endpoint: CredentialError] = [:]
        for endpoint in AccountType.Endpoint.allCases {
            do throws(CredentialError) {
                usable[endpoint] = try address(endpoint.rawValue, in: document, of: place, author)
            } catch {
                unusable[endpoint] = error
            }
        }
        return (usable, unusable)
    }

    /// The address of a member, named by `author`.
    private static func address(
        _ name: String, in document: JSONObject, of place: LocalizedMessage, _ author: AddressAuthor
    ) throws(CredentialError) -> URI? {
        guard let value = document[name], value != .null else { return nil }
        guard let text = value.string, let address = URI(text)?.named(by: author), address.isWeb,
            address.isSecure,
            address.fragment == nil
        else { throw AddressAuthor.refusal(ofUnprotected: value.string ?? value.text(), as: name, in: place) }
        try address.checkAuthor(as: name, in: place)
        return address
    }
}
