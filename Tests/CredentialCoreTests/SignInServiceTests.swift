import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// The result of a finished sign-in, with any event meanwhile.
@Suite struct SignInServiceTests {
    private static func scene(_ store: StoreKind = .secretService) -> ServiceScene {
        ServiceScene(cryptography: LibCryptography(), store: store)
    }

    private let scene = scene()

    @Test func `a new person is an account, with its secrets in one store`() throws {
        let outcome = try scene.signIn()
        #expect(outcome.isNew && outcome.warnings.isEmpty)
        #expect(scene.machine.accounts() == [outcome.account])
        #expect(outcome.account.username == "ada@example.com")
        #expect(outcome.account.status == .active)
        #expect(outcome.account.scope == ["read"])
        #expect(scene.machine.secrets() == [outcome.account.id: [.secretService]])
        #expect(scene.machine.events.map(\.kind) == [.accountAdded])
        #expect(!scene.machine.hasLocks)
    }

    @Test func `a known person is the same account again, under its own name`() throws {
        let first = try scene.signIn()
        scene.machine.change(first.account.id) { $0.label = "Work" }
        scene.machine.clock.pass(60)
        let second = try scene.signIn()
        #expect(!second.isNew)
        #expect(second.account.id == first.account.id)
        let listed = try #require(scene.account())
        #expect(listed.label == "Work")
        #expect(listed.createdAt == first.account.createdAt)
        #expect(listed.updatedAt == scene.machine.clock.now)
        #expect(scene.machine.secrets() == [first.account.id: [.secretService]])
        #expect(scene.machine.events.map(\.kind) == [.accountAdded, .accountUpdated])
    }

    @Test func `two users, or one user with --new, are two accounts`() throws {
        try scene.signIn("ada")
        try scene.signIn("bob")
        #expect(try scene.signIn("ada", new: true).isNew)
        #expect(scene.machine.accounts().map(\.subject) == ["ada", "bob", "ada"])
        #expect(scene.machine.secrets().count == 3)
    }

    @Test func `a different user than expected is refused, and no record changes`() throws {
        let ada = try scene.signIn("ada").account
        let (accounts, secrets, events) = (
            scene.machine.accounts(), scene.machine.secrets(), scene.machine.events.count
        )
        let error = #expect(throws: CredentialError.self) {
            try scene.signIn("bob", for: ExpectedIdentity(ada))
        }
        #expect(error?.code == .denied)
        #expect(scene.machine.accounts() == accounts)
        #expect(scene.machine.secrets() == secrets)
        #expect(scene.machine.events.count == events)
    }

    @Test func `the same subject of another client is a different user`() throws {
        let ada = try scene.signIn("ada").account
        let json = ExpectedIdentity(ada).json
        for key in ["provider", "client_id"] {
            var other = json
            other[key] = "other"
            let error = #expect(throws: CredentialError.self) {
                try scene.signIn("ada", for: ExpectedIdentity(other))
            }
            #expect(error?.code == .denied && error?.message.contains("other") == true)
            other[key] = nil
            #expect(ExpectedIdentity(other) == nil)
        }
        #expect(scene.machine.accounts().count == 1)
        #expect(try !scene.signIn("ada", for: ExpectedIdentity(json)).isNew)
    }

    @Test func `each policy has a grant of its own`() throws {
        try scene.signIn(policy: "one")
        try scene.signIn(policy: "two")
        #expect(scene.account()?.policies == ["one", "two"])
        for policy in ["one", "two"] {
            var type = scene.type
            type.policies = ["one": "one", "two": "two"]
            var scene = scene
            scene.type = type
            #expect(try scene.token(scene.request(policy: policy, force: true)).refreshed)
        }
    }

    @Test func `a sign-in again brings an account back that had lost its grant`() throws {
        let id = try scene.signIn().account.id
        scene.machine.provider.end("ada")
        #expect(throws: CredentialError.self) { try scene.token(scene.request(force: true)) }
        #expect(scene.account()?.status != .active)
        #expect(try scene.signIn().account.id == id)
        #expect(scene.account()?.status == .active)
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `a dismissed keyring prompt creates no account`() throws {
        scene.machine.breakStore(.secretService, with: CredentialError(.denied, "the prompt was dismissed"))
        #expect(throws: CredentialError.self) { try scene.signIn() }
        scene.machine.breakStore(.secretService, with: nil)
        #expect(scene.machine.accounts().isEmpty)
        #expect(scene.machine.secrets().isEmpty)
        #expect(scene.machine.events.isEmpty)
    }

    @Test(arguments: [ErrorCode.storeUnavailable, .storeLocked])
    func `a sign-in that the keyring cannot store is kept and listed, and moves there later`(code: ErrorCode) throws
    {
        let absence = CredentialError(code, "it is not there")
        let scene = Self.scene(), trace = PortTrace()
        // It went away while the person was signing in.
        trace.fail("secret-service.write", with: absence)
        let kept = try scene.signIn("ada", trace)
        #expect(kept.warnings.first?.description.contains("they are encrypted in the journal") == true)
        #expect(scene.machine.accounts().map(\.id) == [kept.account.id])
        #expect(scene.machine.accounts().first?.store == .secretService)
        #expect(scene.machine.secrets().isEmpty)
        // As long as it is away, the error is its absence.
        scene.machine.breakStore(.secretService, with: absence)
        #expect(scene.refreshFailure()?.code == code)
        scene.machine.breakStore(.secretService, with: nil)
        #expect(scene.refreshFailure() == nil)
        #expect(scene.refreshFailure() == nil)
        #expect(scene.machine.secrets() == [kept.account.id: [.secretService]])
        #expect(scene.machine.provider.reuses == 0)
    }

    @Test func `a sign-in on a full disk is kept, and the next sign-in stores it`() throws {
        let scene = Self.scene(.file), trace = PortTrace()
        trace.fail("records.write", with: CredentialError(.inputOutput, "no space left on device"))
        let kept = try scene.signIn("ada", trace)
        #expect(kept.warnings.first?.description.contains("they are encrypted in the journal") == true)
        #expect(scene.machine.accounts().isEmpty)
        try scene.signIn("bob")
        #expect(scene.machine.accounts().map(\.subject) == ["ada", "bob"])
        #expect(scene.machine.secrets().values.allSatisfy { $0 == [.file] })
        #expect(scene.refreshFailure("ada") == nil)
        #expect(scene.machine.journaled().isEmpty)
    }

    @Test func `a sign-in that no store accepts creates no account`() throws {
        for store in StoreKind.allCases {
            scene.machine.breakStore(store, with: CredentialError(.storeUnavailable, "it is full"))
        }
        #expect(throws: CredentialError.self) { try scene.signIn() }
        for store in StoreKind.allCases { scene.machine.breakStore(store, with: nil) }
        #expect(scene.machine.accounts().isEmpty)
        #expect(scene.machine.secrets().isEmpty)
        #expect(scene.machine.events.isEmpty)
    }

    @Test func `a sign-in for a locked account is kept, and the next lock holder stores it`() throws {
        try scene.signIn()
        scene.machine.provider.end("ada")
        let services = scene.services()
        let id = try #require(scene.account()?.id)
        let lock = try services.machine.locks.lock(id, in: scene.group, seconds: 1)
        let kept = try scene.signIn()
        #expect(kept.warnings.first?.description.contains("credmgr saved the sign-in") == true)
        lock.release()
        #expect(scene.refreshFailure() == nil)
        #expect(scene.machine.journaled().filter { $0.hasPrefix("login-") }.isEmpty)
    }

    // MARK: Waiting

    @Test(arguments: [false, true])
    func `first sign-ins of one person that had to wait are one account, unless one more is wanted`(new: Bool)
        throws
    {
        let scene = Self.scene(.file), services = scene.services()
        let lock = try services.machine.locks.lock("new-account", in: scene.group, seconds: 1)
        for isNew in [false, new] {
            scene.machine.clock.pass(60)
            #expect(
                try scene.signIn(new: isNew).warnings.first?.description.contains("credmgr saved the sign-in")
                    == true)
        }
        // As long as another process adds an account, no sign-in is resumed.
        #expect(!services.takeUpSignIns(in: scene.group) && scene.machine.accounts().isEmpty)
        lock.release()
        #expect(services.takeUpSignIns(in: scene.group))
        #expect(scene.machine.accounts().count == (new ? 2 : 1))
        #expect(scene.machine.journaled().isEmpty)
        let sets = try scene.machine.accounts().map {
            try #require(try services.repository.read($0, in: scene.group, isLocked: false))
        }
        #expect(sets.compactMap(\.grants[""]?.signedInAt).max() == scene.machine.clock.now)
    }

    @Test func `sign-ins that wait are all taken up, whatever policies they are of`() throws {
        try scene.signIn(policy: "one")
        let id = try #require(scene.account()?.id), services = scene.services()
        let lock = try services.machine.locks.lock(id, in: scene.group, seconds: 1)
        scene.machine.clock.pass(60)
        for policy in ["one", "", "two"] { #expect(try scene.signIn(policy: policy).warnings.count == 1) }
        lock.release()
        let account = try #require(scene.account())
        let set = try #require(try services.repository.read(account, in: scene.group, isLocked: true))
        #expect(set.grants.keys.sorted() == ["", "one", "two"])
        #expect(set.grants.values.allSatisfy { $0.signedInAt == scene.machine.clock.now })
        #expect(set.account.policies == ["one", "two"])
        #expect(scene.machine.journaled().allSatisfy { !$0.hasPrefix("login-") })
    }

    @Test func `of many pending sign-ins no older one returns, whenever the recovering process is killed`() throws {
        for number in 1...400 {
            let scene = Self.scene(.file)
            try scene.signIn()
            let account = try #require(scene.account()), holder = scene.services()
            let lock = try holder.machine.locks.lock(account.id, in: scene.group, seconds: 1)
            for _ in 0..<10 {
                scene.machine.clock.pass(60)
                try scene.signIn()
            }
            let last = scene.machine.clock.now, trace = PortTrace()
            trace.end(at: number, .before)
            _ = try? scene.services(trace).repository.read(account, in: scene.group, isLocked: true)
            // One more comes, and the process that resumes it forgets the marks of the first.
            scene.machine.clock.pass(60)
            let newest = scene.machine.clock.now
            try scene.signIn()
            lock.release()
            for _ in 0..<2 {
                let set = try #require(try holder.repository.read(account, in: scene.group, isLocked: true))
                #expect(set.grants[""]?.signedInAt == newest && newest != last, "call \(number)")
            }
            #expect(scene.machine.journaled().filter { $0.hasPrefix("login-") }.isEmpty, "call \(number)")
            guard trace.calls.count >= number else {
                #expect(number > 30)
                return
            }
        }
        Issue.record("it has no end")
    }

    @Test(arguments: StoreKind.allCases)
    func `a sign-in that comes while others are taken up is not dropped with them`(store: StoreKind) throws {
        for number in 1...40 {
            let scene = Self.scene(store)
            try scene.signIn(policy: "one")
            let account = try #require(scene.account()), holder = scene.services()
            let lock = try holder.machine.locks.lock(account.id, in: scene.group, seconds: 1)
            try scene.signIn(policy: "one")
            let trace = PortTrace()
            trace.act(at: number, .before) {
                scene.machine.clock.pass(60)
                #expect(throws: Never.self) { try scene.signIn(policy: "one") }
            }
            _ = try scene.services(trace).repository.read(account, in: scene.group, isLocked: true)
            guard trace.calls.count >= number else {
                #expect(number > 4)
                lock.release()
                return
            }
            lock.release()
            let set = try holder.repository.read(account, in: scene.group, isLocked: true)
            #expect(set?.grants["one"]?.signedInAt == scene.machine.clock.now, "call \(number)")
        }
        Issue.record("it has no end")
    }

    @Test func `a sign-in that waits is not dropped for a refresh of the one before`() throws {
        try scene.signIn()
        let id = try #require(scene.account()?.id), services = scene.services()
        let known = try #require(scene.account())
        let before = try #require(try services.repository.read(known, in: scene.group, isLocked: true))
        let lock = try services.machine.locks.lock(id, in: scene.group, seconds: 1)
        #expect(try scene.signIn().warnings.count == 1)
        // The holder of the lock has been refreshing, and is done a minute later.
        var refreshed = before
        refreshed.grants[""]?.refreshToken = Secret("of the sign-in before")
        refreshed.grants[""]?.obtainedAt = before.grants[""]?.obtainedAt.adding(60) ?? services.machine.clock.now
        guard case .stored = try services.repository.save(&refreshed, in: scene.group) else {
            Issue.record("the refresh was not stored")
            return
        }
        lock.release()
        let account = try #require(scene.account())
        let set = try #require(try scene.services().repository.read(account, in: scene.group, isLocked: true))
        #expect(set.grants[""]?.refreshToken != Secret("of the sign-in before"))
        #expect(scene.machine.journaled().filter { $0.hasPrefix("login-") }.isEmpty)
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `the first account is the default and stays so`() throws {
        let ada = try scene.signIn("ada").account
        try scene.signIn("bob")
        let index = try scene.services().machine.records.index(of: scene.group, .none)
        #expect(index.defaultEntry(of: scene.registration)?.id == ada.id)
    }

    @Test func `a refresh token that is used up is not sent again, whatever brings it back`() throws {
        let scene = Self.scene(.file)
        let id = try scene.signIn().account.id
        let old = try #require(scene.machine.record(id))
        #expect(scene.refreshFailure() == nil)
        scene.machine.setRecord(old, of: id)
        let failure = try #require(scene.refreshFailure())
        #expect(failure.code == .signInRequired)
        #expect(failure.message.contains("the store is older than this machine has seen"))
        #expect(scene.machine.provider.reuses == 0)
        try scene.signIn()
        #expect(scene.refreshFailure() == nil)
    }

    // MARK: Stops and meetings

    @Test(arguments: StoreKind.allCases)
    func `a first sign-in that is stopped anywhere is made good by the next, and leaves no secret behind`(
        store: StoreKind
    ) throws {
        try PortWalk.ending({ Self.scene(store) }, { scene, trace in try scene.signIn(trace) }) { scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            try scene.signIn()
            let account = try #require(scene.account(), "\(place)")
            #expect(scene.machine.accounts().count == 1, "\(place)")
            #expect(scene.machine.secrets() == [account.id: [store]], "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a sign-in again that is stopped anywhere loses nothing of the one before`(store: StoreKind) throws {
        func before() throws -> ServiceScene {
            let scene = Self.scene(store)
            try scene.signIn()
            return scene
        }
        try PortWalk.ending(before, { scene, trace in try scene.signIn(trace) }) { scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            #expect(scene.machine.accounts().count == 1, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
            #expect(scene.machine.provider.reuses == 0, "\(place)")
        }
    }

    @Test func `two first sign-ins of one person that meet anywhere are one account`() throws {
        try PortWalk.meeting(
            { Self.scene() }, { scene, trace in try scene.signIn(trace) }, peer: { scene in try scene.signIn() }
        ) { scene, place, _ in
            #expect(scene.machine.accounts().count == 1, "\(place)")
            #expect(scene.machine.secrets().count == 1, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }

    @Test func `a sign-in for an account that is signed out and in again meanwhile creates no second account`()
        throws
    {
        func before() throws -> ServiceScene {
            let scene = Self.scene()
            try scene.signIn()
            return scene
        }
        try PortWalk.meeting(
            before, { scene, trace in try scene.signIn(trace) },
            peer: { scene in
                try scene.signOut()
                try scene.signIn()
            }
        ) { scene, place, _ in
            #expect(scene.machine.accounts().count == 1, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }

    @Test func `a sign-in and a sign-out that meet anywhere leave all of an account, or nothing`() throws {
        func before() throws -> ServiceScene {
            let scene = Self.scene()
            try scene.signIn()
            return scene
        }
        try PortWalk.meeting(
            before, { scene, trace in try scene.signIn(trace) }, peer: { scene in try scene.signOut() }
        ) { scene, place, _ in
            #expect(scene.machine.secrets().keys.sorted() == scene.machine.accounts().map(\.id), "\(place)")
            if scene.account() != nil {
                #expect(scene.refreshFailure() == nil, "\(place)")
            }
        }
    }
}

extension ServiceScene {
    fileprivate func signIn(_ trace: PortTrace) throws(CredentialError) {
        try signIn("ada", trace)
    }
}
