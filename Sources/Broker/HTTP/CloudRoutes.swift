import CredentialCore
import StrictJSON

/// Answers one request, by the cloud that its path belongs to.
struct CloudRoutes: Sendable {
    let configuration: BrokerConfiguration
    let releaser: any TokenReleaser
    let account: @Sendable (BrokerEntry) -> HTTPConversation.Account?
    let clock: any WallClock
    /// The secret of the relay's run; any value passes if it is `nil`.
    let secret: Secret?
    let caller: Caller
    /// Receives the reason and the caller of each request that is refused before the releaser is asked.
    let refuse: @Sendable (_ reason: String, Caller) -> Void

    /// The life of a token whose end the provider does not tell, in seconds: the client asks again after that.
    static let unknownLife: Int64 = 60

    /// Returns the response.
    func reply(to head: HTTPRequestHead) -> HTTPReply {
        let path = head.path == "/" ? "/" : head.path.hasSuffix("/") ? String(head.path.dropLast()) : head.path
        let route: (HTTPRequestHead) throws(BrokerFailure) -> HTTPReply
        switch path {
        case "/azure" where configuration.clouds.azure != nil: route = azure
        case "/aws" where configuration.clouds.aws != nil: route = aws
        case "/actions" where configuration.clouds.actions != nil: route = actions
        case "/azure", "/aws", "/actions": return refused(.notInBroker)
        case _ where GoogleRoutes.owns(path):
            guard configuration.clouds.gce != nil else { return refused(.notInBroker) }
            return GoogleRoutes(routes: self).reply(to: head, path: path)
        default: return notFound
        }
        guard head.method == "GET" else { return otherMethod }
        do throws(BrokerFailure) { return try route(head) } catch { return .failure(error) }
    }

    /// The response for a path that no cloud has.
    var notFound: HTTPReply { .failure(malformed(), status: 404) }

    /// The response for a method other than `GET`.
    var otherMethod: HTTPReply {
        var reply = HTTPReply.failure(malformed(), status: 405)
        reply.fields.append(.init(name: "Allow", value: "GET"))
        return reply
    }

    /// The response for a wrong secret.
    private var wrongSecret: HTTPReply { refused(.caller, status: 401) }

    /// The response for a request that the releaser does not see.
    func refused(_ reason: DenialReason, status: Int? = nil) -> HTTPReply {
        refuse(reason.rawValue, caller)
        return .failure(.denied(reason), status: status)
    }

    /// The failure of a malformed request that the releaser does not see.
    func malformed() -> BrokerFailure {
        refuse(BrokerError.malformed.rawValue, caller)
        return BrokerFailure(.malformed)
    }

    // MARK: Clouds

    /// Azure's managed identities of App Service, `api-version` 2019-08-01.
    private func azure(_ head: HTTPRequestHead) throws(BrokerFailure) -> HTTPReply {
        guard passes(head.field("x-identity-header")) else { return wrongSecret }
        guard head.parameter("api-version") == "2019-08-01", let resource = head.parameter("resource"),
            let name = configuration.clouds.azure
        else { throw malformed() }
        var ask = TokenAsk(entry: name)
        let entry = try entry(name)
        let forms = [resource, resource + "/.default"]
        if let found = forms.first(where: entry.resource.contains) {
            ask.resource = found
        } else if let found = scope(of: entry).first(where: forms.contains) {
            ask.scope = [found]
        } else {
            ask.resource = resource
        }
        let token = try releaser.release(ask, to: caller)
        let end = token.expiresOn ?? now.epochSeconds + Self.unknownLife
        return .json([
            "access_token": .string(token.accessToken.reveal()), "expires_on": .string(String(end)),
            "resource": .string(resource), "token_type": .string(token.tokenType),
        ])
    }

    /// Amazon's credentials of a container.
    private func aws(_ head: HTTPRequestHead) throws(BrokerFailure) -> HTTPReply {
        guard passes(head.field("authorization")) else { return wrongSecret }
        guard let cloud = configuration.clouds.aws else { throw .denied(.notInBroker) }
        let credentials = try releaser.helper(
            .aws, input: JSONObject(["role_arn": .string(cloud.roleARN)]), entry: cloud.entry, to: caller)
        guard let key = credentials["AccessKeyId"], let secretKey = credentials["SecretAccessKey"],
            let session = credentials["SessionToken"], let end = credentials["Expiration"]
        else { throw BrokerFailure(.failed) }
        return .json([
            "AccessKeyId": key, "SecretAccessKey": secretKey, "Token": session, "Expiration": end,
            "RoleArn": .string(cloud.roleARN),
        ])
    }

    /// The ID tokens of GitHub Actions.
    private func actions(_ head: HTTPRequestHead) throws(BrokerFailure) -> HTTPReply {
        guard let field = head.field("authorization") else { return wrongSecret }
        let words = field.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer", passes(String(words[1])) else {
            return wrongSecret
        }
        // Without an audience any ID token of the entry would do.
        guard let name = configuration.clouds.actions, let audience = head.parameter("audience") else {
            throw malformed()
        }
        return .json(["value": .string(try idToken(of: name, audience: audience).reveal())])
    }

    // MARK: Parts

    /// The time now: a release may wait for the user and for a refresh.
    var now: Timestamp { clock.now }

    /// Returns an entry that callers may use now.
    func entry(_ name: String) throws(BrokerFailure) -> BrokerEntry {
        guard let entry = releaser.entries().first(where: { $0.name == name }) else { throw .denied(.notInBroker) }
        return entry
    }

    /// The scopes of an entry.
    func scope(of entry: BrokerEntry) -> [String] { entry.scope ?? account(entry)?.scope ?? [] }

    /// Returns the ID token of an entry.
    ///
    /// - Parameter audience: the `aud` that it must have.
    /// - Throws: `denied` with `id_token` if the entry releases no ID token or its `aud` differs.
    func idToken(of name: String, audience: String) throws(BrokerFailure) -> Secret {
        var ask = TokenAsk(entry: name)
        ask.wantsIDToken = true
        ask.idTokenAudience = audience
        guard let token = try releaser.release(ask, to: caller).idToken else { throw .denied(.idToken) }
        if !IDTokenAudience.contains(audience, in: token) { throw .denied(.idToken) }
        return token
    }

    /// Whether a client's value is the secret of the relay's run. A missing value never passes.
    private func passes(_ value: String?) -> Bool {
        guard let value, !value.isEmpty else { return false }
        return secret.map { $0 == Secret(value) } ?? true
    }
}
