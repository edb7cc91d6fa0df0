import Broker
import CredentialCore
import Foundation
import StrictJSON
import Synchronization
import Testing

@testable import Commands

/// The revocations at the end of a broker.
@Suite struct EndRevocationTests {
    private func part(
        _ entry: String, of account: String = "3f0c", _ behaviour: @escaping ScriptedAccount.Behaviour
    ) -> EndRevocation.Part {
        let now = Timestamp(epochSeconds: 1_000)
        let tokens = ["a", "b"].map { text in
            AccessToken(
                key: TokenRequestKey(scope: []), token: Secret(text), tokenType: "Bearer", issuedAt: now,
                expiresAt: now.adding(600), scope: [])
        }
        let account = ScriptedAccount(account, behaviour)
        return (entry: BrokerEntry(name: entry, type: "Work"), account: account, tokens: tokens)
    }

    @Test func `a provider that is silent ends the wait, and delays no other one`() {
        let silence = DispatchSemaphore(value: 0)
        defer { silence.signal() }
        let late = part("late") { _, _ in _ = silence.wait(timeout: .now() + 20) }
        let good = part("good", of: "77aa") { tokens, revoked in for token in tokens { revoked(token) } }
        let rest = EndRevocation.run([late, good], milliseconds: 1_000)
        #expect(rest.map(\.entry) == ["late"])
        #expect(rest.map(\.count) == [2])
        #expect(
            rest.first?.warning.message
                == "the broker has not revoked 2 access tokens of account 3f0c, entry late: the revocation took "
                + "longer than 1 s")
        #expect(
            rest.first?.event == AuditEvent(.stop, entry: "late", account: "3f0c", reason: "not_revoked:2"))
    }

    @Test func `the entries of one account follow each other`() {
        let isBusy = Mutex(false), overlaps = Mutex(0)
        let revoke: ScriptedAccount.Behaviour = { tokens, revoked in
            if isBusy.withLock({ old in
                defer { old = true }
                return old
            }) {
                overlaps.withLock { $0 += 1 }
            }
            for token in tokens { revoked(token) }
            isBusy.withLock { $0 = false }
        }
        #expect(EndRevocation.run((1...20).map { part("entry-\($0)", revoke) }).isEmpty)
        #expect(overlaps.withLock(\.self) == 0)
    }

    @Test func `the tokens that were revoked before a failure are not reported`() {
        let failing = part("work") { (tokens, revoked) throws(CredentialError) in
            revoked(tokens[0])
            throw CredentialError(.temporary, "no reply", hint: "try again")
        }
        let rest = EndRevocation.run([failing])
        #expect(
            rest.first?.warning.message
                == "the broker has not revoked 1 access token of account 3f0c, entry work: no reply")
        #expect(rest.first?.warning.code == .temporary)
        #expect(rest.first?.warning.hint == "try again")
        #expect(rest.first?.event?.reason == "not_revoked:1")
    }

    @Test func `a failure after all revocations is a warning without a line of the log`() {
        let failing = part("work") { (tokens, revoked) throws(CredentialError) in
            for token in tokens { revoked(token) }
            throw CredentialError(.inputOutput, "the disk is full")
        }
        let rest = EndRevocation.run([failing])
        #expect(rest.map(\.warning.message) == ["the disk is full"])
        #expect(rest.first?.event == nil)
    }

    @Test func `a broker without released tokens waits for no revocation`() {
        #expect(EndRevocation.run([]).isEmpty)
    }
}

/// An account whose revocations a test scripts.
private struct ScriptedAccount: EntryAccount {
    typealias Behaviour =
        @Sendable (_ tokens: [AccessToken], _ revoked: (AccessToken) -> Void) throws(CredentialError) -> Void

    private let behaviour: Behaviour

    init(_ id: String, _ behaviour: @escaping Behaviour) {
        self.id = id
        self.behaviour = behaviour
    }

    let id: String
    var username: String? { nil }
    var shownName: String { id }
    var issuer: String? { nil }
    var ownScope: [String] { [] }
    var ownResource: String? { nil }
    var ownAudience: String? { nil }
    func isCalled(_ name: String) -> Bool { false }
    func isSamePolicy(_ left: String?, _ right: String?) -> Bool { true }
    func effectiveScope(_ scope: [String]) -> [String] { scope }
    func token(_ order: TokenOrder) throws(CredentialError) -> IssuedToken { throw Self.unexpected }
    func proof(
        for token: IssuedToken, method: String, url: String, nonce: String?
    ) throws(CredentialError) -> String? { throw Self.unexpected }
    func roleCredentials(_ role: String, by token: IssuedToken) throws(CredentialError) -> JSONObject {
        throw Self.unexpected
    }
    func checkRevocation() {}

    func revoke(_ tokens: [AccessToken], revoked: (AccessToken) -> Void) throws(CredentialError) {
        try behaviour(tokens, revoked)
    }

    private static var unexpected: CredentialError { CredentialError(.internalFault, "unexpected") }
}
