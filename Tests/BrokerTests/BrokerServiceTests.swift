import Broker
import CredentialCore
import Foundation
import StrictJSON
import Synchronization
import Testing

/// The rules of a broker, with doubles of its ports.
struct BrokerServiceTests {
    private let scene: BrokerScene

    init() throws { scene = try BrokerScene() }

    @Test func `a request without words gets the token of the only entry`() throws {
        let token = try scene.release()
        #expect(token.accessToken == Secret("t0"))
        #expect(token.expiresOn == scene.clock.now.epochSeconds + 3_600)
        #expect(token.accountID == "3f0c")
        #expect(scene.issuer.orders.map(\.scope) == [["read", "list"]])
        #expect(scene.issuer.orders.map(\.resource) == ["https://r.example/1"])
        #expect(scene.log.kinds == [.issue])
        #expect(scene.log.events[0].token == Secret("t0"))
    }

    @Test func `a request narrows the entry when its words are a part of the entry's`() throws {
        _ = try scene.release { ask in
            ask.scope = ["read"]
            ask.resource = "https://r.example/2"
            ask.origin = "https://api.example.com:443"
            ask.account = "ada@example.com"
            ask.minValid = 90
        }
        let order = try #require(scene.issuer.orders.first)
        #expect(order.scope == ["read"])
        #expect(order.resource == "https://r.example/2")
        #expect(order.minValid == 90)
    }

    @Test func `a request is denied with a reason when it is wider than the entry`() {
        func reason(_ change: (inout TokenAsk) -> Void) -> String? { scene.failure(change)?.reason }
        #expect(reason { $0.scope = ["read", "admin"] } == "too_broad")
        #expect(reason { $0.resource = "https://r.example/3" } == "too_broad")
        #expect(reason { $0.audience = "other" } == "too_broad")
        #expect(reason { $0.origin = "https://evil.example" } == "origin")
        #expect(reason { $0.origin = "https://api.example.com/path" } == "origin")
        #expect(reason { $0.account = "bob@example.com" } == "not_in_broker")
        #expect(reason { $0.policy = "edit" } == "not_in_broker")
        #expect(reason { $0.entry = "other" } == "not_in_broker")
        #expect(reason { $0.type = "Other" } == "not_in_broker")
        #expect(reason { $0.wantsIDToken = true } == "id_token")
        #expect(scene.issuer.orders.isEmpty)
        #expect(Set(scene.log.kinds) == [.deny])
        #expect(scene.log.events.count == 10)
    }

    @Test func `a granted scope that is wider than the entry is too broad unless the entry accepts it`() throws {
        scene.issuer.answer(at: scene.clock.now, scope: ["read", "offline_access"])
        #expect(scene.failure() == nil)
        scene.issuer.answer(at: scene.clock.now, scope: ["read", "admin"])
        #expect(scene.failure() == .denied(.tooBroad))
        let accepting = try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","scope":["read"],"release":"token","broader":"accept"}],"ask":"never"}"#
        )
        accepting.issuer.answer(at: accepting.clock.now, scope: ["read", "admin"])
        #expect(try accepting.release().scope == ["read", "admin"])
    }

    @Test func `a token is never released when it has ended`() {
        scene.clock.pass(3_600)
        #expect(scene.failure()?.error == .temporary)
        scene.clock.pass(100)
        #expect(scene.failure()?.error == .temporary)
        #expect(!scene.log.kinds.contains(.issue))
    }

    @Test func `the entry must be named when the broker has several`() throws {
        let scene = try BrokerScene(BrokerScene.two)
        #expect(scene.failure() == BrokerFailure(.ambiguous))
        #expect(try scene.release { $0.type = "Work" }.accountType == "Work")
        #expect(scene.failure { $0.entry = "hidden" } == .denied(.proxyOnly))
        scene.issuer.state.withLock { $0.idToken = Secret("i") }
        let token = try scene.release { ask in
            ask.entry = "id"
            ask.wantsIDToken = true
        }
        #expect(token.idToken == Secret("i"))
    }

    @Test func `the account chooses among entries of one type`() throws {
        let scene = try BrokerScene(
            #"{"entries":[{"name":"a","type":"Work","account":"ada@example.com","release":"token"},"#
                + #"{"name":"b","type":"Work","account":"bob@example.com","release":"token"}],"ask":"never"}"#)
        #expect(scene.failure { $0.type = "Work" } == BrokerFailure(.ambiguous))
        for name in ["ada@example.com", "bob@example.com"] {
            let token = try scene.release { ask in
                ask.type = "Work"
                ask.account = name
            }
            #expect(token.username == name)
        }
        #expect(scene.failure { $0.account = "eve@example.com" } == .denied(.notInBroker))
        // Both entries have the account with this ID.
        #expect(scene.failure { $0.account = "3f0c" } == BrokerFailure(.ambiguous))
    }

    @Test func `a malformed request counts for the limit, and a scan of a port does not`() throws {
        let scene = try BrokerScene(
            #"{"entries":[{"name":"a","type":"Work","release":"token"}],"ask":"never","limits":{"per_minute":2}}"#)
        for _ in 0..<5 { scene.service.refuse("language", BrokerScene.caller) }
        #expect(scene.failure() == nil)
        scene.service.refuse("malformed", BrokerScene.caller, counts: true)
        #expect(scene.failure()?.error == .rate)
        #expect(scene.log.events.map(\.reason) == ["language", "language", nil])
    }

    @Test(arguments: [
        (ErrorCode.signInRequired, BrokerError.signInRequired), (.noSuchAccount, .signInRequired),
        (.storeLocked, .locked), (.storeUnavailable, .locked), (.temporary, .temporary), (.lockTimeout, .temporary),
        (.ambiguousAccount, .ambiguous), (.denied, .denied), (.validationFailed, .denied),
        (.internalFault, .failed),
        (.configuration, .failed),
    ])
    func `an error of the host's code has its reply`(code: ErrorCode, error: BrokerError) {
        scene.issuer.fail(CredentialError(code, "no"))
        #expect(scene.failure()?.error == error)
    }

    @Test func `a token with a longer life is refused when token_life_at_most is shorter`() throws {
        let scene = try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"token"}],"ask":"never","token_life_at_most":600}"#)
        #expect(scene.failure() == .denied(.tooLong))
        scene.issuer.answer(at: scene.clock.now, seconds: 600)
        #expect(scene.failure() == nil)
    }

    @Test func `own_token makes the broker's name a part of the order`() throws {
        let scene = try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"token"}],"ask":"never","own_token":true}"#)
        _ = try scene.release()
        #expect(scene.issuer.orders.map(\.owner) == ["b"])
    }

    @Test func `a request is rate when a minute has more than per_minute`() throws {
        let scene = try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"token"}],"ask":"never","limits":{"per_minute":2}}"#)
        #expect(scene.failure() == nil)
        scene.clock.pass(10)
        #expect(scene.failure() == nil)
        #expect(scene.failure() == BrokerFailure(.rate, retryAfter: 50))
        scene.clock.pass(50)
        #expect(scene.failure() == nil)
    }

    @Test func `a broker has ended at until, and for starts with the first connection`() throws {
        let end = scene.clock.now.adding(100).rfc3339
        let until = try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"token"}],"ask":"never","until":"\#(end)"}"#)
        #expect(until.failure() == nil)
        until.clock.pass(100)
        #expect(until.failure() == BrokerFailure(.ended))
        let timed = try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"token"}],"ask":"never","for":60}"#)
        timed.clock.pass(500)
        #expect(timed.service.end == nil)
        timed.service.noteConnection()
        #expect(timed.failure() == nil)
        timed.clock.pass(60)
        #expect(timed.failure() == BrokerFailure(.ended))
    }

    @Test func `a replaced file applies to the next request when it is narrower`() throws {
        #expect(scene.failure { $0.scope = ["list"] } == nil)
        scene.file.put(
            .replaced(
                try BrokerConfigurationTests.read(
                    BrokerScene.open.replacing(#"["read","list"]"#, with: #"["read","admin"]"#))))
        #expect(scene.failure { $0.scope = ["list"] } == .denied(.tooBroad))
        #expect(scene.failure { $0.scope = ["admin"] } == .denied(.tooBroad))
        #expect(scene.failure { $0.scope = ["read"] } == nil)
        scene.file.put(.unusable(CredentialError(.configuration, "unknown key")))
        #expect(scene.failure() == BrokerFailure(.failed, reason: "configuration"))
        scene.file.put(.removed)
        #expect(scene.failure() == BrokerFailure(.ended))
    }

    @Test func `a wider file applies at the next start when a narrower one came before`() throws {
        let narrower = BrokerScene.open.replacing(#"["read","list"]"#, with: #"["read"]"#)
        scene.file.put(.replaced(try BrokerConfigurationTests.read(narrower)))
        #expect(scene.failure { $0.scope = ["list"] } == .denied(.tooBroad))
        scene.file.put(.replaced(try BrokerConfigurationTests.read(BrokerScene.open)))
        #expect(scene.failure { $0.scope = ["list"] } == .denied(.tooBroad))
    }

    @Test func `a request waits for the file when another request reads it`() throws {
        let narrower = BrokerScene.open.replacing(#"["read","list"]"#, with: #"["read"]"#)
        let file = SlowBrokerFile(try BrokerConfigurationTests.read(narrower))
        let service = BrokerService(
            try BrokerConfigurationTests.read(BrokerScene.open),
            BrokerService.Parts(
                issuer: scene.issuer, log: scene.log, consent: scene.consent, file: file, clock: scene.clock))
        let reader = Thread { service.readAgain() }
        reader.start()
        #expect(file.hasEntered.wait(timeout: .now() + SlowBrokerFile.limit) == .success)
        let failure = Mutex<BrokerFailure?>(nil), isDone = DispatchSemaphore(value: 0)
        let asker = Thread {
            var ask = TokenAsk()
            ask.scope = ["list"]
            do throws(BrokerFailure) { _ = try service.release(ask, to: BrokerScene.caller) } catch {
                failure.withLock { $0 = error }
            }
            file.isAnswered.signal()
            isDone.signal()
        }
        asker.start()
        #expect(isDone.wait(timeout: .now() + SlowBrokerFile.limit) == .success)
        #expect(failure.withLock { $0 } == .denied(.tooBroad))
    }

    @Test func `narrowed receives the configuration after a replacement`() throws {
        let box = CurrentConfiguration(try BrokerConfigurationTests.read(BrokerScene.open))
        let narrower = BrokerScene.open.replacing(#""ask":"never""#, with: #""ask":"always","remember":"1h""#)
        scene.file.put(.replaced(try BrokerConfigurationTests.read(narrower)))
        let service = BrokerService(
            box.now,
            BrokerService.Parts(
                issuer: scene.issuer, log: scene.log, consent: scene.consent, file: scene.file, clock: scene.clock,
                narrowed: { box.put($0) }))
        service.readAgain()
        #expect(box.now.ask == .always)
        #expect(box.now.remember == 3_600)
    }

    @Test func `a full log releases no token unless on_failure is continue`() throws {
        scene.log.fill()
        #expect(scene.failure() == BrokerFailure(.temporary, reason: "audit", retryAfter: 5))
        let going = try BrokerScene(
            #"{"entries":[{"name":"w","type":"Work","release":"token"}],"ask":"never","audit":{"on_failure":"continue"}}"#
        )
        going.log.fill()
        #expect(going.failure() == nil)
    }

    @Test(arguments: [
        (ConsentAnswer.refused, "user_refused"), (.refusedForNow, "user_refused"), (.noPrompt, "no_prompt"),
        (.closeBroker, "user_refused"),
    ])
    func `the user's refusal denies the request`(answer: ConsentAnswer, reason: String) throws {
        let scene = try BrokerScene(#"{"entries":[{"name":"w","type":"Work","release":"token"}]}"#)
        #expect(scene.failure() == nil)
        #expect(scene.consent.questions.map(\.account) == ["ada@example.com"])
        #expect(scene.consent.questions.map(\.scope) == [["read", "write"]])
        scene.consent.answer(answer)
        #expect(scene.failure()?.reason == reason)
        #expect(scene.service.hasEnded == (answer == .closeBroker))
    }

    // MARK: refused

    @Test func `refused refreshes once in a minute when the token is the current one`() throws {
        func replace(_ token: String) throws -> ReleasedToken {
            try scene.service.replacement(of: Secret(token), entry: nil, to: BrokerScene.caller)
        }
        #expect(try replace("t0").accessToken == Secret("t1"))
        // Another sandbox had the same token.
        #expect(try replace("t0").accessToken == Secret("t1"))
        #expect(throws: BrokerFailure(.rate, retryAfter: 60)) { try replace("t1") }
        scene.clock.pass(60)
        #expect(try replace("t1").accessToken == Secret("t2"))
        #expect(scene.log.kinds == [.refresh, .issue, .issue, .deny, .refresh, .issue])
    }

    // MARK: Helpers

    @Test func `git gets the token when the host permits the server`() throws {
        #expect(throws: BrokerFailure.denied(.origin)) { try scene.askAsGit() }
        scene.permitAPI()
        let output = try scene.askAsGit()
        #expect(output["username"] == "oauth2")
        #expect(output["password"] == "t0")
        scene.issuer.state.withLock {
            $0.permission = HelperPermission(origin: "https://other.example.com", username: "oauth2")
        }
        #expect(throws: BrokerFailure.denied(.origin)) { try scene.askAsGit() }
    }

    @Test func `a helper gets the default name of its request when no rule names a user`() throws {
        func name(_ usual: String) throws -> String? {
            let input = JSONObject([
                "protocol": "https", "host": "api.example.com", "default_username": .string(usual),
            ])
            let output = try scene.service.helper(.git, input: input, entry: nil, to: BrokerScene.caller)
            return output["username"]?.string
        }
        scene.permitAPI()
        #expect(try name("") == "oauth2")
        scene.issuer.state.withLock {
            $0.permission = HelperPermission(origin: "https://api.example.com", username: nil)
        }
        #expect(try name("") == "")
        #expect(try name("__token__") == "__token__")
        #expect(try scene.askAsGit()["username"] == "oauth2")
    }
}

/// A file whose first look lasts until another request has its answer, or a moment.
private final class SlowBrokerFile: BrokerFile {
    /// The limit of each wait, in seconds.
    static let limit = 20.0
    /// How long the first look lasts at most, in seconds.
    private static let moment = 0.3

    let hasEntered = DispatchSemaphore(value: 0)
    let isAnswered = DispatchSemaphore(value: 0)
    private let newer: BrokerConfiguration
    private let isFirst = Mutex(true)

    init(_ newer: BrokerConfiguration) { self.newer = newer }

    func look() -> BrokerFileChange {
        let first = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        guard first else { return .same }
        hasEntered.signal()
        _ = isAnswered.wait(timeout: .now() + Self.moment)
        return .replaced(newer)
    }
}
