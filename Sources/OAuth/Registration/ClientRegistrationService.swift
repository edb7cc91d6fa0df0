package import CredentialCore

/// Registers a client for a type, saves the provider's response, and ends the registration with the type.
package struct ClientRegistrationService: Sendable {
    private let desk: DefinitionContext

    /// Makes a registrar.
    package init(_ desk: DefinitionContext) { self.desk = desk }

    /// Registers clients for a type that is being defined, or that the user has confirmed.
    private func registration(of type: AccountType) -> DynamicClientRegistration {
        DynamicClientRegistration(in: desk.accounts.adapterContext.connected(by: ConnectionSettings(of: type)))
    }

    /// The scopes to begin with if the caller names no scopes: the user's identity and, if the provider ties
    /// refresh tokens to it, `offline_access`.
    package static func usualScope(at metadata: ServerMetadata) -> [String] {
        guard let offered = metadata.scopes else { return metadata.endpoints[.jwks] == nil ? [] : ["openid"] }
        return ["openid", "profile", "email", "offline_access"].filter(offered.contains)
    }

    /// Registers a client for `type`, defines the type with it, and keeps its secrets in the store.
    ///
    /// The redirect URI is pinned: providers that compare it exactly would refuse the free port of another sign-in.
    ///
    /// - Parameter force: whether an existing definition is replaced.
    /// - Returns: the file of the definition.
    /// - Throws: the errors of the registration, the store or the catalog; then the registration is ended again.
    package func define(
        _ type: AccountType, at metadata: ServerMetadata, force: Bool
    ) throws(CredentialError) -> String {
        try desk.catalog.checkFree(type.name, force: force)
        let choice = try desk.store(), registration = registration(of: type)
        var type = type
        let redirectURI = if let own = type.redirectURI { own } else { try freeRedirectURI() }
        let client = try registration.register(
            .init(name: "credmgr", redirectURI: redirectURI, scope: type.scope), at: metadata)
        do throws(CredentialError) {
            type.clientID = client.clientID
            type.redirectURI = redirectURI
            type.clientSecret = client.secret == nil ? nil : .store
            type.tokenEndpointAuthMethod = (client.method ?? (client.secret == nil ? .some(.none) : nil))?.rawValue
            type.registrationClientURI = client.management?.address.description
            try desk.check(type)
            let store = try desk.stores.store(choice.kind)
            if let secret = client.secret {
                try store.write(
                    Array(secret.reveal().utf8), for: item(type, .clientSecret),
                    label: "credmgr: \(type.name) client secret")
            }
            if let token = client.management?.token {
                try store.write(
                    Array(token.reveal().utf8), for: item(type, .registrationToken),
                    label: "credmgr: \(type.name) client registration")
            }
            let path = try desk.put(type, force: force)
            if client.secret != nil || client.management?.token != nil {
                desk.tell(choice, "the client's secret data")
            }
            return path
        } catch {
            // The first trouble is the one to report; a client that stays at the provider can do no harm by itself.
            if let management = client.management {
                try? registration.remove(at: management.address, token: management.token)
            }
            throw error
        }
    }

    /// Ends the registration of a type that is about to be removed, if this program registered it.
    ///
    /// A failure is reported but does not stop the removal: the type is to go.
    ///
    /// - Parameter ownsEarlier: whether the data that credmgr stored under the type's name before belongs to its
    ///   client (``ClientBindings/ownsEarlier(_:)``), as read while there was a definition.
    package func end(_ type: AccountType, ownsEarlier: Bool) {
        guard let place = type.registrationClientURI.flatMap(URI.init)?.named(by: Self.registrar(of: type))
        else { return }
        do throws(CredentialError) {
            try place.checkAuthor(as: "registration_client_uri")
            guard let token = try token(of: type, ownsEarlier: ownsEarlier) else {
                throw CredentialError(.configuration, "the registration access token is missing")
            }
            try registration(of: type).remove(at: place, token: token)
            desk.note("the client \(UntrustedText.shown(type.clientID, limit: 80)) is no longer registered")
        } catch {
            desk.warn("cannot remove the client's registration at \(place.origin): \(error)")
        }
        for kind in StoreKind.allCases {
            for secret in [SecretItem.Kind.registrationToken, .clientSecret] {
                var items = (try? item(type, secret)).map { [$0] } ?? []
                if ownsEarlier { items.append(ClientBindings.earlierItem(secret, of: type)) }
                for item in items { try? desk.stores.store(kind).remove(item) }
            }
        }
    }

    /// The author of the address at which a client is managed: the server that registered the client, as far as the
    /// definition tells.
    private static func registrar(of type: AccountType) -> AddressAuthor {
        let server = type.endpoints[.registration] ?? type.issuer ?? type.endpoints[.token]
        let host = server.flatMap(URI.init)?.host ?? ""
        return type.issuerIsNamedByAPI ? .api(host: host) : .issuer(host: host)
    }

    private func token(of type: AccountType, ownsEarlier: Bool) throws(CredentialError) -> Secret? {
        var failure: CredentialError?
        for kind in StoreKind.allCases {
            do throws(CredentialError) {
                let store = try desk.stores.store(kind)
                let earlier = ClientBindings.earlierItem(.registrationToken, of: type)
                var bytes = try store.read(item(type, .registrationToken))
                if bytes == nil, ownsEarlier { bytes = try store.read(earlier) }
                if let bytes { return Secret(String(decoding: bytes, as: UTF8.self)) }
            } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return nil
    }

    private func item(_ type: AccountType, _ kind: SecretItem.Kind) throws(CredentialError) -> SecretItem {
        try ClientBindings(desk.accounts.machine).item(kind, of: type)
    }

    /// Whether credmgr registered the client of a type. If the provider gave no address to manage it at, the
    /// redirect URI shows it.
    package static func isOwn(_ type: AccountType) -> Bool {
        if type.registrationClientURI != nil { return true }
        guard let redirect = type.redirectURI.flatMap(URI.init) else { return false }
        let parts = redirect.pathComponents
        return LoopbackRedirect.isLoopback(redirect) && parts.count == 2 && parts[0] == "cb"
            && parts[1].utf8.count == 16
    }

    /// A loopback redirect URI with a port that is free now, and a path of its own for each registration. The
    /// response of one server is not valid for the redirect URI of another (RFC 9700 §4.4.2.2).
    private func freeRedirectURI() throws(CredentialError) -> String {
        let path = desk.accounts.machine.random.urlSafeToken().prefix(16)
        guard let loopback = URI("http://127.0.0.1/cb/\(path)") else {
            throw CredentialError(.internalFault, "localhost has no address")
        }
        let receiver = try desk.redirects.listen(at: loopback, for: .sameUser) { _ in }
        defer { receiver.stop() }
        return receiver.redirectURI
    }
}
