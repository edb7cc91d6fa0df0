import CredentialCore
import CryptoSupport
import StrictJSON
import Synchronization
import TestCommands
import TestPorts
import Testing

/// Counts.
final class Turns: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// Signing in and out, and reports about accounts, on a machine in memory.
@Suite struct AccountCommandTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    @Test func `a first sign-in in the journal that no key opens is shown as that, and is set aside by doctor`()
        throws
    {
        let scene = CommandScene(cryptography: LibCryptography()), trace = PortTrace()
        scene.define()
        trace.fail("secret-service.write", with: CredentialError(.storeUnavailable, "it is away"))
        let words = ["login", "--type", "Tasks", "--flow", "password", "--username", "ada", "--password-file", "-"]
        #expect(scene.run(words, input: "p\n", trace: trace).status == 0)
        let id = try #require(scene.machine.accounts().first).id
        func status() throws -> JSONObject? {
            try JSONValue.parse(scene.run("accounts", "--json").output).array?.first?.object
        }
        #expect(try status()?["status"] == "active")
        // As if the key were replaced and forgotten.
        var record = try AccountRecord(try #require(scene.machine.journaled(id)), of: id, in: .standard)
        var sealed = try #require(record.sealed)
        sealed.key = "gone"
        record.sealed = sealed
        scene.machine.setJournal(record.bytes, of: id)
        #expect(try status()?["status"] == "needs-login")
        #expect(try status()?["status_reason"]?.string?.contains("cannot be decrypted") == true)
        #expect(scene.run("accounts", "show", id).output.contains("cannot be decrypted"))
        let looked = scene.run("doctor")
        #expect(
            looked.output.contains("no key can decrypt the refresh token of \(id) in the journal"),
            "\(looked.output)")
        #expect(looked.output.contains("credmgr login --account \(id)"))
        _ = scene.run("doctor", "--fix", "--yes")
        #expect(scene.machine.journaled() == [] && scene.machine.journalAside[id] == record.bytes)
        #expect(try status()?["status"] == "needs-login")
        #expect(!scene.run("doctor").output.contains("no key can decrypt"))
        #expect(scene.signIn("ada").status == 0)
        #expect(scene.machine.accounts().map(\.status) == [.active])
        #expect(scene.run("token", "--type", "Tasks").output.hasPrefix("access-ada-"))
    }

    @Test func `a sign-in through the browser prints the account, and leaves nothing of the way there`() throws {
        scene.define()
        scene.expectBrowser("ada")
        let outcome = scene.run("login", "--type", "Tasks")
        #expect(outcome.status == 0, "\(outcome.notices)")
        let account = try #require(scene.machine.accounts().first)
        #expect(outcome.output == "\(account.id)\tada@example.com\n")
        #expect(scene.redirects.shown == ["credmgr: ada@example.com is signed in to Tasks"])
        #expect(!scene.redirects.isOpen)
        #expect(scene.programs.removed.count == 1)
        #expect(scene.machine.events.map(\.kind) == [.accountAdded])
        #expect(!scene.machine.hasLocks)
    }

    @Test func `a sign-in for an account accepts only the user of the account`() throws {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let before = scene.machine.accounts()
        scene.expectBrowser("bob")
        let outcome = scene.run("login", "--account", "ada@example.com")
        #expect(outcome.status == 7)
        #expect(outcome.notices.contains("ada@example.com") && outcome.notices.contains("bob@example.com"))
        #expect(scene.machine.accounts() == before)
        #expect(scene.machine.events.last?.kind == .loginFailed)
    }

    @Test func `login --if-needed asks no user if the account works`() {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let outcome = scene.run("login", "--type", "Tasks", "--if-needed")
        #expect(outcome.status == 0)
        #expect(outcome.output.hasSuffix("\tada@example.com\n"))
        #expect(scene.programs.started.isEmpty)
    }

    @Test func `the two halves of a sign-in find each other once`() throws {
        scene.define()
        let first = scene.run("login", "--type", "Tasks", "--print-url")
        #expect(first.status == 0, "\(first.notices)")
        let state = try #require(first.output.split(separator: "state=").last).dropLast()
        let address = "http://127.0.0.1/?state=\(state)&code=ada"
        let second = scene.run("login", "--complete", "-", input: address + "\n")
        #expect(second.status == 0, "\(second.notices)")
        #expect(second.output.hasSuffix("\tada@example.com\n"))
        #expect(scene.run("login", "--complete", address).status == 7)
        #expect(scene.machine.accounts().count == 1)
    }

    @Test func `the default, the label, and the commands that show them`() throws {
        scene.define()
        for person in ["ada", "bob"] { #expect(scene.signIn(person).status == 0) }
        #expect(scene.run("label", "bob@example.com", "Work").status == 0)
        #expect(scene.run("use", "Work", "--type", "Tasks").status == 0)
        let list = try #require(try JSONValue.parse(scene.run("accounts", "--json").output).array)
        let names = list.compactMap { $0.object?["name"]?.string }
        #expect(names == ["Work"])
        let defaults = list.filter { $0.object?["default"] == true }
        #expect(defaults.compactMap { $0.object?["username"]?.string } == ["bob@example.com"])
        #expect(scene.run("which", "--type", "Tasks").output.contains("Work"))
    }

    @Test func `logout removes the secrets from the store and the cache, and revokes the grant with --revoke`()
        throws
    {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        #expect(scene.run("token", "--type", "Tasks").status == 0)
        let outcome = scene.run("logout", "--account", "ada@example.com", "--revoke")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(scene.machine.provider.revoked == ["refresh-ada-1"])
        #expect(scene.machine.secrets().isEmpty)
        #expect(scene.machine.accounts().isEmpty)
        #expect(!scene.machine.hasCachedTokens)
        #expect(scene.run("token", "--type", "Tasks").status == 3)
    }

    @Test func `sign-ins move to the other store and are used there`() throws {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let id = try #require(scene.machine.accounts().first?.id)
        let outcome = scene.run("store", "migrate", "--to", "file")
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(scene.machine.secrets() == [id: [.file]])
        #expect(scene.run("token", "--type", "Tasks", "--force-refresh").output == "access-ada-2\n")
    }
}
