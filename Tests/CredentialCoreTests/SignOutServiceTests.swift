import CredentialCore
import CryptoSupport
import Synchronization
import TestPorts
import Testing

/// The data that is left of an account that was signed out, with any event meanwhile.
@Suite struct SignOutServiceTests {
    private static func signedIn(_ store: StoreKind = .secretService) throws -> ServiceScene {
        let scene = ServiceScene(cryptography: LibCryptography(), store: store)
        try scene.signIn()
        return scene
    }

    @Test(arguments: StoreKind.allCases)
    func `nothing is left of it`(store: StoreKind) throws {
        let scene = try Self.signedIn(store)
        try scene.token(scene.request(force: true))
        #expect(scene.machine.hasCachedTokens)
        try scene.signOut()
        #expect(scene.machine.accounts().isEmpty)
        #expect(scene.machine.secrets().isEmpty)
        #expect(scene.machine.journaled().isEmpty)
        #expect(!scene.machine.hasCachedTokens)
        #expect(!scene.machine.hasLocks)
        #expect(scene.machine.events.last?.kind == .accountRemoved)
    }

    @Test func `the grants reach the revocation before they are removed`() throws {
        let scene = try Self.signedIn()
        let account = try #require(scene.account())
        var given: [Secret?] = []
        try scene.services().signOut.forget(account, policy: nil, in: scene.group) {
            (grants) throws(CredentialError) in
            given = grants.map(\.grant).map(\.grant.refreshToken)
            #expect(scene.machine.secrets().count == 1)
            #expect(scene.machine.hasLocks)
        }
        #expect(given.map { $0?.reveal() } == ["refresh-ada-1"])
    }

    @Test func `one that cannot be revoked stays, whole`() throws {
        let scene = try Self.signedIn()
        let account = try #require(scene.account())
        #expect(throws: CredentialError(.temporary, "no reply")) {
            try scene.services().signOut.forget(account, policy: nil, in: scene.group) {
                (_) throws(CredentialError) in throw CredentialError(.temporary, "no reply")
            }
        }
        #expect(scene.machine.accounts() == [account])
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `one policy goes alone, and the account with the last`() throws {
        let scene = ServiceScene(cryptography: LibCryptography())
        try scene.signIn(policy: "one")
        try scene.signIn(policy: "two")
        let error = #expect(throws: CredentialError.self) { try scene.signOut(policy: "three") }
        #expect(error?.code == .noSuchAccount)
        try scene.signOut(policy: "one")
        #expect(scene.account()?.policies == ["two"])
        try scene.signOut(policy: "two")
        #expect(scene.machine.accounts().isEmpty)
        #expect(scene.machine.secrets().isEmpty)
    }

    @Test func `if the store fails the account is unchanged`() throws {
        let scene = try Self.signedIn()
        let before = scene.machine.accounts()
        scene.machine.breakStore(.secretService, with: CredentialError(.storeLocked, "it is locked"))
        let error = #expect(throws: CredentialError.self) { try scene.signOut() }
        #expect(error?.code == .storeLocked)
        scene.machine.breakStore(.secretService, with: nil)
        #expect(scene.machine.accounts() == before)
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `if the record cannot be removed the journaled token set stays the account's`() throws {
        let scene = try Self.signedIn(.file)
        let full = CredentialError(.inputOutput, "no space left on device")
        let trace = PortTrace()
        for call in ["records.write", "records.remove"] { trace.fail(call, with: full) }
        try scene.token(scene.request(force: true), trace)
        #expect(scene.machine.journaled().count == 1)
        let error = #expect(throws: CredentialError.self) { try scene.signOut(trace) }
        #expect(error == full)
        // The refresh token in the store was already used; the journal has its replacement.
        let services = scene.services()
        let inventory = services.rebuild.inventory(of: scene.group) { (set) throws(CredentialError) in
            try services.repository.isUsed(set, in: scene.group)
        }
        #expect(inventory.copies.count == 1 && inventory.used.isEmpty)
        #expect(scene.refreshFailure() == nil)
        try scene.signOut()
        #expect(scene.machine.journaled().isEmpty && scene.machine.accounts().isEmpty)
    }

    @Test func `an account without a record is signed out, even if its journal cannot be removed`() throws {
        let scene = try Self.signedIn(.file), trace = PortTrace(), told = Mutex<[String]>([])
        trace.fail("records.write", with: CredentialError(.inputOutput, "no space left on device"))
        try scene.token(scene.request(force: true), trace)
        trace.heal()
        trace.fail("journal.remove", with: CredentialError(.inputOutput, "input/output error"))
        let services = AccountServices(
            scene.machine.process(trace),
            AccountPolicy(warn: { message in told.withLock { $0.append(message.description) } }),
            Configuration())
        let account = try #require(scene.account())
        try services.signOut.forget(account, policy: nil, in: scene.group) { (_) throws(CredentialError) in }
        #expect(scene.machine.accounts().isEmpty && scene.machine.secrets().isEmpty)
        #expect(scene.machine.journaled() == [account.id])
        #expect(scene.machine.events.last?.kind == .accountRemoved)
        #expect(told.withLock { $0.count == 1 && $0[0].contains("input/output error") })
    }

    // MARK: Stops and meetings

    @Test(arguments: StoreKind.allCases)
    func `one that is stopped anywhere is finished by the next`(store: StoreKind) throws {
        try PortWalk.ending({ try Self.signedIn(store) }, { scene, trace in try scene.signOut(trace) }) {
            scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            try scene.signOut()
            #expect(scene.machine.accounts().isEmpty, "\(place)")
            #expect(scene.machine.secrets().isEmpty, "\(place)")
            #expect(scene.machine.journaled().isEmpty, "\(place)")
            #expect(!scene.machine.hasCachedTokens, "\(place)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `no refresh that it meets anywhere brings anything back`(store: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.signedIn(store) }, { scene, trace in try scene.signOut(trace) },
            peer: { scene in
                if scene.account() == nil { return }
                do throws(CredentialError) { try scene.token(scene.request(force: true)) } catch {
                    // Between its two steps the account has no secrets any more.
                    guard error.code == .signInRequired else { throw error }
                }
            }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            #expect(scene.machine.accounts().isEmpty, "\(place)")
            #expect(scene.machine.secrets().isEmpty, "\(place)")
            #expect(!scene.machine.hasCachedTokens, "\(place)")
        }
    }
}

extension ServiceScene {
    fileprivate func signOut(_ trace: PortTrace) throws(CredentialError) {
        try signOut("ada", policy: nil, trace)
    }
}
