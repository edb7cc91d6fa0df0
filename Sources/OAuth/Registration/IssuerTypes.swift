package import CredentialCore

/// The account types of `login URL`: found by issuer and client, or defined from the issuer's metadata.
package struct IssuerTypes: Sendable {
    private let desk: DefinitionContext

    /// Looks types up and defines them with the services of a desk.
    package init(_ desk: DefinitionContext) { self.desk = desk }

    /// The client that a sign-in is to use.
    package enum Client: Sendable {
        /// The client of whichever type is there.
        case any
        /// The client with this ID.
        case id(String)
        /// A client that credmgr registers.
        case registered
    }

    /// The types for an issuer and a client. A definition applies only if the issuer alone decides the source of
    /// its tokens: an imported one may name the issuer and send the code to another server.
    ///
    /// - Parameters:
    ///   - url: the issuer, or the address of its metadata.
    ///   - name: the only type that may be meant.
    /// - Throws: ``ErrorCode/usage`` if the type with that name is for another issuer or client; as
    ///   ``AccountTypeCatalog/entries()``.
    package func defined(
        for url: String, _ client: Client, named name: String?
    ) throws(CredentialError) -> [AccountType] {
        let types = try desk.catalog.entries().compactMap { entry -> AccountType? in
            guard case .success(let type) = entry.type, type.adapter == "oauth2", type.endpoints.isEmpty,
                !type.issuerIsNamedByAPI, let issuer = type.issuer, IssuerDiscovery.isSame(issuer, url)
            else { return nil }
            if let group = desk.group, group != type.keychainGroup { return nil }
            switch client {
            case .any: return type
            case .id(let id): return type.clientID == id ? type : nil
            case .registered: return ClientRegistrationService.isOwn(type) ? type : nil
            }
        }
        if let name, try desk.catalog.isDefined(Identifier.checked(name, kind: .accountType)) {
            guard let type = types.first(where: { $0.name == name }) else {
                throw CredentialError(
                    .usage, "account type '\(name)' is for another issuer or client",
                    hint: "choose another name with --name")
            }
            return [type]
        }
        return types
    }

    /// Defines a type for an issuer.
    ///
    /// - Parameters:
    ///   - url: the issuer, or the address of its metadata.
    ///   - name: the name of the type; `nil` for one made of the host.
    ///   - scope: the scopes of the type; empty for the usual ones.
    ///   - registering: the command line that has a client registered.
    /// - Throws: ``ErrorCode/usage`` without a client; the errors of the discovery, the registration and the
    ///   catalog.
    package func define(
        for url: String, _ client: Client, named name: String?, scope: [String], registering: String
    ) throws(CredentialError) -> AccountType {
        var needs: [AccountType.Endpoint] = [.authorization]
        if case .registered = client { needs.append(.registration) }
        let server = try IssuerDiscovery(in: desk.accounts.adapterContext).server(url, needs: needs)
        let issuer = server.issuer ?? url
        let chosen = if let name { name } else { try freeName(Self.name(of: issuer)) }
        var type = AccountType(name: chosen, adapter: "oauth2", clientID: "unregistered")
        type.issuer = issuer
        type.scope = scope.isEmpty ? ClientRegistrationService.usualScope(at: server) : scope
        if let group = desk.group { type.keychainGroup = group }
        let document = server.takesClientDocuments ? desk.accounts.configuration.clientMetadataURL : nil
        let path: String
        switch (client, document) {
        case (.registered, _):
            tell(url, issuer)
            path = try ClientRegistrationService(desk).define(type, at: server, force: false)
            type = try desk.type(named: type.name)
        case (.id(let id), _), (.any, let id?):
            if id.contains("://"), let problem = ClientIDMetadataDocument.problem(of: id) {
                throw CredentialError(.usage, "--client-id '\(UntrustedText.shown(id))' \(problem)")
            }
            type.clientID = id
            try ResourceTypeDiscovery(desk).describeClient(of: &type, at: server)
            try desk.check(type)
            tell(url, issuer)
            path = try desk.put(type, force: false, by: .user)
        case (.any, nil): throw Self.noClient(at: issuer, server, registering)
        }
        desk.note("account type \(type.name) is defined in \(path)")
        return type
    }

    private func tell(_ url: String, _ issuer: String) {
        if let text = IssuerDiscovery.correction(of: url, to: issuer) { desk.note(text) }
    }

    private static func noClient(
        at issuer: String, _ server: ServerMetadata, _ command: String
    ) -> CredentialError {
        CredentialError(
            .usage, "--client-id is missing, and no account type is defined for \(UntrustedText.shown(issuer))",
            hint: server.endpoints[.registration] == nil
                ? "register a client at the provider, then set --client-id"
                : "register a client: \(command)")
    }

    /// The first of `NAME`, `NAME-2` and so on that no file defines.
    private func freeName(_ name: String) throws(CredentialError) -> String {
        if try !desk.catalog.isDefined(name) { return name }
        for number in 2...99 where try !desk.catalog.isDefined("\(name)-\(number)") { return "\(name)-\(number)" }
        throw CredentialError(
            .usage, "account type '\(name)' is already defined", hint: "choose another name with --name")
    }

    /// The name of a type for an issuer: its host, with the port if it has one.
    package static func name(of issuer: String) -> String {
        guard let address = URI(issuer) else { return "issuer" }
        return Identifier.near(address.host + (address.port.map { "-\($0)" } ?? "")) ?? "issuer"
    }
}
