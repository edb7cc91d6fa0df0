import CredentialCore
package import StrictJSON

/// A request to a plugin: one JSON object, and the secrets in it, which must not come out anywhere else.
package struct PluginRequest: Sendable {
    /// The operation.
    package let operation: String
    /// The members.
    package private(set) var members: JSONObject
    /// Every secret of it.
    package private(set) var secrets: [String] = []

    /// Makes a request without a body.
    ///
    /// - Parameter operation: one of ``ProviderOperation``; the conformance suite also sends others.
    package init(version: Int64, operation: String) {
        self.operation = operation
        members = JSONObject(["version": .integer(version), "operation": .string(operation)])
    }

    init(_ operation: ProviderOperation, version: Int64) {
        self.init(version: version, operation: operation.rawValue)
    }

    /// Sets a member; the conformance suite adds unknown ones with it.
    package subscript(name: String) -> JSONValue? {
        get { members[name] }
        set { members[name] = newValue }
    }

    /// The text for the plugin's standard input.
    package var bytes: [UInt8] { JSONValue.object(members).bytes() + [UInt8(ascii: "\n")] }

    // MARK: Parts

    /// The account type, its client with its secrets, and its settings.
    mutating func add(_ type: AccountType, secrets clientSecrets: any ClientSecrets) throws(CredentialError) {
        var definition = type.json
        for key in ["adapter", "client_secret", "private_key", "keychain_group", "api_base", "api_origins"] {
            definition[key] = nil
        }
        definition["name"] = .string(type.name)
        members["type"] = .object(definition)
        var client = JSONObject(["id": .string(type.clientID)])
        client["secret"] = secret(try clientSecrets.clientSecret(of: type))
        client["private_key"] = secret(try clientSecrets.privateKey(of: type))
        members["client"] = .object(client)
    }

    /// Adds the parameters of a sign-in.
    mutating func add(_ request: SignInRequest, scope: [String]) {
        var object = JSONObject([
            "flow": .string(request.flow.rawValue), "scope": JSONValue(scope),
            "redirect_uri": .string(request.redirectURI),
        ])
        object["policy"] = request.policy.isEmpty ? nil : .string(request.policy)
        object["resource"] = (request.resource ?? request.type.resource).map(JSONValue.string)
        object["audience"] = (request.audience ?? request.type.audience).map(JSONValue.string)
        object["login_hint"] = request.loginHint.map(JSONValue.string)
        object["prompt"] = request.prompt.map(JSONValue.string)
        object["username"] = request.username.map(JSONValue.string)
        object["password"] = secret(request.password)
        members["request"] = .object(object)
    }

    /// Adds the state that the plugin kept for itself, and the result of the interaction.
    mutating func add(pending: JSONObject, reply: InteractionReply) {
        members["pending"] = .object(pending)
        secrets += Self.texts(in: .object(pending))
        switch reply {
        case .redirect(let address):
            members["reply"] = ["kind": "redirect", "url": .string(address)]
            // The code in it is worth as much as the tokens that it is exchanged for.
            secrets += (URI(address)?.query ?? address).split { "&=#".contains($0) }.map(String.init)
        case .poll: members["reply"] = ["kind": "poll"]
        case .text(let text):
            members["reply"] = ["kind": "text", "text": .string(text.reveal())]
            secrets.append(text.reveal())
        }
    }

    /// A grant.
    mutating func add(_ grant: Grant) {
        var object = JSONObject([
            "flow": .string(grant.flow.rawValue), "scope": JSONValue(grant.scope),
            "obtained_at": .integer(grant.obtainedAt.epochSeconds), "state": .object(grant.adapterState),
        ])
        object["refresh_token"] = secret(grant.refreshToken)
        object["refresh_expires_at"] = grant.refreshExpiresAt.map { .integer($0.epochSeconds) }
        object["id_token"] = secret(grant.idToken)
        members["grant"] = .object(object)
        secrets += Self.texts(in: .object(grant.adapterState))
    }

    /// Adds the parameters of a refresh.
    mutating func add(_ request: RefreshRequest, scope: [String]) {
        add(request.grant)
        var object = JSONObject(["scope": JSONValue(scope)])
        object["policy"] = request.key.policy.isEmpty ? nil : .string(request.key.policy)
        object["resource"] = request.key.resource.map(JSONValue.string)
        object["audience"] = request.key.audience.map(JSONValue.string)
        members["request"] = .object(object)
        members["subject"] = .string(request.subject)
    }

    private mutating func secret(_ secret: Secret?) -> JSONValue? {
        guard let secret else { return nil }
        secrets.append(secret.reveal())
        return .string(secret.reveal())
    }

    /// Every string in a value.
    static func texts(in value: JSONValue) -> [String] {
        switch value {
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(texts)
        case .object(let object): object.members.flatMap { texts(in: $0.value) }
        case .null, .bool, .integer, .decimal: []
        }
    }
}
