import CredentialCore
import CryptoSupport
import StrictJSON
import TestPorts
import Testing

/// The facts in an account's record about its user and its sign-in.
@Suite struct SignInFactsTests {
    private static func scene(_ store: StoreKind) -> ServiceScene {
        ServiceScene(cryptography: LibCryptography(), store: store)
    }

    /// Signs in a user who has another name by now.
    private static func rename(_ scene: ServiceScene, _ trace: PortTrace = PortTrace()) throws {
        let before = scene.machine.provider.signIn("ada", to: scene.type)
        let identity = Identity(issuer: before.identity.issuer, subject: "ada", username: "ada@new.example.com")
        _ = try scene.services(trace).signIn.keep(
            SignInResult(identity: identity, tokens: before.tokens), of: scene.type,
            registration: scene.registration, policy: "", in: scene.group, store: scene.store, forceNew: false)
    }

    @Test(arguments: [StoreKind.file, .secretService])
    func `a sign-in that changes the name leaves an account that can be read, wherever it ends`(
        store: StoreKind
    ) throws {
        try PortWalk.ending(
            {
                let scene = Self.scene(store)
                try scene.signIn()
                return scene
            },
            { scene, trace in try Self.rename(scene, trace) },
            check: { scene, place in
                let failure = scene.refreshFailure()
                #expect(failure == nil, "\(place): \(failure.map(\.message) ?? "")")
                let record = try #require(scene.account())
                let set = scene.machine.tokenSet(record.id, in: store)
                #expect(set?.account.username == record.username, "\(place)")
            })
    }

    @Test(arguments: [StoreKind.file, .secretService])
    func `a record under another's name is not believed, nor one under a name that was its own long ago`(
        store: StoreKind
    ) throws {
        let scene = Self.scene(store)
        try scene.signIn("ada")
        try scene.signIn("bob")
        let ada = try #require(scene.account("ada")), bob = try #require(scene.account("bob"))
        scene.machine.change(ada.id) { $0.username = bob.username }
        scene.machine.change(bob.id) { $0.username = ada.username }
        scene.passLife()
        for person in ["ada", "bob"] {
            let failure = scene.refreshFailure(person)
            #expect(failure?.code == .storeDamaged && failure?.hint == "credmgr doctor --fix")
        }
        // A new sign-in establishes which user the account belongs to.
        try scene.signIn("ada")
        #expect(scene.account("ada")?.names == ada.names && scene.refreshFailure("ada") == nil)
        #expect(scene.account("ada")?.previousNames == nil)
        try Self.rename(scene)
        #expect(scene.account("ada")?.previousNames == (store == .secretService ? ada.names : nil))
        let renamed = try #require(scene.account("ada"))
        #expect(try Account(json: renamed.json) == renamed)
        try Self.rename(scene)
        #expect(scene.account("ada")?.previousNames == nil)
        scene.machine.change(ada.id) { $0.username = ada.username }
        scene.passLife()
        #expect(scene.refreshFailure("ada")?.code == .storeDamaged)
    }

    @Test(arguments: [StoreKind.file, .secretService])
    func `a hint names the flow if it differs from the type's, also from the record alone`(
        store: StoreKind
    ) throws {
        var scene = Self.scene(store)
        func hint() throws -> String {
            LoginHint(for: try #require(scene.account()), in: scene.group).description
        }
        try scene.signIn()
        #expect(try !hint().contains("--flow"))
        scene.type.flow = .device
        try scene.signIn()
        #expect(try hint().hasSuffix(" --flow code"))
        let own = try #require(scene.account())
        #expect(try Account(json: own.json) == own)
        #expect(!LoginHint(for: own, in: scene.group, policy: "other").description.contains("--flow"))
        // A record of before, and one of a flow that is not known here, name no flow.
        for flows: JSONValue? in [nil, ["": "by_pigeon"], "code"] {
            var json = own.json
            json["flows"] = flows
            #expect(try Account(json: json).flows.isEmpty)
        }
        scene.type.flow = .code
        try scene.signIn()
        #expect(try !hint().contains("--flow"))
        // One that has to wait, too.
        scene.type.flow = .device
        let lock = try scene.services().machine.locks.lock(own.id, in: scene.group, seconds: 1)
        #expect(try scene.signIn().warnings.count == 1)
        lock.release()
        #expect(scene.refreshFailure() == nil)
        #expect(try hint().hasSuffix(" --flow code"))
    }
}
