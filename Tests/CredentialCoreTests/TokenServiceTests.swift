import CredentialCore
import CryptoSupport
import Synchronization
import TestPorts
import Testing

/// Which token is given, and that one refresh is enough for everybody.
@Suite struct TokenServiceTests {
    private static func signedIn(_ store: StoreKind = .secretService) throws -> ServiceScene {
        let scene = ServiceScene(cryptography: LibCryptography(), store: store)
        try scene.signIn()
        return scene
    }

    /// The same when the first token has ended.
    private static func ended(_ store: StoreKind = .secretService) throws -> ServiceScene {
        let scene = try signedIn(store)
        scene.passLife()
        return scene
    }

    private let trouble = CredentialError(.temporary, "no reply came")

    @Test func `the token of the sign-in is given while it is fresh, and kept in the cache`() throws {
        let scene = try Self.signedIn()
        let answer = try scene.token(scene.request())
        #expect(answer.token.token.reveal() == "access-ada-1")
        #expect(!answer.refreshed)
        #expect(scene.machine.provider.refreshes.isEmpty)
        #expect(scene.machine.hasCachedTokens)
        #expect(!scene.machine.hasLocks)
    }

    @Test func `one that has ended, or lives too short, is refreshed`() throws {
        let scene = try Self.ended()
        #expect(try scene.token(scene.request()).token.token.reveal() == "access-ada-2")
        scene.machine.clock.pass(60)
        let longer = try scene.token(scene.request(atLeast: 3_600))
        #expect(longer.refreshed)
        #expect(longer.token.token.reveal() == "access-ada-3")
        #expect(try scene.token(scene.request(force: true)).token.token.reveal() == "access-ada-4")
        #expect(scene.machine.events.map(\.kind).filter { $0 == .tokenRefreshed }.count == 3)
    }

    @Test func `a new token that lives shorter than asked for comes with a warning`() throws {
        let scene = try Self.signedIn()
        let answer = try scene.token(scene.request(atLeast: 7_200))
        #expect(answer.refreshed)
        #expect(answer.warnings == ["the provider's tokens are valid for less than the requested 7200 s"])
    }

    @Test func `if the refresh fails the old token is returned until it expires, unless a new one was required`()
        throws
    {
        let scene = try Self.signedIn()
        scene.machine.provider.fail(with: trouble)
        scene.machine.clock.pass(3_590)
        let answer = try scene.token(scene.request())
        #expect(answer.token.token.reveal() == "access-ada-1")
        #expect(answer.failure == trouble)
        #expect(answer.warnings == ["this token ends in 10 s; it could not be refreshed: no reply came"])
        #expect(throws: trouble) { try scene.token(scene.request(force: true)) }
        #expect(throws: trouble) { try scene.token(scene.request(atLeast: 60)) }
        scene.machine.clock.pass(10)
        #expect(throws: trouble) { try scene.token(scene.request()) }
    }

    @Test(arguments: [
        ErrorCode.signInRequired, .denied, .malformedReply, .configuration, .storeUnavailable,
    ])
    func `whatever the refresh fails by, a token that is still good is given, and why`(code: ErrorCode) throws {
        let scene = try Self.signedIn(), failure = CredentialError(code, "so it is", hint: "credmgr doctor")
        scene.machine.provider.fail(with: failure)
        scene.machine.clock.pass(3_590)
        let answer = try scene.token(scene.request())
        #expect(answer.token.token.reveal() == "access-ada-1" && answer.failure?.code == code)
        #expect(answer.warnings.count == 1 && answer.failure?.hint != nil)
        #expect((scene.account()?.status == .active) == (code != .signInRequired))
        #expect(throws: CredentialError.self) { try scene.token(scene.request(force: true)) }
        scene.machine.clock.pass(10)
        #expect(throws: CredentialError.self) { try scene.token(scene.request()) }
    }

    @Test(arguments: [ErrorCode.validationFailed, .storeLocked, .cancelled, .interrupted])
    func `an invalid response, an unreadable set or an ended sign-in gives no token and causes no second read`(
        code: ErrorCode
    ) throws {
        let scene = try Self.signedIn(), failure = CredentialError(code, "so it is"), trace = PortTrace()
        scene.machine.provider.fail(with: failure)
        scene.machine.clock.pass(3_590)
        let error = #expect(throws: CredentialError.self) { try scene.token(scene.request(), trace) }
        #expect(error?.code == code && error?.message == failure.message)
        #expect(Self.readsBehindRefresh(trace).isEmpty)
        scene.machine.provider.fail(with: nil)
        #expect(try scene.token(scene.request()).refreshed)
    }

    @Test func `if a new token is required and cannot be had no second read follows`() throws {
        let scene = try Self.signedIn()
        scene.machine.provider.fail(with: trouble)
        scene.machine.clock.pass(3_590)
        for request in [try scene.request(force: true), try scene.request(atLeast: 60)] {
            let trace = PortTrace()
            #expect(throws: trouble) { try scene.token(request, trace) }
            #expect(Self.readsBehindRefresh(trace).isEmpty)
        }
        let trace = PortTrace()
        #expect(try scene.token(scene.request(), trace).failure == trouble)
        #expect(!Self.readsBehindRefresh(trace).isEmpty)
    }

    /// The records and stores that were read once the provider had been asked.
    private static func readsBehindRefresh(_ trace: PortTrace) -> [String] {
        trace.calls.drop { $0 != "provider.refresh" }.filter {
            $0 == "records.read" || $0.hasSuffix("service.read")
        }
    }

    @Test(arguments: [false, true])
    func `new tokens that nothing keeps are an error, though the old one still lives`(hasWorker: Bool) throws {
        let scene = try Self.signedIn(), trace = PortTrace()
        scene.machine.clock.pass(3_590)
        for call in ["secret-service.write", "journal.write"] {
            trace.fail(call, with: CredentialError(.storeUnavailable, "it is full"))
        }
        let error = #expect(throws: CredentialError.self) {
            if hasWorker {
                try scene.token(scene.request(), worker: trace)
            } else {
                try scene.token(scene.request(), trace)
            }
        }
        #expect(error?.code == .storeUnavailable && error?.message.contains("cannot save the new tokens") == true)
        #expect(scene.machine.provider.refreshes.count == 1)
    }

    @Test func `without space for new tokens no request is sent, and the old one is returned`() throws {
        let scene = try Self.signedIn(), trace = PortTrace()
        scene.machine.clock.pass(3_590)
        trace.fail("journal.reserve", with: CredentialError(.inputOutput, "no space left on device"))
        let answer = try scene.token(scene.request(), trace)
        #expect(answer.token.token.reveal() == "access-ada-1" && answer.failure?.code == .storeUnavailable)
        #expect(scene.machine.provider.refreshes.isEmpty)
    }

    @Test func `only callers that need a new token wait for an active peer`() throws {
        let scene = try Self.signedIn()
        let account = try #require(scene.account()), peer = scene.services()
        let lock = try peer.machine.locks.lock(account.id, in: scene.group, seconds: 1)
        #expect(try scene.token(scene.request()).token.token.reveal() == "access-ada-1")
        scene.machine.clock.pass(3_590)
        let answer = try scene.token(scene.request())
        #expect(answer.token.token.reveal() == "access-ada-1")
        #expect(answer.failure?.code == .lockTimeout)
        scene.machine.clock.pass(10)
        let error = #expect(throws: CredentialError.self) { try scene.token(scene.request()) }
        #expect(error?.code == .lockTimeout)
        #expect(scene.machine.provider.refreshes.isEmpty)
        lock.release()
        #expect(try scene.token(scene.request()).refreshed)
    }

    @Test func `how long a peer was waited for is not told by the clock that people set`() throws {
        let scene = try Self.ended()
        let account = try #require(scene.account())
        let lock = try scene.services().machine.locks.lock(account.id, in: scene.group, seconds: 1)
        let caller = PortTrace(), programs = RecordedWorker()
        caller.act(before: "locks.lock") {
            scene.machine.clock.pass(3)
            scene.machine.clock.set(by: 7_200)
            lock.release()
        }
        let services = AccountServices(
            scene.machine.process(caller, programs: programs), AccountPolicy(refreshes: .worker),
            Configuration())
        #expect(throws: RecordedWorker.ended) { try services.tokens.token(scene.request(force: true)) }
        let job = try #require(programs.jobs.withLock { $0 }.last)
        #expect(try RefreshWorkerProtocol.decodeRequest(job).waited == 3)
        // A group of this machine alone has no others to answer.
        #expect(caller.lockSeconds == 60)
    }

    @Test func `without working locks no token is refreshed, and a fresh one is returned`() throws {
        let scene = try Self.signedIn(), trace = PortTrace()
        let noLocks = CredentialError(.storeUnavailable, "no locks available")
        trace.fail("locks.try", with: noLocks)
        #expect(try scene.token(scene.request(), trace).token.token.reveal() == "access-ada-1")
        #expect(throws: noLocks) { try scene.token(scene.request(force: true), trace) }
        scene.passLife()
        #expect(throws: noLocks) { try scene.token(scene.request(), trace) }
        #expect(scene.machine.provider.refreshes.isEmpty)
    }

    @Test func `secrets that are gone are a sign-in to be done again`() throws {
        let scene = try Self.signedIn()
        let id = try #require(scene.account()?.id)
        scene.machine.removeSecrets(of: id)
        let error = #expect(throws: CredentialError.self) { try scene.token(scene.request()) }
        #expect(error?.code == .signInRequired)
        #expect(error?.hint?.hasPrefix("credmgr login --account \(id)") == true)
    }

    // MARK: Stops and meetings

    @Test(arguments: StoreKind.allCases)
    func `a caller that is stopped anywhere costs no sign-in, for the worker goes on`(store: StoreKind) throws {
        try PortWalk.ending(
            { try Self.ended(store) },
            { scene, trace in try scene.token(scene.request(), trace, worker: PortTrace()) }
        ) { scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            let answer = try scene.token(scene.request())
            #expect(answer.token.token.reveal() == "access-ada-2", "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `two that meet anywhere have the same token of one refresh`(store: StoreKind) throws {
        let given = Given()
        try PortWalk.meeting(
            {
                given.clear()
                return try Self.ended(store)
            },
            { scene, trace in given.add(try scene.token(scene.request(), trace, worker: PortTrace())) },
            peer: { scene in given.add(try scene.token(scene.request(), worker: PortTrace())) }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            #expect(given.tokens == ["access-ada-2", "access-ada-2"], "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
            #expect(!scene.machine.hasLocks, "\(place)")
        }
    }
}

/// The tokens that were given.
private final class Given: Sendable {
    private let all = Mutex<[String]>([])

    var tokens: [String] { all.withLock { $0 } }
    func add(_ answer: TokenService.Answer) { all.withLock { $0.append(answer.token.token.reveal()) } }
    func clear() { all.withLock { $0 = [] } }
}

/// Keeps the requests to a worker, which ends without an answer.
private final class RecordedWorker: ProcessRunner {
    static let ended = CredentialError(.temporary, "the worker has ended")
    let jobs = Mutex<[[UInt8]]>([])

    func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult { throw Self.ended }

    func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
    ) throws(CredentialError) -> [UInt8] {
        jobs.withLock { $0.append(input) }
        throw Self.ended
    }
}
