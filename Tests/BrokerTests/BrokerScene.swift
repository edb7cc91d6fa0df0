import CredentialCore
import StrictJSON
import Synchronization
import TestPorts

@testable import Broker

/// A broker in memory, with doubles of all its ports.
final class BrokerScene: Sendable {
    let clock = MemoryClock()
    let log = RecordedLog()
    let issuer = MemoryIssuer()
    let consent = MemoryConsent()
    let file = MemoryBrokerFile()
    let service: BrokerService
    static let caller = Caller(uid: 1_000, pid: 42, key: CallerKey(kind: .uid, value: "1000"))

    init(_ text: String = BrokerScene.open) throws {
        let configuration = try BrokerConfigurationTests.read(text)
        service = BrokerService(
            configuration,
            BrokerService.Parts(issuer: issuer, log: log, consent: consent, file: file, clock: clock))
        issuer.answer(at: clock.now)
    }

    /// One entry, and no prompts.
    static let open =
        #"{"entries":[{"name":"work","type":"Work","scope":["read","list"],"resource":["https://r.example/1","#
        + #""https://r.example/2"],"origins":["https://api.example.com"],"release":"token"}],"ask":"never"}"#

    /// Two entries, and no prompts.
    static let two =
        #"{"entries":[{"name":"work","type":"Work","release":"token"},{"name":"id","type":"Other","#
        + #""release":"id_token"},{"name":"hidden","type":"Third","release":"proxy-only"}],"ask":"never"}"#

    func release(_ change: (inout TokenAsk) -> Void = { _ in }) throws -> ReleasedToken {
        var ask = TokenAsk()
        change(&ask)
        return try service.release(ask, to: Self.caller)
    }

    /// Asks as git does, for the API of the entries.
    func askAsGit(entry: String? = nil) throws -> JSONObject {
        try service.helper(
            .git, input: JSONObject(["protocol": "https", "host": "api.example.com"]), entry: entry, to: Self.caller
        )
    }

    /// Has the host permit that API.
    func permitAPI() {
        issuer.state.withLock {
            $0.permission = HelperPermission(origin: "https://api.example.com", username: "oauth2")
        }
    }

    /// The failure of a request.
    func failure(_ change: (inout TokenAsk) -> Void = { _ in }) -> BrokerFailure? {
        do {
            _ = try release(change)
            return nil
        } catch { return error as? BrokerFailure }
    }
}

/// Keeps the events.
final class RecordedLog: AuditWriter {
    private let state = Mutex<(events: [AuditEvent], isFull: Bool)>(([], false))

    var events: [AuditEvent] { state.withLock { $0.events } }
    var kinds: [AuditEvent.What] { events.map(\.what) }
    func fill() { state.withLock { $0.isFull = true } }

    func write(_ event: AuditEvent) throws(CredentialError) {
        let isFull = state.withLock { state in
            if !state.isFull { state.events.append(event) }
            return state.isFull
        }
        if isFull { throw CredentialError(.inputOutput, "the disk is full") }
    }
}

/// Answers as it was told.
final class MemoryConsent: ConsentDecider {
    private let state = Mutex<(answer: ConsentAnswer, questions: [ConsentQuestion])>((.granted, []))

    func answer(_ answer: ConsentAnswer) { state.withLock { $0.answer = answer } }
    var questions: [ConsentQuestion] { state.withLock { $0.questions } }

    func decide(_ question: ConsentQuestion) -> ConsentAnswer {
        state.withLock { state in
            state.questions.append(question)
            return state.answer
        }
    }
}

/// A file that a test replaces.
final class MemoryBrokerFile: BrokerFile {
    private let change = Mutex<BrokerFileChange>(.same)
    func put(_ next: BrokerFileChange) { change.withLock { $0 = next } }
    func look() -> BrokerFileChange {
        change.withLock { change in
            defer { change = .same }
            return change
        }
    }
}

/// One account that has every token.
final class MemoryIssuer: TokenIssuer {
    struct State: Sendable {
        var token: AccessToken?
        var idToken: Secret?
        var failure: CredentialError?
        var orders: [TokenOrder] = []
        var refreshes = 0
        var permission: HelperPermission?
        /// When the ID token ends.
        var idTokenEnd: Timestamp?
        /// Whether each token is refreshed for its order.
        var isStale = false
        /// The credentials of each role.
        var credentials = JSONObject(["AccessKeyId": "AK"])
        /// The roles that were asked for.
        var roles: [String] = []
        /// The account's ID.
        var accountID = "3f0c"
        /// The account's ID after the next token; `nil` if it stays the same.
        var nextAccountID: String?
        /// Whether the user signs out while a token is issued.
        var signsOut = false
        /// The tokens that were revoked.
        var revoked: [Secret] = []
        /// Whether the provider has an endpoint for revocations.
        var canRevoke = true
        /// The type's own resource.
        var ownResource: String?
    }

    let state = Mutex(State())

    /// Has a token of an hour.
    func answer(at now: Timestamp, seconds: Int64 = 3_600, scope: [String] = ["read"], token: String = "t0") {
        state.withLock { state in
            state.token = AccessToken(
                key: TokenRequestKey(scope: scope), token: Secret(token), tokenType: "Bearer", issuedAt: now,
                expiresAt: now.adding(seconds), scope: scope)
        }
    }

    func fail(_ error: CredentialError?) { state.withLock { $0.failure = error } }
    var orders: [TokenOrder] { state.withLock { $0.orders } }

    func account(of entry: BrokerEntry) throws(CredentialError) -> any EntryAccount {
        let (failure, id) = state.withLock { ($0.failure, $0.accountID) }
        if let failure, failure.code == .noSuchAccount { throw failure }
        return MemoryAccount(owner: self, id: id, name: entry.account ?? "ada@example.com")
    }

    func defaults(ofType type: String) -> TypeDefaults { TypeDefaults(scope: ["read", "write"]) }

    func permission(
        for entry: BrokerEntry, at destination: HelperDestination
    ) throws(CredentialError) -> HelperPermission? {
        state.withLock { $0.permission }
    }

    private struct MemoryAccount: EntryAccount {
        let owner: MemoryIssuer
        let id: String
        let name: String
        var username: String? { name }
        var shownName: String { name }
        var issuer: String? { "https://login.example.com" }
        var ownScope: [String] { ["read", "write"] }
        var ownResource: String? { owner.state.withLock { $0.ownResource } }
        var ownAudience: String? { nil }
        func isCalled(_ name: String) -> Bool { name == self.name || name == id }
        func isSamePolicy(_ left: String?, _ right: String?) -> Bool { left == right }
        func effectiveScope(_ scope: [String]) -> [String] { scope + ["offline_access"] }

        func token(_ order: TokenOrder) throws(CredentialError) -> IssuedToken {
            let (failure, token, idToken, end, isStale) = owner.state.withLock { state in
                state.orders.append(order)
                if order.forceRefresh {
                    state.refreshes += 1
                    state.token?.token = Secret("t\(state.refreshes)")
                }
                let failure = state.failure
                if state.signsOut { state.failure = CredentialError(.noSuchAccount, "no account") }
                if let next = state.nextAccountID { state.accountID = next }
                return (failure, state.token, state.idToken, state.idTokenEnd, state.isStale)
            }
            if let failure { throw failure }
            guard let token else { throw CredentialError(.signInRequired, "no token") }
            return IssuedToken(
                token, idToken: idToken, idTokenExpiresAt: end, wasRefreshed: order.forceRefresh || isStale)
        }

        func proof(
            for token: IssuedToken, method: String, url: String, nonce: String?
        ) throws(CredentialError) -> String? {
            if !url.hasPrefix("https://") { throw CredentialError(.usage, "no URL") }
            return token.token.tokenType == "DPoP" ? "proof" : nil
        }

        func revoke(_ tokens: [AccessToken], revoked: (AccessToken) -> Void) throws(CredentialError) {
            try checkRevocation()
            owner.state.withLock { $0.revoked += tokens.map(\.token) }
            for token in tokens { revoked(token) }
        }

        func checkRevocation() throws(CredentialError) {
            if !owner.state.withLock({ $0.canRevoke }) { throw CredentialError(.unsupported, "no endpoint") }
        }

        func roleCredentials(_ role: String, by token: IssuedToken) -> JSONObject {
            owner.state.withLock { state in
                state.roles.append(role)
                return state.credentials
            }
        }
    }
}

/// A connection whose bytes a test has written beforehand.
final class ScriptedConnection: BrokerConnection {
    private struct State: Sendable {
        var input: [[UInt8]]
        var output: [UInt8] = []
    }

    private let state: Mutex<State>
    private let clock: MemoryClock?

    /// - Parameter clock: if the input is over, the peer is silent and this clock passes; else the stream ends.
    init(_ input: [[UInt8]], clock: MemoryClock? = nil) {
        state = Mutex(State(input: input))
        self.clock = clock
    }

    func read(atMost limit: Int, deadlineMilliseconds: Int) throws(CredentialError) -> [UInt8] {
        let piece = state.withLock { state -> [UInt8]? in
            guard !state.input.isEmpty else { return nil }
            let piece = Array(state.input[0].prefix(limit))
            state.input[0].removeFirst(piece.count)
            if state.input[0].isEmpty { state.input.removeFirst() }
            return piece
        }
        if let piece { return piece }
        guard let clock else { return [] }
        clock.pass(Int64(deadlineMilliseconds / 1_000) + 1)
        throw CredentialError(.temporary, "silent")
    }

    func write(_ bytes: [UInt8]) { state.withLock { $0.output += bytes } }

    var output: String { String(decoding: state.withLock { $0.output }, as: UTF8.self) }
}
