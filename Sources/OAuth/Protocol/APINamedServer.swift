package import CredentialCore

/// The rule for an authorization server that only an API named: the user has not vouched for it.
///
/// Its metadata can have the authorization page of an honest provider, at which the browser has a session, beside a
/// token endpoint of its own. It would so get a code of that provider (mix-up, RFC 9700 §4.4).
struct APINamedServer {
    /// The issuer that the API named.
    let issuer: URI
    /// The API; `nil` if the type does not name it.
    let api: URI?

    /// The endpoints that receive a code, a token or a secret.
    private static let receivers: [AccountType.Endpoint] = [
        .token, .revocation, .introspection, .userInfo, .deviceAuthorization, .pushedAuthorizationRequest,
        .registration,
    ]

    /// Checks the metadata of the server.
    ///
    /// All endpoints that receive a code, a token or a secret are on one origin, that of the token endpoint: one
    /// server gets the tokens that it issues. The endpoint for registrations receives none of them, and may be on
    /// the issuer's origin.
    ///
    /// - Parameter tokenOrigin: the origin of the token endpoint that the definition names; `nil` if the metadata
    ///   names it.
    /// - Throws: ``ErrorCode/validationFailed``, naming the address, the API, the server and the rule.
    func check(_ metadata: ServerMetadata, tokenOrigin: String? = nil) throws(CredentialError) {
        for endpoint in AccountType.Endpoint.allCases {
            if let place = metadata.endpoints[endpoint] { try checkNetwork(of: place) }
        }
        var home = tokenOrigin ?? metadata.endpoints[.token]?.origin
        for endpoint in Self.receivers {
            guard let place = metadata.endpoints[endpoint] else { continue }
            if endpoint == .registration, place.origin == issuer.origin { continue }
            guard place.origin == home ?? place.origin else {
                throw refused(
                    place, .oneOrigin, "all endpoints of an API's authorization server must be on one origin")
            }
            home = place.origin
        }
        // With iss in the response the code goes only to the server that sent it (RFC 9207).
        if let page = metadata.endpoints[.authorization], !metadata.sendsIssuer { try checkPage(page, metadata) }
    }

    /// Checks a page that is opened when it is needed: that of the device flow, or the one that ends a session and
    /// receives the ID token. A page elsewhere does not stop the other operations.
    ///
    /// - Throws: ``ErrorCode/validationFailed``.
    func check(openedPage page: URI, _ metadata: ServerMetadata) throws(CredentialError) {
        try checkNetwork(of: page)
        try checkPage(page, metadata)
    }

    private func checkPage(_ page: URI, _ metadata: ServerMetadata) throws(CredentialError) {
        guard page.origin == issuer.origin || page.origin == metadata.endpoints[.token]?.origin else {
            throw refused(page, .page, "its page must be on the origin of the issuer or of the token endpoint")
        }
    }

    private func checkNetwork(of place: URI) throws(CredentialError) {
        guard place.named(by: .api(host: api?.host ?? "")).isNamedRightly else {
            throw refused(
                place, .network, "an API on another network must not name an address of this network")
        }
    }

    private func refused(
        _ place: URI, _ rule: AddressAuthor.Rule, _ text: LocalizedMessage
    ) -> CredentialError {
        let named = UntrustedText.shown(issuer.description)
        let name = String(issuer.host.map { $0 == ":" ? "-" : $0 })
        return AddressAuthor.refusal(
            "\(api?.origin ?? "the API") named the authorization server \(named), and the server names "
                + "\(place.origin): \(text)",
            of: place.origin,
            by: LocalizedMessage(verbatim: "the authorization server \(named) of \(api?.origin ?? "an API")"),
            rule: rule,
            hint:
                "if you trust the server, run: "
                + "credmgr types add \(ShellQuoting.word(name)) --issuer \(ShellQuoting.word(named)) --register"
        )
    }
}

extension AccountType {
    /// The rule for the type's authorization server, if only its API named that.
    var apiNamedServer: APINamedServer? {
        guard issuerIsNamedByAPI, let issuer = issuer.flatMap(URI.init) else { return nil }
        return APINamedServer(issuer: issuer, api: apiBase.flatMap(URI.init))
    }

    /// Checks that the metadata of the type's authorization server names only addresses that its author may name.
    ///
    /// - Throws: ``ErrorCode/validationFailed``.
    package func checkAuthor(of metadata: ServerMetadata) throws(CredentialError) {
        guard let rule = apiNamedServer else { return }
        // An endpoint of the definition is the user's word.
        var named = metadata
        for endpoint in endpoints.keys { named.endpoints[endpoint] = nil }
        try rule.check(named, tokenOrigin: endpoints[.token].flatMap(URI.init)?.origin)
    }
}
