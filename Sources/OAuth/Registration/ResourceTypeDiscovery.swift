package import CredentialCore

/// The account types of `login --resource`: found by the resource, or defined from its metadata, and defined again
/// when the resource moves to another authorization server.
package struct ResourceTypeDiscovery: Sendable {
    private let desk: DefinitionContext

    /// Looks types up and defines them with the services of a desk.
    package init(_ desk: DefinitionContext) { self.desk = desk }

    /// Asks servers about a type that is there; about one that is to be, for `nil`.
    private func discovery(of type: AccountType?) -> ResourceDiscovery {
        ResourceDiscovery(in: type.map(desk.accounts.adapterContext(of:)) ?? desk.accounts.adapterContext)
    }

    /// The type for a resource.
    ///
    /// - Parameters:
    ///   - url: the resource, or an address below it.
    ///   - name: the name of the type; `nil` for one made of the host.
    ///   - clientID: the client to sign in with; `nil` to register one.
    /// - Returns: the type, and whether it was defined just now.
    /// - Throws: ``ErrorCode/usage`` for an invalid address, or a name that is taken; the errors of the discovery,
    ///   the registration or the store.
    package func type(
        for url: String, named name: String?, clientID: String?
    ) throws(CredentialError) -> (type: AccountType, isNew: Bool) {
        guard let address = URI(url), address.isWeb, address.isSecure, address.fragment == nil else {
            throw CredentialError(
                .usage, "--resource must be an https URL without a fragment", hint: "credmgr login --help")
        }
        let chosen = try Identifier.checked(name ?? Self.name(of: address), kind: .accountType)
        guard try desk.catalog.isDefined(chosen) else {
            if let clientID { try Self.check(clientID) }
            let finding = try find(address, clientID: clientID)
            let type = try define(
                AccountType(name: chosen, adapter: "oauth2", clientID: ""), from: finding, at: address,
                clientID: clientID)
            return (type, true)
        }
        let type = try desk.type(named: chosen)
        guard name != nil || Self.covers(type, address) else {
            throw CredentialError(
                .usage, "account type '\(chosen)' is not for \(address.origin)\(address.path)",
                hint: "choose another name with --type")
        }
        return (type, false)
    }

    /// The type for a resource, if there is one.
    ///
    /// - Throws: ``ErrorCode/usage``, ``ErrorCode/configuration``.
    package func defined(for url: String, named name: String?) throws(CredentialError) -> AccountType? {
        guard let address = URI(url) else { return nil }
        let chosen = try Identifier.checked(name ?? Self.name(of: address), kind: .accountType)
        return try desk.catalog.isDefined(chosen) ? desk.type(named: chosen) : nil
    }

    /// The type as its API has it now, if the sign-in is for the API or the type was defined from the API's
    /// metadata; else as it is. To be asked before every sign-in: an API may have moved.
    ///
    /// - Parameters:
    ///   - url: the resource that the sign-in is for, if one is named.
    ///   - clientID: the client to sign in with; `nil` for the type's own.
    /// - Throws: as ``type(for:named:clientID:)``.
    package func current(
        _ type: AccountType, for url: String?, clientID: String?
    ) throws(CredentialError) -> AccountType {
        if let address = url.flatMap(URI.init) {
            return Self.covers(type, address) ? try followed(type, to: address, clientID: clientID) : type
        }
        guard Self.isDefinedByAPI(type), let address = type.apiBase.flatMap(URI.init) else { return type }
        return try followed(type, to: address, clientID: nil)
    }

    /// A client id that is a URL has to be that of a document.
    private static func check(_ clientID: String) throws(CredentialError) {
        guard clientID.contains("://"), let problem = ClientIDMetadataDocument.problem(of: clientID) else { return }
        throw CredentialError(.usage, "--client-id '\(UntrustedText.shown(clientID))' \(problem)")
    }

    /// Whether a type is for the resource at an address.
    package static func covers(_ type: AccountType, _ address: URI) -> Bool {
        guard let resource = (type.resource ?? type.apiBase).flatMap(URI.init),
            resource.origin == address.origin
        else { return false }
        return address.pathComponents.starts(with: resource.pathComponents)
    }

    /// Whether the API itself told how a type is: then its resource indicator is the API's own name.
    private static func isDefinedByAPI(_ type: AccountType) -> Bool {
        type.adapter == "oauth2" && type.resource != nil && type.resource == type.apiBase
    }

    /// Whether a type could be defined again without losing settings that only its author knows.
    private static func holdsNothingByHand(_ type: AccountType) -> Bool {
        type.flow == nil && type.privateKey == nil && type.identityToken == nil && type.identityProvider == nil
            && type.tlsClientCertificate == nil && type.authorizeParameters.isEmpty && type.tokenParameters.isEmpty
            && type.headers.isEmpty
    }

    /// Returns the requirements of a resource. A server that does not list PKCE may not check it, and the Model
    /// Context Protocol has clients refuse such a server. But many servers support PKCE without listing it, so
    /// credmgr only warns.
    private func find(
        _ address: URI, of type: AccountType? = nil, clientID: String?
    ) throws(CredentialError) -> ResourceDiscovery.DiscoveredResource {
        let finding = try discovery(of: type).find(
            address, preferring: type?.issuer, needs: clientID == nil ? [.registration] : [])
        if let issuer = finding.server.issuer.flatMap(URI.init) {
            try APINamedServer(issuer: issuer, api: address).check(finding.server)
        }
        try finding.server.checkCodesAreSafe()
        if !finding.isGuessed, finding.server.protectsCodes == nil {
            desk.warn(
                "\(UntrustedText.shown(finding.server.issuer ?? address.origin)) does not announce PKCE (S256): "
                    + "without PKCE, an attacker can sign in with a stolen code")
        }
        return finding
    }

    // MARK: Moves

    /// Why a type's tokens are refused for good, if its API accepts those of another authorization server by now.
    ///
    /// - Parameter response: the refusal.
    package static func moved(
        _ type: AccountType, _ address: URI, _ response: HTTPResponse, in context: AdapterContext
    ) throws(CredentialError) -> CredentialError? {
        guard isDefinedByAPI(type), covers(type, address), let issuer = type.issuer else { return nil }
        let challenge = AuthenticationChallenge.parse(response.values(of: "www-authenticate")).first {
            $0.parameters["resource_metadata"] != nil
        }
        let issuers: [String]
        do throws(CredentialError) {
            issuers = try ResourceDiscovery(in: context).issuers(of: address, challenge)
        } catch {
            if error.code == .validationFailed { throw error }
            context.note("whether the API has moved is not known: \(error)")
            return nil
        }
        guard let first = issuers.first, !issuers.contains(where: { ServerMetadata.isSameIssuer($0, issuer) })
        else {
            return nil
        }
        return CredentialError(
            .signInRequired,
            "\(address.origin) now accepts tokens of another authorization server, \(UntrustedText.shown(first))",
            hint: "credmgr login --resource \(ShellQuoting.word(type.resource ?? "")) --type \(type.name)")
    }

    /// The type, defined again if its API names its issuer no more: a client belongs to the server that gave it,
    /// and no other server sees its ID, its secret or a refresh token.
    private func followed(
        _ type: AccountType, to address: URI, clientID: String?
    ) throws(CredentialError) -> AccountType {
        let finding: ResourceDiscovery.DiscoveredResource
        do throws(CredentialError) {
            finding = try find(address, of: type, clientID: clientID)
        } catch {
            guard error.code == .unsupported || error.code == .temporary else { throw error }
            desk.detail("signing in by the definition of \(type.name) as it is: \(error)")
            return type
        }
        let isSame = finding.isGuessed || finding.server.issuer == type.issuer
        guard !isSame || clientID.map({ $0 != type.clientID }) ?? false else { return type }
        guard Self.holdsNothingByHand(type) else {
            throw CredentialError(
                .configuration,
                "\(address.origin) accepts tokens of "
                    + "\(UntrustedText.shown(finding.server.issuer ?? address.origin)); account type \(type.name) "
                    + "has settings of your own for \(UntrustedText.shown(type.issuer ?? type.clientID))",
                hint: "credmgr types show \(ShellQuoting.word(type.name))")
        }
        var moved = AccountType(name: type.name, adapter: "oauth2", clientID: "")
        // A registration at another server gets another redirect path (RFC 9700 §4.4.2.2).
        if !ClientRegistrationService.isOwn(type) { moved.redirectURI = type.redirectURI }
        moved.keychainGroup = type.keychainGroup
        (moved.caCertificate, moved.proxy) = (type.caCertificate, type.proxy)
        // A document about the client is good at every server that takes such clients.
        let portable = ClientIDMetadataDocument.isAddress(type.clientID) && finding.server.takesClientDocuments
        let defined = try define(
            moved, from: finding, at: address, clientID: clientID ?? (portable ? type.clientID : nil), force: true)
        if !isSame {
            desk.note(
                "\(address.origin) has moved from \(UntrustedText.shown(type.issuer ?? type.name)) to "
                    + "\(UntrustedText.shown(defined.issuer ?? defined.name)); accounts of the previous server do "
                    + "not work there"
            )
        }
        return defined
    }

    // MARK: Definition

    private func define(
        _ draft: AccountType, from finding: ResourceDiscovery.DiscoveredResource, at address: URI,
        clientID: String?,
        force: Bool = false
    ) throws(CredentialError) -> AccountType {
        var type = draft
        // A document about the client before a registration, if the provider accepts such clients.
        let clientID =
            clientID ?? (finding.server.takesClientDocuments ? desk.accounts.configuration.clientMetadataURL : nil)
        type.clientID = clientID ?? "unregistered"
        type.issuer = finding.server.issuer
        type.issuerIsNamedByAPI = type.issuer != nil
        if finding.isGuessed {
            for endpoint in [AccountType.Endpoint.authorization, .token] {
                type.endpoints[endpoint] = finding.server.endpoints[endpoint]?.description
            }
        }
        // Before there was resource metadata, servers did not expect the parameter.
        type.resource = finding.resource?.resource
        type.apiBase = finding.resource?.resource ?? address.description
        type.scope = Self.scope(finding)
        type.bindsAccessTokens = finding.challengesBoundTokens || finding.resource?.demandsBoundTokens ?? false
        type.keychainGroup = desk.group ?? draft.keychainGroup
        let path = try add(type, finding, hasClient: clientID != nil, force: force)
        desk.note("account type \(type.name) is defined in \(path)")
        return try desk.type(named: type.name)
    }

    private func add(
        _ type: AccountType, _ finding: ResourceDiscovery.DiscoveredResource, hasClient: Bool, force: Bool
    ) throws(CredentialError) -> String {
        guard !hasClient else {
            var type = type
            try describeClient(of: &type, at: finding.server)
            try desk.check(type)
            return try desk.put(type, force: force)
        }
        do throws(CredentialError) {
            return try ClientRegistrationService(desk).define(type, at: finding.server, force: force)
        } catch {
            guard finding.isGuessed, error.code == .configuration, !error.isBeforeRequest else { throw error }
            throw CredentialError(
                .unsupported, "\(type.apiBase ?? "the API") does not report how to get a token (RFC 9728)",
                hint: "define the type by hand: credmgr types add --help",
                details: [error.message] + error.details)
        }
    }

    /// Has a client that is known by a document answered at a redirect that this lists.
    ///
    /// - Parameter server: the provider's metadata, if it is known.
    /// - Throws: ``ErrorCode/configuration`` for a document that no provider will take.
    package func describeClient(of type: inout AccountType, at server: ServerMetadata?) throws(CredentialError) {
        guard type.clientID.hasPrefix("https://") else { return }
        if let server, !server.takesClientDocuments {
            desk.warn("the provider does not announce support for a URL as client ID")
        }
        guard type.redirectURI == nil, ClientIDMetadataDocument.isAddress(type.clientID) else { return }
        type.redirectURI = try ClientIDMetadataDocument.fetch(
            type.clientID, in: desk.accounts.adapterContext.connected(by: ConnectionSettings(of: type)))?
            .loopbackRedirect
    }

    /// Returns the scopes that the challenge requested, else those that the resource lists. Without either it
    /// returns no scope at all: any scope would narrow the server's own default. In addition, the scopes that
    /// identify the user and let the sign-in be refreshed, if the server has them.
    private static func scope(_ finding: ResourceDiscovery.DiscoveredResource) -> [String] {
        let wanted = finding.challengedScope.isEmpty ? finding.resource?.scopes ?? [] : finding.challengedScope
        guard !wanted.isEmpty else { return [] }
        return Scope.distinct(
            wanted + ["openid", "offline_access"].filter { finding.server.scopes?.contains($0) ?? false })
    }

    /// A name of the host, with the port if the address has one.
    private static func name(of address: URI) -> String {
        let host = address.host.map { $0 == ":" ? "-" : $0 }
        return String(host) + (address.port.map { "-\($0)" } ?? "")
    }
}
