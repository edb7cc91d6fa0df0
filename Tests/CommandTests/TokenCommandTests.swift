import Commands
import CredentialCore
import CryptoSupport
import StrictJSON
import TestCommands
import TestPorts
import Testing

/// `credmgr token` and the commands around it, each a process on one machine in memory.
@Suite struct TokenCommandTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    private func signedIn() -> CommandScene {
        scene.define()
        let outcome = scene.signIn("ada")
        #expect(outcome.status == 0, "\(outcome.notices)")
        return scene
    }

    @Test func `the token of the sign-in is printed until its end is near, and a new one then`() {
        let scene = signedIn()
        #expect(scene.run("token", "--type", "Tasks").output == "access-ada-1\n")
        scene.machine.clock.pass(3_540)
        #expect(scene.run("token", "--type", "Tasks").output == "access-ada-1\n")
        scene.machine.clock.pass(1)
        let refreshed = scene.run("token", "--type", "Tasks", "--format", "json")
        let object = try? JSONValue.parse(refreshed.output).object
        #expect(object?["access_token"] == "access-ada-2")
        #expect(object?["refreshed"] == true)
        #expect(scene.run("token", "--type", "Tasks").output == "access-ada-2\n")
        #expect(scene.machine.provider.refreshes.count == 1)
    }

    @Test(arguments: [["token", "--type", "Tasks"], ["refresh", "--all"]])
    func `a sign-in that is kept for an account that has to sign in again is taken up`(words: [String]) throws {
        let scene = signedIn(), context = scene.context(MemoryConsole(answers: []))
        scene.machine.provider.end("ada")
        scene.machine.clock.pass(3_600)
        #expect(scene.run(words).status == 4)
        let account = try #require(scene.machine.accounts().first)
        let lock = try context.machine.locks.lock(account.id, in: KeychainGroup("default"), seconds: 1)
        let kept = scene.signIn("ada")
        #expect(kept.status == 0 && kept.notices.contains("credmgr saved the sign-in"))
        lock.release()
        #expect(scene.run(words).status == 0)
        #expect(scene.machine.accounts().map(\.status) == [.active])
    }

    @Test func `a refresh is told to the terminal as waiting for its provider, and a cached token as nothing`() {
        let scene = signedIn()
        let cached = MemoryConsole(answers: [])
        #expect(Program(context: scene.context(cached)).run(["token", "--type", "Tasks"]) == 0)
        #expect(cached.waits.subjects.isEmpty)
        let refreshed = MemoryConsole(answers: [])
        let words = ["token", "--type", "Tasks", "--force-refresh"]
        #expect(Program(context: scene.context(refreshed)).run(words) == 0)
        #expect(refreshed.waits.subjects.count == 1 && !refreshed.waits.isWaiting)
        let quiet = MemoryConsole(answers: [])
        #expect(Program(context: scene.context(quiet)).run(words + ["--quiet"]) == 0)
        #expect(quiet.waits.subjects.isEmpty)
    }

    @Test func `a token with another scope is a separate token`() {
        let scene = signedIn()
        let other = scene.run("token", "--type", "Tasks", "--scope", "write")
        #expect(other.output == "access-ada-2\n")
        #expect(scene.run("token", "--type", "Tasks", "--scope", "write").output == other.output)
        #expect(scene.run("token", "--type", "Tasks").output == "access-ada-1\n")
    }

    @Test func `without an account, or with two and no default, it is exit 3`() {
        scene.define()
        let nobody = scene.run("token", "--type", "Tasks")
        #expect(nobody.status == 3)
        #expect(nobody.notices.contains("hint: credmgr login --type Tasks"))
        #expect(scene.signIn("eve").status == 0)
        #expect(scene.signIn("ada").status == 0)
        #expect(scene.signIn("bob").status == 0)
        // The first one stays the default; with it goes the choice.
        #expect(scene.run("token", "--type", "Tasks").output == "access-eve-1\n")
        #expect(scene.run("logout", "--account", "eve@example.com").status == 0)
        #expect(scene.run("token", "--type", "Tasks").status == 3)
        #expect(scene.run("token", "--type", "Tasks", "--account", "bob@example.com").output == "access-bob-1\n")
        #expect(scene.run("use", "ada@example.com", "--type", "Tasks").status == 0)
        #expect(scene.run("token", "--type", "Tasks").output == "access-ada-1\n")
    }

    @Test func `a grant that the provider ended is exit 4, and the hint signs that account in again`() {
        let scene = signedIn()
        scene.machine.provider.end("ada")
        scene.machine.clock.pass(3_600)
        let outcome = scene.run("token", "--type", "Tasks")
        #expect(outcome.status == 4)
        #expect(outcome.output.isEmpty)
        let id = scene.machine.accounts()[0].id
        #expect(outcome.notices.contains("hint: credmgr login --account \(id)"), "\(outcome.notices)")
        #expect(scene.run("accounts", "--json").output.contains(#""status": "needs-login""#))
        #expect(scene.signIn("ada").status == 0)
        #expect(scene.run("token", "--type", "Tasks").status == 0)
        #expect(scene.machine.accounts().map(\.id) == [id])
    }

    @Test func `a store that is locked is exit 5, and a token that is in the cache is printed all the same`() {
        let scene = signedIn()
        _ = scene.run("token", "--type", "Tasks")
        scene.machine.breakStore(.secretService, with: CredentialError(.storeLocked, "it is locked"))
        #expect(scene.run("token", "--type", "Tasks").output == "access-ada-1\n")
        let outcome = scene.run("token", "--type", "Tasks", "--force-refresh")
        #expect(outcome.status == 5)
        #expect(scene.machine.provider.refreshes.isEmpty)
    }

    @Test
    func `trouble on the way gives the token that is still valid, with a warning, unless another was demanded`() {
        let scene = signedIn()
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        scene.machine.clock.pass(3_570)
        let outcome = scene.run("token", "--type", "Tasks")
        #expect(outcome.output == "access-ada-1\n")
        #expect(outcome.notices.contains("no reply came"))
        for option in ["--force-refresh", "--min-valid=60"] {
            let demanded = scene.run("token", "--type", "Tasks", option)
            #expect(demanded.status == 6)
            #expect(demanded.output.isEmpty)
        }
        scene.machine.clock.pass(30)
        #expect(scene.run("token", "--type", "Tasks").status == 6)
    }

    @Test func `with CREDMGR_CACHE off nothing is kept in memory`() {
        let scene = CommandScene(cryptography: LibCryptography(), environment: ["CREDMGR_CACHE": "off"])
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        #expect(scene.run("token", "--type", "Tasks", "--force-refresh").output == "access-ada-2\n")
        #expect(scene.machine.cached.isEmpty)
    }

    @Test func `refresh renews the very token that is printed`() {
        let scene = signedIn()
        scene.machine.clock.pass(3_000)
        #expect(scene.run("refresh", "--all").status == 0)
        #expect(scene.machine.provider.refreshes.isEmpty)
        let outcome = scene.run("refresh", "--all", "--min-valid", "3600")
        #expect(outcome.status == 0)
        #expect(outcome.output.isEmpty)
        #expect(scene.machine.provider.refreshes.count == 1)
        #expect(scene.run("token", "--type", "Tasks", "--min-valid", "3600").output == "access-ada-2\n")
        #expect(scene.machine.provider.refreshes.count == 1)
    }

    @Test func `a file that is kept valid gets each token, and a failure is reported once`() {
        let scene = signedIn()
        let turns = Turns()
        scene.programs.whenPaused { _ in
            if turns.next() == 400 { scene.machine.provider.end("ada") }
        }
        let outcome = scene.run("token", "--type", "Tasks", "--output", "/memory/home/token", "--keep")
        #expect(outcome.status == 4)
        #expect(scene.machine.provider.refreshes.count > 1)
        #expect(scene.machine.file("/memory/home/token")?.hasPrefix("access-ada-") == true)
        #expect(scene.machine.provider.reuses == 0)
    }
}
