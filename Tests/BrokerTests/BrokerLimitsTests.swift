import Broker
import CredentialCore
import StrictJSON
import Testing

/// The limits of a broker's log, requests and refreshes, and the tokens that it revokes at its end.
struct BrokerLimitsTests {
    /// A broker with one entry and further members.
    private func scene(_ members: String = "", release: String = "token") throws -> BrokerScene {
        try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"\#(release)"}],"ask":"never"\#(members)}"#)
    }

    // MARK: The log

    @Test func `the log has one line for the denials that come after per_minute others`() throws {
        let scene = try scene(#","limits":{"per_minute":20}"#)
        for _ in 0..<1_000 {
            _ = scene.failure { ask in
                ask.entry = "other"
                ask.why = String(repeating: "日", count: 1_000)
            }
        }
        #expect(scene.log.events.map(\.reason) == Array(repeating: "not_in_broker", count: 20))
        #expect(scene.log.events.allSatisfy { $0.why?.utf8.count == 198 })
        scene.clock.pass(60)
        #expect(scene.failure() == nil)
        #expect(scene.log.events.dropFirst(20).map(\.reason) == ["suppressed:980", nil])
    }

    @Test func `the log tells the denials without a line when the broker ends`() throws {
        let scene = try scene(#","limits":{"per_minute":2}"#)
        for _ in 0..<5 { scene.service.refuse("language", BrokerScene.caller) }
        scene.service.finish()
        scene.service.finish()
        #expect(scene.log.events.map(\.reason) == ["language", "language", "suppressed:3"])
    }

    @Test func `a denial has its account when the entry is known`() throws {
        let scene = try scene()
        #expect(scene.failure { $0.scope = ["admin"] } == .denied(.tooBroad))
        #expect(scene.failure { $0.entry = "other" } == .denied(.notInBroker))
        #expect(scene.log.events.map(\.account) == ["3f0c", nil])
    }

    // MARK: Requests

    @Test func `a helper's request counts once when it is refused, and once when it is answered`() throws {
        let scene = try scene(#","limits":{"per_minute":2}"#)
        #expect(throws: BrokerFailure.denied(.origin)) { try scene.askAsGit() }
        scene.permitAPI()
        #expect(try scene.askAsGit()["password"] == "t0")
        #expect(throws: BrokerFailure(.rate, retryAfter: 60)) { try scene.askAsGit() }
        #expect(scene.log.kinds == [.deny, .issue, .deny])
    }

    @Test func `min_valid refreshes a token of one kind once in a minute`() throws {
        let scene = try scene()
        scene.issuer.state.withLock { $0.isStale = true }
        for _ in 0..<2 { _ = try scene.release { $0.minValid = 86_400 } }
        _ = try scene.release { ask in
            ask.scope = ["read"]
            ask.minValid = 86_400
        }
        scene.clock.pass(60)
        _ = try scene.release { $0.minValid = 86_400 }
        #expect(scene.issuer.orders.map(\.minValid) == [86_400, nil, 86_400, 86_400])
    }

    // MARK: Sign-outs

    @Test func `no token is released when the user signs out while it is issued`() throws {
        let scene = try scene()
        scene.issuer.state.withLock { $0.signsOut = true }
        #expect(scene.failure()?.error == .signInRequired)
        #expect(scene.log.kinds == [.deny])
    }

    @Test func `no token is released when the entry means another account meanwhile`() throws {
        let scene = try scene()
        scene.issuer.state.withLock { $0.nextAccountID = "4f0c" }
        #expect(scene.failure() == BrokerFailure(.signInRequired))
        #expect(scene.failure() == nil)
        #expect(scene.log.events.map(\.account) == ["3f0c", "4f0c"])
    }

    // MARK: The end

    private static let revoking = #","own_token":true,"revoke_at_end":true,"token_life_at_most":600"#

    @Test func `the first token of each kind is a new one when the broker revokes its tokens`() throws {
        let scene = try scene(Self.revoking)
        for _ in 0..<2 { _ = try scene.release() }
        for _ in 0..<2 { _ = try scene.release { $0.scope = ["read"] } }
        #expect(scene.issuer.orders.map(\.forceRefresh) == [true, false, true, false])
    }

    @Test func `a broker that revokes its tokens knows each until its end`() throws {
        let scene = try scene(Self.revoking)
        for _ in 0..<2 { _ = try scene.release() }
        _ = try scene.service.replacement(of: Secret("t1"), entry: nil, to: BrokerScene.caller)
        let released = scene.service.released()
        #expect(released.map { $0.entry.name } == ["w"])
        #expect(released.map { $0.tokens.map(\.token) } == [[Secret("t1"), Secret("t2")]])
        for part in released { try part.account.revoke(part.tokens) { _ in } }
        #expect(scene.issuer.state.withLock { $0.revoked } == [Secret("t1"), Secret("t2")])
        scene.clock.pass(3_600)
        #expect(scene.service.released().isEmpty)
    }

    @Test func `a broker keeps no token when it does not revoke its tokens`() throws {
        let scene = try scene()
        _ = try scene.release()
        #expect(scene.service.released().isEmpty)
    }

    @Test func `token_life_at_most bounds ID tokens when the broker revokes its access tokens`() throws {
        let scene = try scene(Self.revoking, release: "id_token"), now = scene.clock.now
        scene.issuer.state.withLock { state in
            state.idToken = Secret("i")
            state.idTokenEnd = now.adding(601)
        }
        #expect(scene.failure() == nil)
        #expect(scene.failure { $0.wantsIDToken = true } == .denied(.tooLong))
    }
}
