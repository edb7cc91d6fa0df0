import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// Another key for the encrypted file, beside everybody who seals with the one before.
@Suite struct KeyReplacementTests {
    private static func scene(_ store: StoreKind = .file) -> ServiceScene {
        ServiceScene(cryptography: LibCryptography(), store: store)
    }

    private static func replace(_ scene: ServiceScene, _ trace: PortTrace = PortTrace()) throws {
        if let failure = outcome(scene, trace).failure { throw failure }
    }

    private static func outcome(
        _ scene: ServiceScene, _ trace: PortTrace = PortTrace()
    ) -> KeyReplacement.Outcome { scene.services(trace).keyReplacement.run(scene.group, with: .keyFile) }

    /// Whether every user gets a new token, and no record needs an older key.
    private static func check(_ scene: ServiceScene, _ people: [String], _ place: PortWalk.Place? = nil) throws {
        let comment = Comment(rawValue: place.map { "\($0)" } ?? "")
        _ = scene.services().takeUpSignIns(in: scene.group)
        for person in people {
            #expect(scene.refreshFailure(person) == nil, comment)
        }
        try replace(scene)
        #expect(scene.machine.replacedKeys() == 0, comment)
        for person in people { #expect(scene.refreshFailure(person) == nil, comment) }
    }

    /// An operation that seals and writes.
    enum Writer: CaseIterable {
        case firstSignIn, signIn, refresh, move, kept, rebuild

        func prepare(_ scene: ServiceScene) throws {
            try scene.signIn("bob")
            if self != .firstSignIn, self != .kept, self != .rebuild { try scene.signIn("ada") }
            switch self {
            case .move: try scene.move("ada", to: .secretService)
            case .kept:
                // Another process adds an account for too long.
                let other = scene.services().machine
                let lock = try other.locks.tryLock("new-account", in: scene.group)
                #expect(try scene.signIn("ada").warnings.count == 1)
                lock?.release()
            case .rebuild:
                // The data that an older version has kept.
                let other = KeyReplacementTests.scene()
                try other.signIn("ada")
                let account = try #require(other.account("ada"))
                let set = try #require(other.machine.tokenSet(account.id, in: .file))
                scene.machine.set(
                    set.encoded(), SecretItem(group: scene.group, owner: account.id, kind: .tokenSet), in: .file)
            case .firstSignIn, .signIn, .refresh: break
            }
        }

        func act(_ scene: ServiceScene, _ trace: PortTrace) throws {
            switch self {
            case .firstSignIn, .signIn: try scene.signIn("ada", trace)
            case .refresh: try scene.token(try scene.request("ada", force: true), trace)
            case .move: try scene.move("ada", to: .file, trace)
            case .kept: _ = scene.services(trace).takeUpSignIns(in: scene.group)
            case .rebuild: _ = try scene.services(trace).rebuild.run(scene.group)
            }
        }

        /// The users of these operations; a token set that another provider issued gives no token here.
        var people: [String] { self == .rebuild ? ["bob"] : ["ada", "bob"] }
    }

    private static func prepared(_ writer: Writer) throws -> ServiceScene {
        let scene = scene()
        try writer.prepare(scene)
        return scene
    }

    /// Whether every account that is listed can be opened.
    private static func checkSeals(_ scene: ServiceScene, _ place: PortWalk.Place) throws {
        for account in scene.machine.accounts() {
            let repository = scene.services().repository
            #expect(
                try repository.read(account, in: scene.group, isLocked: false) != nil,
                Comment(rawValue: "\(account.subject), \(place)"))
        }
    }

    @Test(arguments: Writer.allCases)
    func `A key that is replaced at any moment of a writer loses nothing`(writer: Writer) throws {
        try PortWalk.meeting(
            { try Self.prepared(writer) }, { scene, trace in try writer.act(scene, trace) },
            peer: { scene in try Self.replace(scene) }
        ) { scene, place, failure in
            #expect(failure == nil, Comment(rawValue: "\(place)"))
            try Self.checkSeals(scene, place)
            try Self.check(scene, writer.people, place)
        }
    }

    @Test(arguments: Writer.allCases)
    func `A writer at any moment of a replacement loses nothing`(writer: Writer) throws {
        try PortWalk.meeting(
            { try Self.prepared(writer) }, { scene, trace in try Self.replace(scene, trace) },
            peer: { scene in try writer.act(scene, PortTrace()) }
        ) { scene, place, failure in
            if let failure = failure as? CredentialError { #expect(failure.code == .lockTimeout) }
            try Self.checkSeals(scene, place)
            try Self.check(scene, writer.people, place)
        }
    }

    @Test func `Two replacements at once lose nothing`() throws {
        try PortWalk.meeting(
            { try Self.prepared(.signIn) }, { scene, trace in try Self.replace(scene, trace) },
            peer: { scene in try Self.replace(scene) }
        ) { scene, place, failure in
            #expect(failure == nil, Comment(rawValue: "\(place)"))
            try Self.check(scene, ["ada", "bob"], place)
        }
    }

    @Test func `A replacement that ends at any call loses nothing, and the next one ends it`() throws {
        try PortWalk.ending({ try Self.prepared(.signIn) }, { scene, trace in try Self.replace(scene, trace) }) {
            scene, place in try Self.check(scene, ["ada", "bob"], place)
        }
    }

    @Test func `A first sign-in that waits for its keyring is opened by the new key`() throws {
        let scene = Self.scene(.secretService)
        scene.machine.breakStore(.secretService, with: CredentialError(.storeUnavailable, "no keyring answers"))
        #expect(try scene.signIn("ada").warnings.count == 1)
        let id = try #require(scene.account("ada")?.id)
        for _ in 0..<2 { try Self.replace(scene) }
        #expect(scene.machine.replacedKeys() == 0)
        scene.machine.breakStore(.secretService, with: nil)
        #expect(scene.refreshFailure("ada") == nil)
        #expect(scene.machine.tokenSet(id, in: .secretService) != nil)
    }

    @Test func `A first sign-in that no key opens any more keeps no key from being replaced`() throws {
        let scene = Self.scene(.secretService)
        scene.machine.breakStore(.secretService, with: CredentialError(.storeUnavailable, "no keyring answers"))
        #expect(try scene.signIn("ada").warnings.count == 1)
        let id = try #require(scene.account("ada")?.id), journal = scene.services().machine.journal
        var record = try AccountRecord(
            try #require(try journal.read(id, in: scene.group)), of: id, in: scene.group)
        record.sealed?.key = "key-0"
        try journal.write(record.bytes, for: id, in: scene.group)
        try Self.replace(scene)
        #expect(scene.machine.replacedKeys() == 0)
        #expect(try journal.read(id, in: scene.group) == record.bytes)
    }

    @Test func `A record that cannot be opened, or is locked, changes no store`() throws {
        let scene = try Self.prepared(.signIn),
            key = try scene.services().stores.vault().currentKey(of: scene.group)
        let id = try #require(scene.account("ada")?.id), good = try #require(scene.machine.record(id))
        var strange = good
        strange.sealed?.key = "key-0"
        scene.machine.setRecord(strange, of: id)
        let damaged = Self.outcome(scene)
        #expect(damaged.failure?.code == .storeDamaged)
        scene.machine.setRecord(good, of: id)
        let lock = try scene.services().machine.locks.tryLock(id, in: scene.group)
        let held = Self.outcome(scene)
        #expect(held.failure?.code == .lockTimeout)
        for outcome in [damaged, held] {
            guard case .before = outcome.opener else {
                Issue.record("the key was replaced")
                continue
            }
        }
        lock?.release()
        #expect(try scene.services().stores.vault().currentKey(of: scene.group) == key)
        #expect(scene.machine.replacedKeys() == 0)
        try Self.check(scene, ["ada", "bob"])
    }

    @Test func `An account that is locked after the key is replaced keeps its key, and the report says so`() throws
    {
        let scene = try Self.prepared(.signIn), trace = PortTrace()
        let id = try #require(scene.account("ada")?.id), other = scene.services().machine
        trace.act(before: "file.rekey") { [group = scene.group] in
            #expect(throws: Never.self) { _ = try other.locks.tryLock(id, in: group) }
        }
        let outcome = Self.outcome(scene, trace)
        #expect(outcome.failure?.code == .lockTimeout)
        guard case .new = outcome.opener else {
            Issue.record("the new key is in force, and nobody says so")
            return
        }
        #expect(scene.machine.replacedKeys() == 1)
        let account = try #require(scene.account("ada"))
        #expect(try scene.services().repository.read(account, in: scene.group, isLocked: false) != nil)
    }
}
