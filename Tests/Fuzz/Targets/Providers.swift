import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import OAuth
import Platform
import StrictJSON

/// A provider that answers every request with the same reply.
private struct OneReply: HTTPTransport {
    let response: HTTPResponse

    /// A line for the header fields, then the body.
    init(_ bytes: [UInt8]) {
        let line = Array(bytes.prefix { $0 != 0x0A })
        let body = Array(bytes.dropFirst(line.count + 1))
        let statuses = [200, 401, 201, 400, 403]
        let status = statuses[line.count % statuses.count]
        let names = ["www-authenticate", "dpop-nonce", "retry-after", "cache-control"]
        response = HTTPResponse(
            status: status, headers: [("content-type", "application/json")] + names.map { ($0, line.text) },
            body: body)
    }

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        response
    }

    var context: AdapterContext {
        AdapterContext(
            transport: self, clock: FixedClock(), random: SystemRandom(), cryptography: LibCryptography(),
            clientSecrets: NoSecrets())
    }
}

private struct FixedClock: WallClock {
    let now = Timestamp(epochSeconds: 1_800_000_000)
}

private struct NoSecrets: ClientSecrets {
    func clientSecret(of type: AccountType) throws(CredentialError) -> Secret? { nil }
    func privateKey(of type: AccountType) throws(CredentialError) -> Secret? { nil }
}

/// A client of a provider whose endpoints are all known.
private func client(_ flow: String) -> AccountType? {
    let host = "https://id.example/"
    let definition: JSONObject = JSONObject([
        "adapter": "oauth2", "client_id": "c", "flow": .string(flow), "scope": ["a"],
        "authorization_endpoint": .string(host + "authorize"), "token_endpoint": .string(host + "token"),
        "userinfo_endpoint": .string(host + "userinfo"), "introspection_endpoint": .string(host + "introspect"),
        "pushed_authorization_request_endpoint": .string(host + "push"),
        "redirect_uri": "http://127.0.0.1/callback",
    ])
    return try? AccountType(name: "Tasks", json: definition, isPrivateFile: true, place: "Tasks.json")
}

extension FuzzTarget {
    /// A protected resource, its challenge and its metadata (RFC 9728).
    static let resourceDiscovery = FuzzTarget("resource-discovery") { bytes in
        guard let address = URI("https://api.example/v1/tasks?x=1") else { return }
        let provider = OneReply(bytes)
        _ = try? ResourceDiscovery(in: provider.context).find(address)
        guard let document = object(provider.response.body),
            let metadata = try? ResourceMetadata(document, for: address, at: address)
        else { return }
        require(URI(metadata.resource)?.origin == address.origin, "a resource is of the origin asked")
        require(!metadata.issuers.isEmpty && metadata.scopes.allSatisfy(Scope.isValid), "what it names is usable")
    }

    /// The reply to a registration (RFC 7591).
    static let registrationReply = FuzzTarget("registration-reply") { bytes in
        let document = object(
            Array(#"{"issuer":"https://id.example","registration_endpoint":"https://id.example/r"}"#.utf8))
        let rule = { (_: String) throws(CredentialError) in }
        guard let document, let metadata = try? ServerMetadata(document, issuerRule: rule) else {
            return require(false, "the metadata of the target is usable")
        }
        let request = DynamicClientRegistration.Request(
            name: "n", redirectURI: "http://127.0.0.1/callback", scope: ["a"])
        guard
            let client = try? DynamicClientRegistration(in: OneReply(bytes).context).register(request, at: metadata)
        else { return }
        require(!client.clientID.isEmpty, "a client has an id")
        require(client.management?.address.isSecure ?? true, "a registration is managed over https")
        for secret in [client.secret, client.management?.token] {
            require(secret?.reveal().utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ?? true, "secrets are printable")
        }
    }

    /// A whole sign-in by password: the token reply, and the same bytes as claims of the UserInfo endpoint.
    static let signInReply = FuzzTarget("sign-in-reply") { bytes in
        guard let type = client("password") else { return require(false, "the definition is usable") }
        var request = SignInRequest(
            type: type, flow: .password, policy: "", scope: type.scope, redirectURI: "http://127.0.0.1/callback")
        request.username = "u"
        request.password = Secret("p")
        guard case .done(let result)? = try? GenericOAuth2Adapter().begin(request, in: OneReply(bytes).context)
        else { return }
        require(!result.identity.subject.isEmpty, "somebody has signed in")
    }

    /// The response of a provider about a token (RFC 7662), and to a pushed request (RFC 9126).
    static let clientReply = FuzzTarget("client-reply") { bytes in
        guard let type = client("code") else { return require(false, "the definition is usable") }
        let context = OneReply(bytes).context, adapter = GenericOAuth2Adapter()
        let key = TokenRequestKey(scope: ["a"])
        let now = context.clock.now
        let token = AccessToken(
            key: key, token: Secret("t"), tokenType: "Bearer", issuedAt: now, expiresAt: now.adding(60), scope: [])
        let members = try? adapter.introspect(
            token, grant: Grant(flow: .code, obtainedAt: now), of: type, in: context)
        require(members?["active"]?.bool != nil || members == nil, "a token is active or not")
        let request = SignInRequest(
            type: type, flow: .code, policy: "", scope: type.scope, redirectURI: "http://127.0.0.1/callback")
        guard case .interaction(.openURL(let address, _), _)? = try? adapter.begin(request, in: context) else {
            return
        }
        require(address.origin == "https://id.example", "the browser goes to the provider")
    }

    /// A server's nonce for proofs (RFC 9449 §8).
    static let proofNonce = FuzzTarget("proof-nonce") { bytes in
        guard let address = URI("https://id.example/token") else { return }
        var state = JSONObject()
        state["dpop"] = ["key": "k", "jwk": ["kty": "EC"]]
        guard let prover = DPoPKey.kept(in: state) else { return require(false, "the prover is usable") }
        let response = OneReply(bytes).response
        let repeats = prover.shouldRepeat(after: response, from: address)
        require(!repeats || response.status == 400 || response.status == 401, "only a refusal is repeated")
        require(!prover.shouldRepeat(after: response, from: address), "a nonce is tried once")
        prover.keep(in: &state)
        let nonce = state["dpop"]?.object?["nonces"]?.object?[address.origin]?.string ?? ""
        require(nonce.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a nonce fits into a header field")
    }
}
