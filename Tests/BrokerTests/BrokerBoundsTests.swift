import Broker
import CredentialCore
import StrictJSON
import Testing

/// The bounds of an entry, in every language of the socket.
struct BrokerBoundsTests {
    private static let role = "arn:aws:iam::123456789012:role/build"

    /// A broker with one entry and further members.
    private func scene(_ members: String = #","ask":"never""#, entry: String = "") throws -> BrokerScene {
        try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"id_token"\#(entry)}]\#(members)}"#)
    }

    // MARK: Scopes

    @Test func `a request is malformed when its scope is empty`() throws {
        let scene = try scene(entry: #","scope":["read"],"broader":"accept""#)
        #expect(scene.failure { $0.scope = [] } == BrokerFailure(.malformed))
        #expect(scene.issuer.orders.isEmpty)
        #expect(scene.log.kinds == [.deny])
    }

    @Test func `the prompt has each scope once when a request repeats scopes`() throws {
        let scene = try scene("")
        _ = try scene.release { $0.scope = Array(repeating: "read", count: 24) + ["write"] }
        #expect(scene.consent.questions.map(\.scope) == [["read", "write"]])
        #expect(scene.issuer.orders.map(\.scope) == [["read", "write"]])
    }

    @Test func `a request is denied without a prompt when no prompt shows its scope whole`() throws {
        let long = String(repeating: "x", count: 500)
        let scene = try scene("", entry: #","scope":["read","\#(long)"]"#)
        #expect(scene.failure() == .denied(.noPrompt))
        #expect(scene.consent.questions.isEmpty)
        #expect(scene.failure { $0.scope = ["read"] } == nil)
    }

    @Test func `the prompt has the type's own resource when neither request nor entry names a resource`() throws {
        let scene = try scene("")
        scene.issuer.state.withLock { $0.ownResource = "https://r.example" }
        _ = try scene.release()
        #expect(scene.consent.questions.map(\.resource) == ["https://r.example"])
        #expect(scene.issuer.orders.map(\.resource) == [nil])
    }

    // MARK: Origins

    @Test func `the host's check decides on an origin when the entry has no origins`() throws {
        let scene = try scene()
        #expect(scene.failure { $0.origin = "https://api.example.com" } == .denied(.origin))
        #expect(scene.issuer.orders.isEmpty)
        scene.issuer.state.withLock {
            $0.permission = HelperPermission(origin: "https://api.example.com", username: "oauth2")
        }
        #expect(scene.failure { $0.origin = "https://api.example.com" } == nil)
        #expect(scene.log.events.last?.origin == "https://api.example.com")
    }

    @Test func `a helper is ambiguous when several entries fit`() throws {
        let scene = try BrokerScene(BrokerScene.two)
        scene.permitAPI()
        #expect(throws: BrokerFailure(.ambiguous)) { try scene.askAsGit() }
        let output = try scene.askAsGit(entry: "id")
        #expect(output["password"] == "t0")
    }

    // MARK: Issuers

    @Test func `a request by issuer is admitted and audited when it is refused`() throws {
        let scene = try BrokerScene(BrokerScene.two)
        #expect(scene.failure { $0.issuer = "https://login.example.com/" } == BrokerFailure(.ambiguous))
        #expect(scene.failure { $0.issuer = "https://other.example.com" } == .denied(.notInBroker))
        #expect(scene.log.kinds == [.deny, .deny])
        let one = try self.scene(#","ask":"never","limits":{"per_minute":1}"#)
        #expect(one.failure { $0.issuer = "https://login.example.com/" } == nil)
        #expect(one.failure { $0.issuer = "https://other.example.com" }?.error == .rate)
    }

    // MARK: Refused tokens

    @Test func `a refused token is replaced by one of the same kind when it was for another resource`() throws {
        let scene = try BrokerScene()
        _ = try scene.release { ask in
            ask.scope = ["read"]
            ask.resource = "https://r.example/2"
            ask.minValid = 900
        }
        for _ in 0..<2 {
            let token = try scene.service.replacement(of: Secret("t0"), entry: nil, to: BrokerScene.caller)
            #expect(token.accessToken == Secret("t1"))
        }
        #expect(scene.issuer.orders.allSatisfy { $0.scope == ["read"] && $0.resource == "https://r.example/2" })
        #expect(scene.issuer.orders.map(\.minValid) == [900, 900, 900, 900])
        #expect(scene.issuer.orders.map(\.forceRefresh) == [false, false, true, false])
    }

    @Test func `a refused token is denied when the broker does not know it`() throws {
        let scene = try BrokerScene()
        #expect(throws: BrokerFailure.denied(.notInBroker)) {
            try scene.service.replacement(of: Secret("other"), entry: nil, to: BrokerScene.caller)
        }
        #expect(scene.issuer.orders.map(\.forceRefresh) == [false])
        #expect(scene.log.kinds == [.deny])
    }

    // MARK: Roles

    private static let clouds = #","clouds":{"aws":{"entry":"w","role_arn":"\#(role)"}}"#

    private func credentials(_ scene: BrokerScene, _ role: String = role) throws -> JSONObject {
        scene.issuer.state.withLock { $0.idToken = Secret("i") }
        return try scene.service.helper(
            .aws, input: JSONObject(["role_arn": .string(role)]), entry: nil, to: BrokerScene.caller)
    }

    @Test func `a role is denied unless the broker has it`() throws {
        let without = try scene()
        #expect(throws: BrokerFailure.denied(.notInBroker)) { try credentials(without) }
        let scene = try scene(#","ask":"never""# + Self.clouds)
        #expect(throws: BrokerFailure.denied(.notInBroker)) { try credentials(scene, Self.role + "2") }
        #expect(try credentials(scene)["AccessKeyId"] == "AK")
        #expect(scene.issuer.state.withLock { $0.roles } == [Self.role])
        #expect(scene.log.kinds == [.deny, .issue])
    }

    @Test func `a role's service gets no token when the token is too broad`() throws {
        let scene = try scene(#","ask":"never""# + Self.clouds, entry: #","scope":["read"]"#)
        scene.issuer.answer(at: scene.clock.now, scope: ["read", "admin"])
        #expect(throws: BrokerFailure.denied(.tooBroad)) { try credentials(scene) }
        #expect(scene.issuer.state.withLock { $0.roles }.isEmpty)
    }

    @Test func `token_life_at_most bounds ID tokens and credentials`() throws {
        let scene = try scene(#","ask":"never","token_life_at_most":600"# + Self.clouds)
        let now = scene.clock.now
        scene.issuer.answer(at: now, seconds: 600)
        scene.issuer.state.withLock { state in
            state.idToken = Secret("i")
            state.idTokenEnd = now.adding(601)
        }
        #expect(scene.failure { $0.wantsIDToken = true } == .denied(.tooLong))
        scene.issuer.state.withLock { $0.idTokenEnd = now.adding(600) }
        #expect(scene.failure { $0.wantsIDToken = true } == nil)
        #expect(throws: BrokerFailure.denied(.tooLong)) { try credentials(scene) }
        scene.issuer.state.withLock { $0.credentials["Expiration"] = .string(now.adding(601).rfc3339) }
        #expect(throws: BrokerFailure.denied(.tooLong)) { try credentials(scene) }
        scene.issuer.state.withLock { $0.credentials["Expiration"] = .string(now.adding(600).rfc3339) }
        #expect(try credentials(scene)["AccessKeyId"] == "AK")
    }

    // MARK: Refreshes

    @Test func `a refresh has its line when its token is not released`() throws {
        let scene = try scene(entry: #","scope":["read"]"#)
        scene.issuer.state.withLock { $0.isStale = true }
        scene.issuer.answer(at: scene.clock.now, scope: ["admin"])
        #expect(scene.failure() == .denied(.tooBroad))
        #expect(scene.log.kinds == [.refresh, .deny])
    }

    @Test func `a refresh for a proof has its line`() throws {
        let scene = try scene()
        scene.issuer.state.withLock { $0.isStale = true }
        #expect(throws: BrokerFailure(.failed, reason: "no_key")) {
            try scene.service.proof(
                entry: nil, method: "GET", url: "https://api.example.com/", nonce: nil, to: BrokerScene.caller)
        }
        #expect(scene.log.kinds == [.refresh, .deny])
    }

    @Test func `both refreshes have their lines when a refused token was stale`() throws {
        let scene = try scene()
        scene.issuer.state.withLock { $0.isStale = true }
        _ = try scene.service.replacement(of: Secret("t0"), entry: nil, to: BrokerScene.caller)
        #expect(scene.log.kinds == [.refresh, .refresh, .issue])
    }
}
