import CryptoSupport
import TestPorts
import Testing

@testable import CredentialCore

/// One refresh: the provider's answer is kept, with any failure of the store and any other process at work.
@Suite struct RefreshOperationTests {
    private static func signedIn(_ store: StoreKind = .secretService) throws -> ServiceScene {
        let scene = ServiceScene(cryptography: LibCryptography(), store: store)
        try scene.signIn()
        return scene
    }

    /// Refreshes without the lock: as it would be on the day when a lock did not work.
    private static func refresh(
        _ scene: ServiceScene, _ trace: PortTrace = PortTrace()
    ) throws(CredentialError) -> RefreshOutcome {
        let services = scene.services(trace)
        let request = try scene.request(force: true)
        guard let set = try services.repository.read(request.account, in: request.group, isLocked: true) else {
            throw request.secretsAreGone
        }
        return try RefreshOperation(accounts: services).refresh(
            RefreshJob(
                group: request.group, type: request.type, key: request.key, scope: request.scope, tokenSet: set))
    }

    private func kept(_ scene: ServiceScene, in store: StoreKind = .secretService) -> TokenSet? {
        scene.account().flatMap { scene.machine.tokenSet($0.id, in: store) }
    }

    @Test func `the next generation is kept, mirrored, cached and told`() throws {
        let scene = try Self.signedIn()
        let before = try #require(kept(scene))
        let outcome = try Self.refresh(scene)
        let after = try #require(kept(scene))
        #expect(after.generation == before.generation + 1)
        #expect(after.accessTokens.last == outcome.token)
        #expect(scene.account()?.expiresAt == outcome.token.expiresAt)
        #expect(scene.machine.hasCachedTokens)
        #expect(scene.machine.events.last?.kind == .tokenRefreshed)
        #expect(outcome.warnings.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a token set that the store refuses is journaled, and the next refresh recovers it`(store: StoreKind)
        throws
    {
        let scene = try Self.signedIn(store), trace = PortTrace()
        let write = store == .file ? "records.write" : "secret-service.write"
        trace.fail(write, with: CredentialError(.storeUnavailable, "it is full"))
        let outcome = try Self.refresh(scene, trace)
        #expect(outcome.warnings.count == 1)
        #expect(outcome.warnings.first?.description.contains("it is full") == true)
        #expect(scene.machine.journaled().count == 1)
        #expect(scene.refreshFailure() == nil)
        #expect(scene.machine.provider.reuses == 0)
    }

    @Test func `if store and journal both fail the error says so`() throws {
        let scene = try Self.signedIn(), trace = PortTrace()
        let full = CredentialError(.storeUnavailable, "it is full")
        for call in ["secret-service.write", "journal.write"] { trace.fail(call, with: full) }
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, trace) }
        #expect(error?.code == .storeUnavailable)
        // The provider takes the old token no more, so it is not sent again, and the record shows that.
        #expect(scene.machine.usedTokens == ["refresh-ada-1"])
        #expect(scene.account()?.status != .active)
        let sent = scene.machine.provider.refreshes.count
        #expect(scene.refreshFailure()?.code == .signInRequired)
        #expect(scene.machine.provider.refreshes.count == sent && scene.machine.provider.reuses == 0)
    }

    @Test func `a used token is known after the account was replaced meanwhile`() throws {
        let scene = try Self.signedIn()
        let services = scene.services()
        let request = try scene.request(force: true)
        let set = try #require(try services.repository.read(request.account, in: request.group, isLocked: true))
        try scene.signIn()
        _ = try RefreshOperation(accounts: services).refresh(
            RefreshJob(
                group: request.group, type: request.type, key: request.key, scope: request.scope, tokenSet: set))
        #expect(scene.machine.usedTokens.contains("refresh-ada-1"))
    }

    @Test func `a copy of a store from before is withheld by its rotation number alone`() throws {
        let scene = try Self.signedIn(.file)
        let services = scene.services(), account = try #require(scene.account())
        _ = try Self.refresh(scene)
        let old = try #require(try services.repository.read(account, in: scene.group, isLocked: true))
        _ = try Self.refresh(scene)
        let new = try #require(try services.repository.read(account, in: scene.group, isLocked: true))
        #expect(new.grants[""]?.id == old.grants[""]?.id && new.grants[""]?.id != nil)
        #expect(old.grants[""]?.rotation == 1 && new.grants[""]?.rotation == 2)
        var unknown = try #require(old.grants[""])
        unknown.refreshToken = Secret("a token that was never recorded")
        #expect(services.repository.isUsed(unknown))
        unknown.rotation = 2
        #expect(!services.repository.isUsed(unknown))
        unknown.rotation = 1
        unknown.id = "another sign-in"
        #expect(!services.repository.isUsed(unknown))
    }

    @Test func `a token that was saved before the response was judged counts once, and stays good`() throws {
        let scene = try Self.signedIn(.file)
        // The response is saved first, and then used.
        scene.machine.provider.refuseResponses(finding: RefreshFinding(refreshToken: nil), isRefused: false)
        for number in 1...3 {
            _ = try Self.refresh(scene)
            let grant = try #require(kept(scene, in: .file)?.grants[""])
            #expect(grant.rotation == Int64(number) && grant.pending == nil)
            #expect(!scene.services().repository.isUsed(grant))
        }
        #expect(scene.machine.usedTokens == ["refresh-ada-1", "refresh-ada-2", "refresh-ada-3"])
        #expect(scene.refreshFailure() == nil && scene.machine.provider.reuses == 0)
    }

    @Test func `a token set too large for its reader is stored without its oldest access tokens`() throws {
        let scene = try Self.signedIn(.file)
        let services = scene.services(), account = try #require(scene.account())
        var set = try #require(try services.repository.read(account, in: scene.group, isLocked: true))
        let large = String(repeating: "x", count: 900_000)
        for number in 0..<10 {
            set.keep(
                AccessToken(
                    key: TokenRequestKey(scope: ["\(number)"]), token: Secret(large), tokenType: "Bearer",
                    issuedAt: scene.machine.clock.now, expiresAt: scene.machine.clock.now.adding(3_600),
                    scope: ["\(number)"]), now: scene.machine.clock.now)
        }
        guard case .stored = try services.repository.save(&set, in: scene.group) else {
            Issue.record("the token set was not stored")
            return
        }
        let read = try #require(try services.repository.read(account, in: scene.group, isLocked: true))
        #expect(read.encoded().count <= 4 << 20)
        #expect(read.accessTokens.last?.scope == ["9"] && read.grants == set.grants)
        set.userData["large"] = .string(String(repeating: "x", count: 5 << 20))
        let error = #expect(throws: CredentialError.self) { try services.repository.save(&set, in: scene.group) }
        #expect(error?.code == .inputOutput)
        #expect(try services.repository.read(account, in: scene.group, isLocked: true) == read)
    }

    @Test func `a mirror that fails turns no success into a failure`() throws {
        let scene = try Self.signedIn(), trace = PortTrace()
        trace.fail("records.write", with: CredentialError(.inputOutput, "no space left on device"))
        let outcome = try Self.refresh(scene, trace)
        #expect(outcome.warnings == ["the account's record was not updated: no space left on device"])
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `one grant that is lost leaves the account active while another can be refreshed`() throws {
        let scene = ServiceScene(cryptography: LibCryptography())
        try scene.signIn(policy: "one")
        try scene.signIn(policy: "two")
        scene.machine.provider.fail(with: CredentialError(.signInRequired, "AADB2C90080"))
        let services = scene.services()
        let account = try #require(scene.account())
        let set = try #require(try services.repository.read(account, in: scene.group, isLocked: true))
        func lose(_ policy: String, _ set: TokenSet) {
            let key = TokenRequestKey(under: scene.type, policy: policy, scope: ["read"])
            #expect(throws: CredentialError(.signInRequired, "AADB2C90080")) {
                try RefreshOperation(accounts: services).refresh(
                    RefreshJob(group: scene.group, type: scene.type, key: key, scope: ["read"], tokenSet: set))
            }
        }
        lose("one", set)
        #expect(scene.account()?.status == .active)
        lose("two", try #require(kept(scene)))
        #expect(scene.account()?.status == .needsLogin(reason: "AADB2C90080"))
    }

    // MARK: Meetings

    @Test(arguments: StoreKind.allCases)
    func `a sign-in that it meets anywhere leaves a grant that the provider takes`(store: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.signedIn(store) }, { scene, trace in _ = try Self.refresh(scene, trace) },
            peer: { scene in try scene.signIn() }
        ) { scene, place, _ in
            let set = try #require(kept(scene, in: store), "\(place)")
            #expect(scene.machine.provider.takes(set.grants[""]?.refreshToken), "\(place)")
            #expect(scene.account()?.status == .active, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a sign-out that it meets anywhere is not undone in the list`(store: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.signedIn(store) }, { scene, trace in _ = try Self.refresh(scene, trace) },
            peer: { scene in try scene.signOut() }
        ) { scene, place, _ in
            #expect(scene.machine.accounts().isEmpty, "\(place)")
        }
    }

    // MARK: Responses that are refused

    private static let flawed = RefreshFinding(refreshToken: nil)

    /// A machine whose provider's next response is refused.
    private static func refused(
        _ store: StoreKind = .secretService, _ finding: RefreshFinding = flawed
    ) throws -> ServiceScene {
        let scene = try signedIn(store)
        scene.machine.provider.refuseResponses(finding: finding)
        return scene
    }

    /// Whether the next refresh gets a token once the provider's responses are sound.
    private static func goesOn(_ scene: ServiceScene) -> Bool {
        scene.machine.provider.refuseResponses(finding: nil)
        return scene.refreshFailure() == nil && scene.machine.provider.reuses == 0
    }

    @Test(arguments: StoreKind.allCases)
    func `the new token of a refused response is kept beside the old one and sent next`(store: StoreKind) throws {
        let scene = try Self.refused(store)
        for _ in 0..<3 {
            #expect(scene.refreshFailure()?.code == .malformedReply)
            let grant = try #require(kept(scene, in: store)?.grants[""])
            #expect(grant.refreshToken != grant.pending?.token)
            #expect(scene.machine.provider.takes(grant.toSend.refreshToken))
        }
        #expect(Self.goesOn(scene))
        #expect(kept(scene, in: store)?.grants[""]?.pending == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `the journal keeps the part of a refused response that the store does not accept`(store: StoreKind) throws
    {
        let scene = try Self.refused(store), trace = PortTrace()
        let write = store == .file ? "records.write" : "secret-service.write"
        trace.fail(write, with: CredentialError(.storeUnavailable, "it is full"))
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, trace) }
        #expect(error?.code == .malformedReply)
        #expect(Self.goesOn(scene))
    }

    @Test func `if store and journal both fail the error is the store's, and the old token is not sent again`()
        throws
    {
        let scene = try Self.refused(), trace = PortTrace()
        let full = CredentialError(.storeUnavailable, "it is full")
        for call in ["secret-service.write", "journal.write"] { trace.fail(call, with: full) }
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, trace) }
        #expect(error?.code == .storeUnavailable)
        #expect(scene.refreshFailure()?.code == .signInRequired)
        #expect(scene.machine.provider.reuses == 0 && scene.machine.provider.refreshes.count == 1)
    }

    @Test func `a response for a different user ends the sign-in, and its token is never sent`() throws {
        let scene = try Self.refused(.secretService, RefreshFinding(refreshToken: nil, isForeign: true))
        #expect(scene.refreshFailure()?.code == .malformedReply)
        let grant = try #require(kept(scene)?.grants[""])
        #expect(grant.pending?.isQuarantined == true && !grant.isRefreshable)
        scene.machine.provider.refuseResponses(finding: nil)
        #expect(scene.refreshFailure()?.code == .signInRequired)
        #expect(scene.machine.provider.refreshes.count == 1)
        #expect(scene.machine.events.last?.kind == .tokenLost)
        guard case .needsLogin = scene.account()?.status else {
            Issue.record("the account is \(String(describing: scene.account()?.status))")
            return
        }
    }

    @Test func `an exchange of a token says nothing of the grant`() throws {
        let scene = try Self.refused(.secretService, RefreshFinding(refreshToken: nil, refusesIDToken: true))
        #expect(scene.refreshFailure() != nil)
        let before = try #require(kept(scene)?.grants[""]), services = scene.services()
        var set = try #require(kept(scene))
        let own = try #require(set.accessTokens.last?.key)
        set.generation = try #require(kept(scene)).generation
        scene.machine.provider.refuseResponses(finding: nil)
        var job = RefreshJob(
            group: scene.group, type: scene.type,
            key: TokenRequestKey(under: scene.type, policy: "", scope: ["x"], audience: "other"), scope: ["x"],
            tokenSet: set)
        job.subjectKey = own
        _ = try RefreshOperation(accounts: services).refresh(job)
        #expect(kept(scene)?.grants[""] == before && before.pending != nil && before.awaitsIDToken)
    }

    @Test func `after a refused ID token every request demands one, until a response holds`() throws {
        let scene = try Self.refused(.secretService, RefreshFinding(refreshToken: nil, refusesIDToken: true))
        #expect(scene.refreshFailure() != nil && scene.refreshFailure() != nil)
        #expect(Self.goesOn(scene) && scene.refreshFailure() == nil)
        #expect(scene.machine.provider.refreshes.map(\.needsIDToken) == [false, true, true, false])
    }

    @Test(arguments: StoreKind.allCases)
    func `a response that is saved first can be used, and a process may end at every step of that`(
        store: StoreKind
    ) throws {
        let scene = {
            let scene = try Self.signedIn(store)
            scene.machine.provider.refuseResponses(finding: Self.flawed, isRefused: false)
            return scene
        }
        try PortWalk.ending(scene, { scene, trace in _ = try Self.refresh(scene, trace) }) { scene, place in
            let isKnown = scene.machine.provider.takes(kept(scene, in: store)?.grants[""]?.toSend.refreshToken)
            scene.machine.provider.refuseResponses(finding: nil)
            let failure = scene.refreshFailure()
            // A token is lost only between the response and the first copy of it; no token is sent twice for that.
            if isKnown { #expect(failure == nil, "\(place)") }
            if failure != nil { #expect(scene.machine.provider.refreshes.count <= 2, "\(place)") }
        }
    }
}
