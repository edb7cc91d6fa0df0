import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// A refresh in this process, under the account's lock.
@Suite struct InProcessRefresherTests {
    private static func signedIn(_ store: StoreKind = .secretService) throws -> ServiceScene {
        let scene = ServiceScene(cryptography: LibCryptography(), store: store)
        try scene.signIn()
        scene.passLife()
        return scene
    }

    private static func refresh(
        _ scene: ServiceScene, _ request: TokenService.Request? = nil, _ trace: PortTrace = PortTrace()
    ) throws(CredentialError) -> TokenService.Answer {
        let services = scene.services(trace)
        let request = if let request { request } else { try scene.request() }
        let lock = try services.machine.locks.lock(request.account.id, in: request.group, seconds: 1)
        defer { lock.release() }
        return try services.refresh.refresh(request, holding: lock)
    }

    @Test func `it sends the stored grant to the provider, and stores the response`() throws {
        let scene = try Self.signedIn()
        let answer = try Self.refresh(scene)
        #expect(answer.refreshed)
        #expect(scene.machine.provider.refreshes.map { $0.grant.refreshToken?.reveal() } == ["refresh-ada-1"])
        let id = try #require(scene.account()?.id)
        let kept = try #require(scene.machine.tokenSet(id, in: .secretService))
        #expect(scene.machine.provider.takes(kept.grants[""]?.refreshToken))
        #expect(kept.accessTokens.last == answer.token)
        #expect(scene.account()?.expiresAt == answer.token.expiresAt)
    }

    @Test func `a token that a peer has refreshed is returned without a request`() throws {
        let scene = try Self.signedIn()
        let request = try scene.request()
        let first = try Self.refresh(scene, request)
        let second = try Self.refresh(scene, request)
        #expect(!second.refreshed)
        #expect(second.token == first.token)
        #expect(scene.machine.provider.refreshes.count == 1)
    }

    @Test func `an account that was signed out meanwhile is asked for nothing`() throws {
        let scene = try Self.signedIn()
        let request = try scene.request()
        try scene.signOut()
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, request) }
        #expect(error?.code == .signInRequired)
        #expect(error?.message.hasSuffix("it has been signed out") == true)
        #expect(scene.machine.provider.refreshes.isEmpty)
    }

    @Test func `without a sign-in for the policy, or with a grant that was lost, the provider is not asked`() throws
    {
        var scene = try Self.signedIn()
        scene.type.policies = ["other": "other"]
        let other = try scene.request(policy: "other")
        #expect(throws: CredentialError.self) { try Self.refresh(scene, other) }
        scene.machine.provider.end("ada")
        for _ in 0..<2 {
            let error = #expect(throws: CredentialError.self) { try Self.refresh(scene) }
            #expect(error?.code == .signInRequired)
        }
        #expect(scene.machine.provider.refreshes.count == 1)
        #expect(scene.account()?.status == .needsLogin(reason: "invalid_grant"))
        #expect(scene.machine.events.last?.kind == .tokenLost)
    }

    @Test func `without space for the response no request is sent`() throws {
        let scene = try Self.signedIn(), trace = PortTrace()
        trace.fail("journal.reserve", with: CredentialError(.inputOutput, "no space left on device"))
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, nil, trace) }
        #expect(error?.code == .storeUnavailable)
        #expect(scene.machine.provider.refreshes.isEmpty)
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `a store that does not open costs no refresh token`() throws {
        let scene = try Self.signedIn()
        let locked = CredentialError(.storeLocked, "it is locked")
        scene.machine.breakStore(.secretService, with: locked)
        #expect(throws: locked) { try Self.refresh(scene) }
        #expect(scene.machine.provider.refreshes.isEmpty)
    }

    // MARK: Stops

    /// Between the provider's answer and the first place that keeps it, a crash loses the token; before and after,
    /// no token is lost.
    @Test(arguments: StoreKind.allCases)
    func `one that is stopped anywhere but with the reply in its hands loses no sign-in`(store: StoreKind) throws {
        let whole = PortTrace()
        _ = try Self.refresh(try Self.signedIn(store), nil, whole)
        let answered = try #require(whole.calls.firstIndex(of: "provider.refresh")) + 1
        let kept = try #require(whole.calls[answered...].firstIndex { $0.hasSuffix(".write") }) + 1
        try PortWalk.ending(
            { try Self.signedIn(store) }, { scene, trace in _ = try Self.refresh(scene, nil, trace) }
        ) { scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            let isInHand =
                place.number == answered && place.moment == .after || place.number > answered && place.number < kept
                || place.number == kept && place.moment == .before
            let failure = scene.refreshFailure()
            if isInHand {
                #expect(failure?.code == .signInRequired, "\(place)")
                #expect(scene.account()?.status != .active, "\(place)")
            } else {
                #expect(failure == nil, "\(place)")
                #expect(scene.machine.provider.reuses == 0, "\(place)")
            }
            try scene.signIn()
            #expect(scene.machine.accounts().count == 1, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }

    // MARK: The mark

    @Test(arguments: StoreKind.allCases)
    func `the used refresh token is recorded before the mark goes, where the store takes the new one`(
        store: StoreKind
    ) throws {
        let scene = try Self.signedIn(store), trace = PortTrace()
        let id = try #require(scene.account()?.id)
        trace.act(before: "used.write") {
            // The tokens for the keyring are in the journal first, which has taken the space with the mark.
            #expect(scene.machine.isMarked(id) == (store == .file))
            #expect((scene.machine.journaled(id) != nil) == (store == .secretService))
        }
        _ = try Self.refresh(scene, nil, trace)
        #expect(trace.calls.contains("used.write") && !scene.machine.isMarked(id))
    }

    @Test(arguments: StoreKind.allCases)
    func `one that has read the account before another refreshed it sends nothing`(store: StoreKind) throws {
        let scene = try Self.signedIn(store), trace = PortTrace()
        trace.act(before: "journal.reserve") {
            scene.machine.freeLocks()
            _ = try? Self.refresh(scene)
        }
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, nil, trace) }
        #expect(error?.code == .temporary)
        #expect(scene.machine.provider.refreshes.count == 1 && scene.machine.provider.reuses == 0)
        #expect(scene.refreshFailure() == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `one that has read the account before another refreshed it and was killed sends nothing`(
        store: StoreKind
    ) throws {
        let scene = try Self.signedIn(store), trace = PortTrace()
        trace.act(before: "journal.reserve") {
            scene.machine.freeLocks()
            // It has stored the new token, and has not recorded the used one.
            let other = PortTrace()
            other.act(before: "used.write") { [unowned other] in other.end() }
            _ = try? Self.refresh(scene, nil, other)
        }
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, nil, trace) }
        #expect(error?.code == .temporary)
        #expect(scene.machine.provider.refreshes.count == 1 && scene.machine.provider.reuses == 0)
        #expect(scene.refreshFailure() == nil)
    }

    // MARK: Standing still

    /// Runs an action after the refresher has looked at the used tokens, and before the provider is asked.
    private static func trace(_ scene: ServiceScene, _ action: @escaping @Sendable () -> Void) throws -> PortTrace {
        let whole = PortTrace()
        _ = try Self.refresh(try Self.signedIn(scene.store), nil, whole)
        let asked = try #require(whole.calls.firstIndex(of: "provider.refresh"))
        let place = try #require(whole.calls[..<asked].lastIndex { $0.hasPrefix("used.") })
        let trace = PortTrace()
        trace.act(at: place + 1, .after, action)
        return trace
    }

    @Test(arguments: StoreKind.allCases)
    func `one that stood still for longer than 5 s while another refreshed sends nothing`(store: StoreKind) throws {
        let scene = try Self.signedIn(store)
        let trace = try Self.trace(scene) {
            scene.machine.clock.pass(6)
            // As if the file of the lock was removed: the other one has a lock and a mark of its own.
            scene.machine.freeLocks()
            _ = try? Self.refresh(scene)
        }
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, nil, trace) }
        #expect(error?.code == .temporary)
        #expect(error?.message.contains("was stopped") == true)
        #expect(scene.machine.provider.refreshes.count == 1 && scene.machine.provider.reuses == 0)
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `one that stood still while its account was signed out and in again sends nothing`() throws {
        let scene = try Self.signedIn()
        let trace = try Self.trace(scene) {
            scene.machine.clock.pass(6)
            scene.machine.freeLocks()
            _ = try? scene.signIn()
        }
        let error = #expect(throws: CredentialError.self) { try Self.refresh(scene, nil, trace) }
        #expect(error?.code == .temporary)
        #expect(scene.machine.provider.refreshes.isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `one that stood still while nothing happened refreshes`(store: StoreKind) throws {
        let scene = try Self.signedIn(store)
        let trace = try Self.trace(scene) { scene.machine.clock.pass(6) }
        #expect(try Self.refresh(scene, nil, trace).refreshed)
        #expect(scene.machine.provider.refreshes.count == 1)
        // It has looked at its mark and the account once more.
        #expect(trace.calls.contains("journal.mark"))
        let quick = PortTrace()
        scene.passLife()
        _ = try Self.refresh(scene, nil, quick)
        #expect(!quick.calls.contains("journal.mark"))
    }

    // MARK: Meetings

    @Test(arguments: StoreKind.allCases)
    func `another that it meets anywhere shares its refresh`(store: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.signedIn(store) }, { scene, trace in _ = try Self.refresh(scene, nil, trace) },
            peer: { scene in try scene.token(scene.request()) }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
            #expect(!scene.machine.hasLocks, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a sign-out that it meets anywhere leaves nothing behind`(store: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.signedIn(store) }, { scene, trace in _ = try Self.refresh(scene, nil, trace) },
            peer: { scene in try scene.signOut() }
        ) { scene, place, failure in
            // For a user that was signed out before the lock was had, the error reports that; no user is asked for
            // anything then.
            let isBefore = (failure as? CredentialError)?.code == .signInRequired || failure == nil
            #expect(isBefore, "\(place): \(String(describing: failure))")
            #expect(scene.machine.accounts().isEmpty, "\(place)")
            #expect(scene.machine.secrets().isEmpty, "\(place)")
            #expect(!scene.machine.hasLocks, "\(place)")
        }
    }
}
