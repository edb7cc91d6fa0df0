import Broker
import CredentialCore
import StrictJSON
import Testing

/// The requests of the clouds' SDKs at a broker.
@Suite struct `Routes of clouds` {
    private let scene = HTTPScene()
    private static let azure = "/azure?api-version=2019-08-01&resource="

    // MARK: Google

    @Test func `Google's server names itself at its root`() throws {
        let response = try scene.get("/", ["Metadata-Flavor: Google"])
        #expect(response.status == 200 && response.fields["metadata-flavor"] == "Google")
    }

    @Test func `Google's token has its remaining life in seconds`() throws {
        let response = try scene.google("instance/service-accounts/default/token")
        #expect(response.status == 200 && response.fields["content-type"] == "application/json")
        #expect(
            response.json == ["access_token": "at-1", "expires_in": 3600, "token_type": "Bearer"])
        #expect(response.fields["cache-control"] == "no-store")
        #expect(scene.releaser.asks.first?.scope == nil)
    }

    @Test func `Google's token has less life when the release took time`() throws {
        let response = try HTTPScene(wait: 100).google("instance/service-accounts/default/token")
        #expect(response.json?.object?["expires_in"] == 3500)
    }

    @Test func `Azure's unknown end counts from the release when the release took time`() throws {
        let scene = HTTPScene(expiresOn: nil, wait: 100)
        let response = try scene.get(Self.azure + "https%3A%2F%2Fvault.example.com", ["X-IDENTITY-HEADER: any"])
        #expect(response.json?.object?["expires_on"] == "1800000160")
    }

    @Test func `Google's token has a short life when its end is unknown`() throws {
        let response = try HTTPScene(expiresOn: nil).google("instance/service-accounts/default/token")
        #expect(response.json?.object?["expires_in"] == 60)
    }

    @Test(arguments: ["read,write", "read%20write", "read+write"])
    func `Google's scopes narrow the request`(scopes: String) throws {
        let response = try scene.google("instance/service-accounts/default/token?scopes=" + scopes)
        #expect(response.status == 200)
        #expect(scene.releaser.asks.first?.scope == ["read", "write"])
    }

    @Test func `A scope that the entry lacks is 403 too_broad`() throws {
        let response = try scene.google("instance/service-accounts/default/token?scopes=admin")
        #expect(response.status == 403 && response.error == ["denied", "too_broad"])
    }

    @Test(arguments: ["", "/"])
    func `Google's facts are text, with or without a final slash`(end: String) throws {
        #expect(try scene.google("project/project-id" + end).body == "project-1")
        #expect(try scene.google("universe/universe-domain" + end).body == "googleapis.com")
        let account = "instance/service-accounts/default"
        #expect(try scene.google(account + "/email" + end).body == "ada@example.com")
        #expect(
            try scene.google(account + "/scopes" + end).body
                == "read\nwrite\nhttps://management.example.com/.default\n")
        #expect(try scene.google(account + end).body == "aliases\nemail\nidentity\nscopes\ntoken\n")
        #expect(try scene.google("instance/service-accounts/ada%40example.com/email" + end).status == 200)
        #expect(scene.releaser.asks.isEmpty)
    }

    @Test func `recursive=true is JSON with aliases, email and scopes`() throws {
        let response = try scene.google("instance/service-accounts/default/?recursive=true")
        #expect(response.fields["content-type"] == "application/json")
        #expect(
            response.json == [
                "aliases": ["default"], "email": "ada@example.com",
                "scopes": ["read", "write", "https://management.example.com/.default"],
            ])
    }

    @Test func `Google's email has no user name when the broker is anonymous`() throws {
        var scene = scene
        scene.configuration.isAnonymous = true
        #expect(try scene.google("instance/service-accounts/default/email").body == "default")
        #expect(try scene.google("instance/service-accounts/ada@example.com/email").status == 404)
    }

    @Test func `Google's identity is the ID token when its aud is the audience`() throws {
        let response = try scene.google("instance/service-accounts/default/identity?audience=api&format=full")
        #expect(response.status == 200 && response.body == HTTPScene.idToken.reveal())
        #expect(scene.releaser.asks.first?.idTokenAudience == "api")
        let other = try scene.google("instance/service-accounts/default/identity?audience=other")
        #expect(other.status == 403 && other.error == ["denied", "id_token"])
        #expect(try scene.google("instance/service-accounts/default/identity").status == 400)
    }

    @Test func `A request without Metadata-Flavor is 403`() throws {
        for fields in [[], ["Metadata-Flavor: google"], ["Metadata-Flavor: Google", "Metadata-Flavor: Google"]] {
            let response = try scene.get("/computeMetadata/v1/instance/service-accounts/default/token", fields)
            #expect(response.status == 403 && response.fields["metadata-flavor"] == "Google")
        }
        #expect(scene.releaser.asks.isEmpty)
    }

    @Test func `A request with X-Forwarded-For is 403`() throws {
        let response = try scene.google("instance/service-accounts/default/token", ["X-Forwarded-For: 192.0.2.1"])
        #expect(response.status == 403 && scene.releaser.asks.isEmpty && scene.refusals.all == ["caller 42"])
    }

    @Test func `A request of a web page is 403`() throws {
        let response = try scene.google(
            "instance/service-accounts/default/token", ["Origin: http://127.0.0.1:8080"])
        #expect(response.status == 403 && scene.releaser.asks.isEmpty && scene.refusals.all == ["caller 42"])
    }

    @Test(arguments: [
        ("127.0.0.1", 200), ("localhost:80", 200), ("[::1]:8080", 200), ("[::1]", 200), ("metadata", 200),
        ("Metadata.Google.Internal:80", 200), ("169.254.169.254", 200), ("attacker.example:8080", 403),
        ("127.0.0.1.attacker.example", 403), ("127.0.0.1:8080:80", 403), ("", 403),
    ])
    func `A request for another host than the metadata server's is 403`(host: String, status: Int) throws {
        let path = "/computeMetadata/v1/project/project-id"
        #expect(try scene.get(path, ["Metadata-Flavor: Google"], host: host).status == status)
    }

    @Test(arguments: [
        "", "instance", "instance/service-accounts/other/token", "instance/service-accounts/default/a/b",
    ])
    func `A path that Google's server lacks here is 404`(path: String) throws {
        #expect(try scene.google(path).status == 404)
    }

    // MARK: Azure

    @Test func `Azure's token has its end as text`() throws {
        let response = try scene.get(Self.azure + "https%3A%2F%2Fvault.example.com", ["X-IDENTITY-HEADER: any"])
        #expect(
            response.json == [
                "access_token": "at-1", "expires_on": "1800003600", "resource": "https://vault.example.com",
                "token_type": "Bearer",
            ])
        #expect(scene.releaser.asks.first?.resource == "https://vault.example.com")
    }

    @Test func `Azure's resource is a scope with .default when the entry has one`() throws {
        let response = try scene.get(Self.azure + "https://management.example.com", ["X-IDENTITY-HEADER: any"])
        #expect(response.status == 200)
        #expect(scene.releaser.asks.first?.scope == ["https://management.example.com/.default"])
    }

    @Test func `Azure's resource is a resource with .default when the entry has one`() throws {
        var entry = scene.configuration.entries[0]
        entry.resource = ["https://vault.example.com/.default"]
        let scene = HTTPScene(entries: [entry])
        let response = try scene.get(Self.azure + "https://vault.example.com", ["X-IDENTITY-HEADER: any"])
        #expect(response.json?.object?["resource"] == "https://vault.example.com")
        #expect(scene.releaser.asks.first?.resource == "https://vault.example.com/.default")
    }

    @Test func `Azure's resource is a scope of the type when the entry has no scopes`() throws {
        var entry = scene.configuration.entries[0]
        entry.scope = nil
        let scene = HTTPScene(entries: [entry])
        #expect(try scene.get(Self.azure + "own", ["X-IDENTITY-HEADER: any"]).error == ["denied", "too_broad"])
        #expect(scene.releaser.asks.first?.scope == ["own"])
        #expect(try scene.google("instance/service-accounts/default/scopes").body == "own\n")
    }

    @Test func `Azure's resource outside the entry is 403 too_broad`() throws {
        let response = try scene.get(Self.azure + "https://other.example.com", ["X-IDENTITY-HEADER: any"])
        #expect(response.status == 403 && response.error == ["denied", "too_broad"])
    }

    @Test(arguments: [
        "/azure?resource=read", "/azure?api-version=2017-09-01&resource=read", "/azure?api-version=2019-08-01",
    ])
    func `Azure's request of another form is 400`(target: String) throws {
        #expect(try scene.get(target, ["X-IDENTITY-HEADER: any"]).status == 400)
    }

    // MARK: Amazon

    @Test func `Amazon's SDK gets the role's credentials`() throws {
        let response = try scene.get("/aws", ["Authorization: any"])
        #expect(
            response.json == [
                "AccessKeyId": "ASIA1", "SecretAccessKey": "sk/1", "Token": "st/1==",
                "Expiration": "2099-01-02T03:04:05Z", "RoleArn": .string(HTTPScene.role),
            ])
        #expect(scene.releaser.roleARNs == [HTTPScene.role])
    }

    // MARK: GitHub Actions

    @Test(arguments: ["/actions?&audience=api", "/actions?audience=second"])
    func `Actions' request gets the ID token when its aud is the audience`(target: String) throws {
        let response = try scene.get(target, ["Authorization: bearer any"])
        #expect(response.json == ["value": .string(HTTPScene.idToken.reveal())])
    }

    @Test(arguments: ["/actions", "/actions?", "/actions?audience=", "/actions?audience=api&audience=second"])
    func `Actions' request without one audience is 400`(target: String) throws {
        let response = try scene.get(target, ["Authorization: bearer any"])
        #expect(response.status == 400 && scene.releaser.asks.isEmpty)
    }

    @Test func `Actions' request for another audience is 403 id_token`() throws {
        let response = try scene.get("/actions?&audience=other", ["Authorization: bearer any"])
        #expect(response.status == 403 && response.error == ["denied", "id_token"])
    }

    // MARK: All

    @Test(arguments: [
        (Self.azure + "https://vault.example.com", "X-IDENTITY-HEADER: "), ("/aws", "Authorization: "),
        ("/actions?&audience=api", "Authorization: Bearer "),
    ])
    func `A wrong secret is 401`(target: String, field: String) throws {
        #expect(try scene.get(target, [field + HTTPScene.secret], via: HTTPScene.secret).status == 200)
        let count = scene.releaser.asks.count + scene.releaser.roleARNs.count
        #expect(try scene.get(target, [field + "other"], via: HTTPScene.secret).status == 401)
        #expect(try scene.get(target, [], via: HTTPScene.secret).status == 401)
        #expect(try scene.get(target, [], via: nil).status == 401)
        #expect(scene.releaser.asks.count + scene.releaser.roleARNs.count == count)
        #expect(scene.refusals.all == ["caller 42", "caller 42", "caller 42"])
    }

    @Test func `An entry without ID tokens has 403 id_token for identity, aws and actions`() throws {
        let scene = HTTPScene(release: .token)
        let responses = [
            try scene.google("instance/service-accounts/default/identity?audience=api"),
            try scene.get("/aws", ["Authorization: any"]),
            try scene.get("/actions?audience=api", ["Authorization: bearer any"]),
        ]
        #expect(responses.allSatisfy { $0.status == 403 && $0.error == ["denied", "id_token"] })
        #expect(scene.releaser.roleARNs.isEmpty && scene.refusals.all.isEmpty)
    }

    @Test func `A cloud that is not configured is 403 not_in_broker`() throws {
        var scene = scene
        scene.configuration.clouds = BrokerClouds()
        for target in [Self.azure + "read", "/aws", "/actions?", "/computeMetadata/v1/project/project-id", "/"] {
            let response = try scene.get(target, ["Metadata-Flavor: Google", "Authorization: a"])
            #expect(response.status == 403 && response.error == ["denied", "not_in_broker"], "\(target)")
        }
        #expect(try scene.get("/other").status == 404)
    }

    @Test(arguments: ["/aws", "/computeMetadata/v1/project/project-id"])
    func `A method other than GET is 405`(target: String) throws {
        let response = try scene.get(target, ["Metadata-Flavor: Google"], method: "POST")
        #expect(response.status == 405 && response.fields["allow"] == "GET")
    }

    @Test func `A request that no cloud has is in the log`() throws {
        _ = try scene.get("/other")
        _ = try scene.get("/aws", ["Authorization: any"], method: "POST")
        _ = try scene.google("other")
        _ = try scene.google("instance/service-accounts/default/identity")
        scene.serve(TimedConnection("GET /\r\n\r\n"))
        #expect(scene.refusals.all == Array(repeating: "malformed 42", count: 5))
    }

    @Test(arguments: [
        (BrokerFailure(.rate, retryAfter: 30), 429), (BrokerFailure(.temporary, retryAfter: 5), 503),
        (BrokerFailure(.locked), 503), (BrokerFailure(.ended), 403), (BrokerFailure(.signInRequired), 403),
        (BrokerFailure(.failed), 500), (.denied(.userRefused), 403),
    ])
    func `A refusal has the status and body of its error`(failure: BrokerFailure, status: Int) throws {
        let response = try HTTPScene(failure: failure).google("instance/service-accounts/default/token")
        #expect(response.status == status)
        #expect(response.error == [failure.error.rawValue, failure.reason])
        #expect(response.fields["retry-after"] == failure.retryAfter.map { String($0) })
    }
}
