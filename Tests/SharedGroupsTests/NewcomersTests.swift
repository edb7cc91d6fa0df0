import CredentialCore
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// First sign-ins in a group of several hosts (decision 17).
struct NewcomersTests {
    /// A group without any signed-in account.
    private static func scene() throws -> SharedScene {
        let scene = try SharedScene()
        scene.run.attempt(.signOut, on: scene.run.hosts[0])
        try #require(sets(scene).isEmpty)
        return scene
    }

    private static func sets(_ scene: SharedScene) -> [TokenSet] {
        scene.world.cluster.content.records.values.filter { $0.key.hasSuffix("/set") }
            .compactMap { SimulatedCluster.tokenSet($0.value) }
    }

    private static func keep(_ process: SimulatedProcess) throws -> SignInService.Outcome {
        let type = process.world.type
        return try process.keep(
            process.world.provider.begin(), of: type,
            ClientIdentity(provider: SimulatedAdapter.issuer, clientID: type.clientID))
    }

    private static let silence = CredentialError(.temporary, "the cluster does not answer")

    @Test func `whenever one person signs in on two hosts there is one account`() throws {
        for number in 1...200 {
            let scene = try Self.scene(), one = scene.run.hosts[0].process(), two = scene.run.hosts[1].process()
            one.trace.act(at: number, .before) {
                #expect(throws: Never.self) { try Self.keep(two) }
            }
            let kept = try Self.keep(one)
            guard one.trace.calls.count >= number else {
                #expect(number > 10)
                return
            }
            #expect(kept.warnings.isEmpty, "call \(number)")
            #expect(Self.sets(scene).map(\.account.id) == [kept.account.id], "call \(number)")
            for host in scene.run.hosts[...1] {
                #expect(try scene.run.token(host.process(), force: true).refreshed, "call \(number)")
            }
        }
        Issue.record("it has no end")
    }

    @Test func `a user with a request for another account gets it`() throws {
        let scene = try Self.scene(), one = scene.run.hosts[0].process()
        _ = try Self.keep(one)
        let refresh = scene.world.provider.begin()
        var grant = Grant(flow: .code, obtainedAt: one.now)
        grant.refreshToken = Secret("\(refresh)")
        let result = SignInResult(
            identity: Identity(issuer: SimulatedAdapter.issuer, subject: "ada", username: "ada@example.com"),
            tokens: IssuedTokens(accessToken: nil, grant: grant))
        let outcome = try one.services.signIn.keep(
            result, of: scene.world.type,
            registration: ClientIdentity(provider: SimulatedAdapter.issuer, clientID: scene.world.type.clientID),
            policy: "", in: World.group, store: .file, forceNew: true)
        #expect(outcome.isNew && Self.sets(scene).count == 2)
    }

    @Test(arguments: [false, true])
    func `a sign-in that loses its cluster is kept, and joins the current account of its user`(
        signsInElsewhere: Bool
    ) throws {
        let scene = try Self.scene(), one = scene.run.hosts[0].process(), two = scene.run.hosts[1].process()
        // This host has looked before.
        try one.ports.sharing.catchUp(World.group, unlessWithin: 0)
        for name in ["cluster.read", "cluster.commit"] { one.trace.fail(name, with: Self.silence) }
        let kept = try Self.keep(one)
        #expect(kept.isNew && kept.warnings.first?.description.contains("credmgr saved the sign-in") == true)
        #expect(Self.sets(scene).isEmpty)
        if signsInElsewhere { _ = try Self.keep(two) }
        let next = scene.run.hosts[0].process()
        #expect(next.services.takeUpSignIns(in: World.group) == !signsInElsewhere)
        let set = try #require(Self.sets(scene).first)
        #expect(Self.sets(scene).count == 1)
        // Of two of one moment the one that comes last is kept.
        #expect(set.refreshToken == RefreshToken(signIn: 1, number: 1))
        #expect(try scene.run.token(two, force: true).refreshed)
        #expect(try next.ports.journal.accounts(in: World.group).isEmpty)
    }
}
