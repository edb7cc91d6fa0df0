import CredentialCore
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// Sign-ins that can do less than the one that the hosts of a group share (decision 22).
struct WeakerSignInTests {
    /// Signs the group's user in with these scopes.
    private static func signIn(
        _ scope: String, _ refreshToken: String?, by process: SimulatedProcess, at time: Timestamp? = nil,
        replaces: Bool = false
    ) throws(CredentialError) -> SignInService.Outcome {
        var grant = Grant(flow: .code, obtainedAt: time ?? process.now)
        grant.refreshToken = refreshToken.map { Secret($0) }
        grant.scope = scope.split(separator: " ").map(String.init)
        let type = process.world.type
        let result = SignInResult(
            identity: Identity(issuer: SimulatedAdapter.issuer, subject: "ada", username: "ada@example.com"),
            tokens: IssuedTokens(accessToken: nil, grant: grant))
        return try process.services.signIn.keep(
            result, of: type,
            registration: ClientIdentity(provider: SimulatedAdapter.issuer, clientID: type.clientID), policy: "",
            in: World.group, store: .file, forceNew: false, replaces: replaces)
    }

    /// A refresh token of a new sign-in.
    private static func newToken(_ scene: SharedScene) -> String { "\(scene.world.provider.begin())" }

    private static func waiting(_ host: SimulatedHost) -> [String] {
        host.machine.journaled(World.group).filter { $0.hasPrefix("login-") }
    }

    @Test(arguments: [("write", true, false), ("read write", false, false), ("write", true, true)])
    func `one that lacks a right is refused, and the stored one stays for every host`(
        scope: String, isLasting: Bool, isSilent: Bool
    ) throws {
        let scene = try SharedScene(), host = scene.run.hosts[0], before = try #require(scene.standing)
        let process = host.process(), token = isLasting ? Self.newToken(scene) : nil
        // The copies of this host serve while the cluster does not answer.
        if isSilent { process.trace.fail("cluster.read", with: CredentialError(.temporary, "no answer")) }
        let error = #expect(throws: CredentialError.self) { try Self.signIn(scope, token, by: process) }
        #expect(error?.code == .usage, "\(error?.message ?? "")")
        #expect(error?.message.hasPrefix("keeps the sign-in of ") == true)
        #expect(error?.message.contains(" with scope read: ") == true)
        #expect(error?.hint == "to end it: credmgr login --account \(scene.account) --replace")
        #expect(scene.standing == before && Self.waiting(host).isEmpty)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }

    @Test(arguments: [("read write", false), ("write", true)])
    func `one that includes the stored one, or is to replace it, takes its place`(scope: String, replaces: Bool)
        throws
    {
        let scene = try SharedScene(), token = Self.newToken(scene)
        let outcome = try Self.signIn(scope, token, by: scene.run.hosts[1].process(), replaces: replaces)
        #expect(outcome.account.id == scene.account && outcome.notes.isEmpty && scene.standing == token)
        #expect(try scene.run.token(scene.run.hosts[0].process(), force: true).refreshed)
    }

    @Test func `a grant that is lost gives way to any`() throws {
        let scene = try SharedScene(), token = Self.newToken(scene)
        let gone = SharedRefresh.Answer.refused(CredentialError(.signInRequired, "it is gone"))
        #expect(throws: CredentialError.self) { try scene.refresh(over: scene.process) { _ in gone } }
        _ = try Self.signIn("write", token, by: scene.run.hosts[0].process())
        #expect(scene.standing == token)
    }

    @Test(arguments: [false, true])
    func `one that had to wait ends no stronger one that came meanwhile, unless it is to replace it`(replaces: Bool)
        throws
    {
        let scene = try SharedScene(), host = scene.run.hosts[0], other = scene.run.hosts[1]
        let process = host.process(), now = process.now
        let waiting = Self.newToken(scene), stronger = Self.newToken(scene)
        process.trace.fail("cluster.commit", with: CredentialError(.temporary, "no answer"))
        process.trace.act(before: "cluster.commit") {
            #expect(throws: Never.self) { try Self.signIn("read admin", stronger, by: other.process(), at: now) }
        }
        let kept = try Self.signIn("read write", waiting, by: process, at: now.adding(1), replaces: replaces)
        #expect(kept.warnings.count == 1 && !Self.waiting(host).isEmpty && scene.standing == stronger)
        let next = host.process()
        let account = try #require(try next.ports.records.account(scene.account, in: World.group))
        _ = try next.services.repository.read(account, in: World.group, isLocked: true)
        #expect(scene.standing == (replaces ? waiting : stronger) && Self.waiting(host).isEmpty)
        let failures = host.machine.events.filter { $0.kind == .loginFailed }
        #expect(failures.count == (replaces ? 0 : 1))
        #expect(failures.allSatisfy { $0.reason?.hasPrefix("keeps the sign-in of ") == true })
    }
}
