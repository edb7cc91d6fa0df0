package import CredentialCore
import StrictJSON

/// Registers a client at a provider and ends its registration again (RFC 7591, RFC 7592).
package struct DynamicClientRegistration: Sendable {
    private let context: AdapterContext

    /// Makes it for a machine.
    package init(in context: AdapterContext) { self.context = context }

    /// A request for a registration.
    package struct Request: Sendable {
        /// The name that people see when they are asked for consent.
        package var name: String
        /// The redirect URI: the registration is for this one only.
        package var redirectURI: String
        /// The scopes; empty to leave them to the provider.
        package var scope: [String]

        /// Makes a request.
        package init(name: String, redirectURI: String, scope: [String]) {
            self.name = name
            self.redirectURI = redirectURI
            self.scope = scope
        }
    }

    /// A client that has been registered.
    package struct Client: Sendable {
        /// Its identifier.
        package var clientID: String
        /// Its secret; `nil` for a public client.
        package var secret: Secret?
        /// How it authenticates; `nil` if the provider does not name a method.
        package var method: ClientAuthentication.Method?
        /// The URL at which the registration is managed, and the token for it; `nil` if the provider has no
        /// management.
        package var management: (address: URI, token: Secret)?
    }

    /// Registers a client: a public one if the provider accepts public clients.
    ///
    /// - Parameter metadata: the provider's.
    /// - Throws: ``ErrorCode/unsupported`` when the provider registers no clients; the error that a refusal means;
    ///   ``ErrorCode/malformedReply`` for a response that cannot be used; ``ErrorCode/validationFailed`` for an
    ///   address that the response may not name; ``ErrorCode/temporary``.
    package func register(
        _ request: Request, at metadata: ServerMetadata
    ) throws(CredentialError) -> Client {
        guard let endpoint = try metadata.usable(.registration) else {
            guard !metadata.takesClientDocuments else {
                throw CredentialError(
                    .unsupported,
                    "the provider does not register clients: it requires the URL of a client "
                        + "metadata document",
                    hint: "host a client metadata document (docs/how-to/mcp.md) and set its URL: "
                        + "--client-id https://…")
            }
            throw CredentialError(
                .unsupported, "the provider does not support client registration",
                hint: "register a client at the provider and set --client-id")
        }
        let method = try Self.method(at: metadata)
        var body = JSONObject()
        body["client_name"] = .string(request.name)
        body["application_type"] = "native"
        body["redirect_uris"] = JSONValue([request.redirectURI])
        body["grant_types"] = ["authorization_code", "refresh_token"]
        body["response_types"] = ["code"]
        body["token_endpoint_auth_method"] = .string(method.rawValue)
        if !request.scope.isEmpty { body["scope"] = .string(Scope.text(request.scope)) }
        let response = try context.transport.send(
            HTTPRequest(
                method: "POST", address: endpoint,
                headers: [("accept", "application/json"), ("content-type", "application/json")],
                body: .bytes(JSONValue.object(body).bytes())))
        let place: LocalizedMessage = "registration endpoint of \(endpoint.origin)"
        switch try EndpointResponse.sort(response, from: place) {
        case .object(let members):
            return try Self.client(members, request, place, endpoint, issuerOrigin: metadata.issuerOrigin)
        case .refused(let refusal):
            throw OAuthErrorMapping.error(refusal, in: .register, type: request.name)
        }
    }

    /// How the client shall authenticate: not at all if the provider accepts that, else by a secret in the way that
    /// it lists.
    private static func method(at metadata: ServerMetadata) throws(CredentialError) -> ClientAuthentication.Method {
        guard let offered = metadata.authenticationMethods, !offered.isEmpty else { return .none }
        let usable: [ClientAuthentication.Method] = [.none, .secretBasic, .secretPost]
        guard let method = usable.first(where: { offered.contains($0.rawValue) }) else {
            throw CredentialError(
                .unsupported,
                "the provider cannot register a client that can sign in: it accepts only "
                    + "\(UntrustedText.shown(offered.joined(separator: ", "), limit: 200))",
                hint: "register a client at the provider and set --client-id")
        }
        return method
    }

    /// Ends a registration.
    ///
    /// - Throws: ``ErrorCode/denied`` when the provider refuses; ``ErrorCode/temporary``.
    package func remove(at address: URI, token: Secret) throws(CredentialError) {
        var response = try context.transport.send(
            HTTPRequest(
                method: "DELETE", address: address,
                headers: [("accept", "application/json"), ("authorization", "Bearer " + token.reveal())]))
        if (200..<300).contains(response.status) { return }
        // The text ends in messages, and may repeat the token.
        response.body = SecretRemoval([token.reveal()]).cleaned(body: response.body)
        let place: LocalizedMessage = "registration of the client at \(address.origin)"
        // Of all replies but success it only matters that the client may still be there.
        if case .refused(let refusal) = try EndpointResponse.sort(response, from: place) {
            throw CredentialError(
                .denied, "cannot delete the \(place)", details: OAuthErrorMapping.details(of: refusal))
        }
    }

    private static func client(
        _ members: JSONObject, _ request: Request, _ place: LocalizedMessage, _ endpoint: URI,
        issuerOrigin: String?
    ) throws(CredentialError) -> Client {
        func malformed(_ what: LocalizedMessage) -> CredentialError {
            CredentialError(.malformedReply, "the response of the \(place) \(what)")
        }
        let document: LocalizedMessage = "the response of the \(place)"
        guard let clientID = members["client_id"]?.string, !clientID.isEmpty, clientID.utf8.count <= 1_024,
            DefinitionValidation.clientID(clientID) == nil
        else { throw malformed("has no usable client_id") }
        // Such an ID would be read as that of a client known by its document.
        guard !ClientIDMetadataDocument.isAddress(clientID) else {
            throw AddressAuthor.refusal(
                "the response of the \(place) has a URL as client_id, '\(UntrustedText.shown(clientID))'",
                of: clientID, by: document, rule: .clientID)
        }
        if let registered = members["redirect_uris"]?.array?.compactMap(\.string),
            !registered.contains(where: { ConstantTime.equal($0, request.redirectURI) })
        {
            throw malformed("is for another redirect URI")
        }
        var client = Client(clientID: clientID)
        if let word = members["token_endpoint_auth_method"]?.string {
            guard let method = ClientAuthentication.Method(rawValue: word), !method.usesCertificate else {
                throw malformed(
                    "requires the unsupported authentication method '\(UntrustedText.shown(word, limit: 40))'")
            }
            client.method = method
        }
        // Some providers give public clients a secret too; it is of no use then.
        if client.method != ClientAuthentication.Method.none {
            client.secret = try text("client_secret", members, malformed).map(Secret.init)
        }
        if let token = try text("registration_access_token", members, malformed),
            let written = members["registration_client_uri"]?.string
        {
            let member = "registration_client_uri"
            guard let address = URI(written)?.named(by: .api(host: endpoint.host)), address.fragment == nil else {
                throw malformed("has no usable \(member)")
            }
            guard address.isWeb, address.isSecure else {
                // The path may have a secret in it.
                throw AddressAuthor.refusal(
                    ofUnprotected: address.isWeb ? address.origin : written, as: member, in: document)
            }
            // A response to a registration cannot send a request with a token to another origin, least of all to
            // this machine.
            guard [endpoint.origin, issuerOrigin].contains(address.origin) else {
                throw AddressAuthor.refusal(
                    "the response of the \(place) names \(address.origin) as registration_client_uri, "
                        + "which is another origin",
                    of: address.origin, by: document, rule: .sameOrigin)
            }
            try address.checkAuthor(as: member, in: document)
            client.management = (address, Secret(token))
        }
        return client
    }

    /// A secret of the reply: printable, so that it fits into a header field.
    private static func text(
        _ name: String, _ members: JSONObject, _ malformed: (LocalizedMessage) -> CredentialError
    ) throws(CredentialError) -> String? {
        switch members[name] {
        case nil, .null?, .string("")?: return nil
        case .string(let text)?
        where text.utf8.count <= 8_192 && text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }):
            return text
        default: throw malformed("has no usable \(name)")
        }
    }
}

extension ServerMetadata {
    /// The origin of the issuer.
    fileprivate var issuerOrigin: String? { issuer.flatMap(URI.init)?.origin }
}
