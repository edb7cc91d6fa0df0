import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// A sign-in on its way from one store to the other, with any event meanwhile.
@Suite struct StoreMigrationTests {
    private static func signedIn(_ store: StoreKind) throws -> ServiceScene {
        let scene = ServiceScene(cryptography: LibCryptography(), store: store)
        try scene.signIn()
        return scene
    }

    @Test(arguments: StoreKind.allCases)
    func `it is in the other store then, and nowhere else, and works there`(source: StoreKind) throws {
        let scene = try Self.signedIn(source)
        let id = try #require(scene.account()?.id)
        guard case .moved? = try scene.move(to: source.other) else {
            Issue.record("it was not moved")
            return
        }
        #expect(scene.machine.secrets() == [id: [source.other]])
        #expect(scene.account()?.store == source.other)
        #expect(scene.account()?.staleKeyringCopy == nil)
        #expect(scene.refreshFailure() == nil)
        guard case .alreadyThere? = try scene.move(to: source.other) else {
            Issue.record("it was moved again")
            return
        }
    }

    @Test func `one without secrets, and one that is gone, are told apart`() throws {
        let scene = try Self.signedIn(.file)
        let account = try #require(scene.account())
        scene.machine.removeSecrets(of: account.id)
        guard case .withoutSecrets? = try scene.move(to: .secretService) else {
            Issue.record("there was nothing to move")
            return
        }
        #expect(scene.account()?.store == .file)
        try scene.signOut()
        guard case .gone = try scene.services().migration.move(account, to: .secretService, in: scene.group) else {
            Issue.record("there was nobody to move")
            return
        }
        #expect(scene.machine.accounts().isEmpty)
    }

    @Test func `a target that fails changes nothing`() throws {
        let scene = try Self.signedIn(.file)
        let id = try #require(scene.account()?.id)
        scene.machine.breakStore(.secretService, with: CredentialError(.storeLocked, "it is locked"))
        let error = #expect(throws: CredentialError.self) { try scene.move(to: .secretService) }
        #expect(error?.code == .storeLocked)
        #expect(scene.machine.secrets() == [id: [.file]])
        #expect(scene.refreshFailure() == nil)
    }

    @Test func `a secret of a type moves along, and the one in use stays the one that counts`() throws {
        let scene = ServiceScene(cryptography: LibCryptography())
        let item = SecretItem(group: scene.group, owner: "Tasks", kind: .clientSecret)
        let migration = scene.services().migration
        #expect(try !migration.move(item, to: .secretService))
        scene.machine.set(Array("file".utf8), item, in: .file)
        #expect(try migration.move(item, to: .secretService))
        #expect(scene.machine.item(item, in: .secretService) == Array("file".utf8))
        #expect(scene.machine.item(item, in: .file) == nil)
        scene.machine.set(Array("older".utf8), item, in: .file)
        #expect(try migration.move(item, to: .secretService))
        #expect(scene.machine.item(item, in: .secretService) == Array("file".utf8))
        #expect(scene.machine.item(item, in: .file) == nil)
    }

    // MARK: Stops and meetings

    @Test(arguments: StoreKind.allCases)
    func `one that is stopped anywhere leaves an account that works, and the next finishes it`(
        source: StoreKind
    ) throws {
        try PortWalk.ending(
            { try Self.signedIn(source) }, { scene, trace in try scene.move("ada", to: source.other, trace) }
        ) { scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
            #expect(scene.machine.provider.reuses == 0, "\(place)")
            try scene.move(to: source.other)
            let account = try #require(scene.account())
            #expect(scene.machine.secrets() == [account.id: [source.other]], "\(place)")
            #expect(account.staleKeyringCopy == nil, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a refresh that it meets anywhere is not lost`(source: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.signedIn(source) }, { scene, trace in try scene.move("ada", to: source.other, trace) },
            peer: { scene in try scene.token(scene.request(force: true)) }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            let account = try #require(scene.account())
            #expect(scene.machine.secrets() == [account.id: [source.other]], "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
            #expect(scene.machine.provider.reuses == 0, "\(place)")
        }
    }

    /// Reads the token of a sign-in from its store, as a process that has a cache miss.
    private static func read(
        _ scene: ServiceScene, _ trace: PortTrace = PortTrace()
    ) throws(CredentialError) -> String {
        scene.services().machine.tokenCache.removeTokens()
        return try scene.token(scene.request(), trace).token.token.reveal()
    }

    /// A keyring may answer for an item that is being removed as if it were in trouble itself.
    private static let trouble = CredentialError(.storeUnavailable, "no such interface")

    @Test(arguments: StoreKind.allCases, [nil, trouble])
    func `a reader of a token finds it at every step of a move`(
        source: StoreKind, trouble: CredentialError?
    ) throws {
        // The move has begun, so its lock cannot be had; it goes on at each moment of the reading.
        try PortWalk.meeting(
            { try Moving(Self.signedIn(source)) },
            { moving, trace in
                let token = try Self.read(moving.scene, trace)
                #expect(token == "access-ada-1")
            },
            peer: { moving in
                moving.lock.release()
                try moving.scene.move(to: source.other)
                moving.scene.machine.breakStore(source, with: trouble)
            }
        ) { moving, place, failure in
            #expect(failure == nil, "\(place)")
            let account = try #require(moving.scene.account())
            #expect(moving.scene.machine.secrets() == [account.id: [source.other]], "\(place)")
        }
        // And the other way round: the token is read as a whole at each moment of the move.
        try PortWalk.meeting(
            { try Self.signedIn(source) }, { scene, trace in try scene.move("ada", to: source.other, trace) },
            peer: { scene in
                do {
                    let token = try Self.read(scene)
                    #expect(token == "access-ada-1")
                } catch {
                    // A lock that is held is no excuse: who only reads does not wait.
                    Issue.record("the token was not read: \(error)")
                }
            }
        ) { _, place, failure in #expect(failure == nil, "\(place)") }
    }

    @Test(arguments: StoreKind.allCases, [false, true])
    func `a refresh is made once, wherever the move is that it meets`(source: StoreKind, byWorker: Bool) throws {
        try PortWalk.meeting(
            { try Self.signedIn(source) },
            { scene, trace in
                let answer = try scene.token(
                    scene.request(force: true), trace, worker: byWorker ? PortTrace() : nil)
                #expect(answer.token.token.reveal() == "access-ada-2")
            },
            peer: { scene in try scene.move(to: source.other) }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            let account = try #require(scene.account())
            #expect(scene.machine.secrets() == [account.id: [source.other]], "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
            #expect(scene.machine.provider.reuses == 0, "\(place)")
            #expect(scene.refreshFailure() == nil, "\(place)")
        }
    }
}

/// A sign-in that another process has begun to move: it holds the lock.
private struct Moving: Sendable {
    let scene: ServiceScene
    let lock: any HeldLock

    init(_ scene: ServiceScene) throws {
        self.scene = scene
        let account = try #require(scene.account())
        lock = try scene.services().machine.locks.lock(account.id, in: scene.group, seconds: 1)
    }
}
