import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// Repairs by a state seen a moment ago, while others change the account.
@Suite struct AccountRepairTests {
    private static func scene(_ store: StoreKind) throws -> ServiceScene {
        let scene = ServiceScene(cryptography: LibCryptography(), store: store)
        try scene.signIn("ada")
        return scene
    }

    /// The steps of `doctor --fix`: it looks at all accounts, and then repairs the faults that it has found.
    private static func repair(_ scene: ServiceScene, _ trace: PortTrace = PortTrace()) throws {
        let services = scene.services(trace)
        let accounts = try services.machine.records.registry(of: scene.group).accounts
        let inventory = services.rebuild.inventory(of: scene.group)
        if inventory.accounts.contains(where: { found in !accounts.contains { $0.id == found.id } }) {
            _ = try services.rebuild.run(scene.group)
        }
        for account in accounts {
            guard let trouble = services.repair.trouble(of: account, by: inventory) else { continue }
            try services.repair.repair(trouble, of: account.id, in: scene.group)
        }
    }

    private static func check(_ scene: ServiceScene, _ place: PortWalk.Place) {
        let comment = Comment(rawValue: "\(place)")
        let account = scene.account("ada")
        #expect(account?.status == .active, comment)
        #expect(scene.refreshFailure("ada") == nil, comment)
        #expect(account.map { scene.machine.secrets()[$0.id] } == [account?.store].compactMap(\.self), comment)
    }

    @Test(arguments: [(StoreKind.file, StoreKind.secretService), (.secretService, .file)])
    func `A migration at any moment of a repair loses nothing`(from: StoreKind, to: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.scene(from) }, { scene, trace in try Self.repair(scene, trace) },
            peer: { scene in _ = try scene.move("ada", to: to) }
        ) { scene, place, failure in
            if let failure = failure as? CredentialError { #expect(failure.code == .lockTimeout) }
            try Self.repair(scene)
            Self.check(scene, place)
        }
    }

    @Test(arguments: [(StoreKind.file, StoreKind.secretService), (.secretService, .file)])
    func `A repair at any moment of a migration loses nothing`(from: StoreKind, to: StoreKind) throws {
        try PortWalk.meeting(
            { try Self.scene(from) }, { scene, trace in try scene.move("ada", to: to, trace) },
            peer: { scene in try Self.repair(scene) }
        ) { scene, place, failure in
            #expect(failure == nil, Comment(rawValue: "\(place)"))
            try Self.repair(scene)
            Self.check(scene, place)
            #expect(scene.account("ada")?.store == to)
        }
    }

    @Test(arguments: [StoreKind.file, .secretService])
    func `A repair of a problem that no longer exists changes no account`(store: StoreKind) throws {
        let scene = try Self.scene(store), id = try #require(scene.account("ada")?.id)
        let before = scene.machine.record(id)
        let troubles: [AccountRepair.Trouble] = [.inKeyring, .withoutSecrets, .foreignFacts, .copy]
        for trouble in troubles {
            #expect(!scene.services().repair.isConfirmed(trouble, of: id, in: scene.group))
            try scene.services().repair.repair(trouble, of: id, in: scene.group)
        }
        try scene.services().repair.removeDamaged(id, from: .secretService, in: scene.group)
        try scene.services().repair.replace(id, in: scene.group) { _ in "memory" }
        try scene.services().repair.restore(id, in: scene.group)
        #expect(scene.machine.record(id) == before)
        #expect(scene.refreshFailure("ada") == nil)
    }

    @Test func `No account is repaired while another process holds its lock`() throws {
        let scene = try Self.scene(.secretService), id = try #require(scene.account("ada")?.id)
        scene.machine.removeSecrets(of: id)
        let lock = try scene.services().machine.locks.tryLock(id, in: scene.group)
        let error = #expect(throws: CredentialError.self) {
            try scene.services().repair.repair(.withoutSecrets, of: id, in: scene.group)
        }
        #expect(error?.code == .lockTimeout && scene.account("ada")?.status == .active)
        lock?.release()
        try scene.services().repair.repair(.withoutSecrets, of: id, in: scene.group)
        #expect(scene.account("ada")?.status == .needsLogin(reason: "its secrets are gone"))
    }

    @Test func `A first sign-in that waits in the journal is not one without secrets`() throws {
        let scene = ServiceScene(cryptography: LibCryptography(), store: .secretService)
        scene.machine.breakStore(.secretService, with: CredentialError(.storeUnavailable, "no keyring answers"))
        #expect(try scene.signIn("ada").warnings.count == 1)
        scene.machine.breakStore(.secretService, with: nil)
        let id = try #require(scene.account("ada")?.id)
        try scene.services().repair.repair(.withoutSecrets, of: id, in: scene.group)
        #expect(scene.account("ada")?.status == .active)
        #expect(scene.refreshFailure("ada") == nil)
    }

    @Test(arguments: [true, false])
    func `Unrecorded secrets are recovered once, even if a user signs in or out meanwhile`(signsIn: Bool) throws {
        try PortWalk.meeting(
            {
                let scene = try Self.scene(.secretService), id = try #require(scene.account("ada")?.id)
                if signsIn { scene.machine.setRecord(nil, of: id) }
                return scene
            }, { scene, trace in try Self.repair(scene, trace) },
            peer: { scene in
                if signsIn { try scene.signIn("eve") } else { try scene.signOut("ada") }
            }
        ) { scene, place, failure in
            if let failure = failure as? CredentialError { #expect(failure.code == .lockTimeout) }
            let comment = Comment(rawValue: "\(place)")
            #expect(scene.machine.accounts().count == (signsIn ? 2 : 0), comment)
            #expect(scene.machine.secrets().count == (signsIn ? 2 : 0), comment)
            for person in signsIn ? ["ada", "eve"] : [] { #expect(scene.refreshFailure(person) == nil, comment) }
        }
    }
}
