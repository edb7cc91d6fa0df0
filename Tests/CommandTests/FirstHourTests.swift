import CredentialCore
import CryptoSupport
import StrictJSON
import TestCommands
import TestPorts
import Testing

/// A new user's first hour, on a machine in memory: the output of a sign-in, the return of the user, and the end of
/// the session.
@Suite struct `The first hour` {
    private let scene = CommandScene(cryptography: LibCryptography())

    private func id() throws -> String { try #require(scene.machine.accounts().first?.id) }

    // MARK: What is said

    @Test(arguments: [nil, []] as [[String]?])
    func `A sign-in reports the user, the store and the next command, with and without a terminal`(
        answers: [String]?
    ) throws {
        scene.define()
        scene.expectBrowser("ada")
        let outcome = scene.run(["login", "--type", "Tasks"], answers: answers)
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(outcome.output == "\(try id())\tada@example.com\n")
        #expect(
            outcome.notices.contains(
                """
                Signed in as ada@example.com to Tasks; stored in the Secret Service; renewed automatically
                Next: credmgr token --type Tasks

                """), "\(outcome.notices)")
        #expect(scene.run("token", "--type", "Tasks").output == "access-ada-1\n")
    }

    @Test func `The next command names the account if a command without a name uses another`() throws {
        scene.define()
        for person in ["ada", "bob"] { #expect(scene.signIn(person).status == 0) }
        let bob = try #require(scene.machine.accounts().first { $0.username == "bob@example.com" })
        let again = scene.signIn("bob")
        #expect(again.notices.contains("Next: credmgr token --account \(bob.id)\n"), "\(again.notices)")
        #expect(scene.run("token", "--account", bob.id).output == "access-bob-2\n")
    }

    @Test func `A quiet sign-in says neither`() {
        scene.define()
        let words = ["login", "-q", "--type", "Tasks", "--flow", "password", "--username", "ada"]
        let outcome = scene.run(words + ["--password-file", "-"], input: "p\n")
        #expect(outcome.status == 0)
        #expect(outcome.output.hasSuffix("\tada@example.com\n"))
        #expect(outcome.notices.isEmpty, "\(outcome.notices)")
    }

    // MARK: No refresh token

    @Test func `Without a refresh token the end is told at once, listed, and not begun again an hour later`() throws
    {
        scene.define("Tasks", #""scope": "openid read""#)
        scene.machine.provider.giveRefreshTokens(false)
        let outcome = scene.signIn("ada")
        #expect(outcome.status == 0)
        let helps =
            "credmgr types set Tasks 'scope=openid read offline_access' && credmgr login --account \(try id())"
        #expect(
            outcome.notices.contains(
                "warning: the sign-in ends in 1 h, because the provider issued no refresh token: offline_access is not in the type's scope"
            ), "\(outcome.notices)")
        #expect(outcome.notices.contains("hint: \(helps)"), "\(outcome.notices)")
        scene.machine.clock.pass(60)
        #expect(scene.run("accounts").output.contains("ends in 59 min"))
        scene.machine.clock.pass(3_600)
        #expect(scene.run("accounts").output.contains("ended"))
        let refused = scene.run("token", "--type", "Tasks")
        #expect(refused.status == 4)
        #expect(refused.notices.contains("hint: \(helps)"), "\(refused.notices)")
        // Both commands of the hint work, and then it renews itself.
        #expect(scene.run("types", "set", "Tasks", "scope=openid read offline_access").status == 0)
        scene.machine.provider.giveRefreshTokens(true)
        #expect(scene.signIn("ada").notices.contains("renewed automatically"))
        #expect(!scene.run("accounts").output.contains("ends in"))
        scene.machine.clock.pass(7_200)
        #expect(scene.run("token", "--type", "Tasks").status == 0)
    }

    @Test func `A client that is given none is named, with the sign-in that follows`() throws {
        scene.define()
        scene.machine.provider.giveRefreshTokens(false)
        let outcome = scene.signIn("ada")
        #expect(
            outcome.notices.contains("no refresh token: the provider returned no refresh token to client c"),
            "\(outcome.notices)")
        #expect(
            outcome.notices.contains(
                "hint: allow refresh tokens for client c at the provider, then: credmgr login --account \(try id())"
            ),
            "\(outcome.notices)")
    }

    @Test func `A new type with sign-ins that end within the hour gets a warning`() throws {
        let words = ["types", "add", "Work", "--adapter", "memory", "--client-id", "c", "--scope"]
        let short = scene.run(words + ["openid read"])
        #expect(short.status == 0, "\(short.notices)")
        #expect(short.notices.contains("warning: sign-ins of Work may get no refresh token"), "\(short.notices)")
        #expect(short.notices.contains("hint: credmgr types set Work 'scope=openid read offline_access'"))
        let long = scene.run(words + ["openid read offline_access", "--force"])
        #expect(long.status == 0 && !long.notices.contains("refresh token"), "\(long.notices)")
    }

    // MARK: Who comes back

    @Test func `The same user with --new is renewed, not added, and told`() throws {
        scene.define()
        scene.expectBrowser("ada")
        #expect(scene.run("login", "--type", "Tasks").status == 0)
        let outcome = scene.run("login", "--type", "Tasks", "--new")
        #expect(outcome.status == 0)
        #expect(scene.machine.accounts().count == 1)
        #expect(outcome.output == "\(try id())\tada@example.com\n")
        #expect(
            outcome.notices.contains("warning: ada@example.com is already signed in to Tasks\n"),
            "\(outcome.notices)")
        #expect(outcome.notices.contains("hint: credmgr login --type Tasks --new --prompt login\n"))
        // The provider in memory cannot be asked for another user.
        #expect(outcome.notices.contains("sign out at https://memory.example in the browser first"))
        #expect(scene.run("token", "--type", "Tasks", "--force-refresh").output == "access-ada-3\n")
    }

    @Test func `Another user with --new is added, and so is the same one with --duplicate`() throws {
        scene.define()
        scene.expectBrowser("ada")
        #expect(scene.run("login", "--type", "Tasks").status == 0)
        scene.expectBrowser("bob")
        let other = scene.run("login", "--type", "Tasks", "--new")
        #expect(other.status == 0 && !other.notices.contains("already signed in"), "\(other.notices)")
        #expect(scene.machine.accounts().count == 2)
        let twice = scene.run("login", "--type", "Tasks", "--duplicate")
        #expect(twice.status == 0 && !twice.notices.contains("already signed in"), "\(twice.notices)")
        #expect(scene.machine.accounts().compactMap(\.username).count { $0 == "bob@example.com" } == 2)
        #expect(scene.run("login", "--account", "ada@example.com", "--duplicate").status == 2)
    }

    @Test func `A sign-in for another user in two halves tells the same`() throws {
        scene.define()
        #expect(scene.signIn("ada").status == 0)
        let first = scene.run("login", "--type", "Tasks", "--new", "--print-url")
        let state = try #require(first.output.split(separator: "state=").last).dropLast()
        let second = scene.run("login", "--complete", "http://127.0.0.1/?state=\(state)&code=ada")
        #expect(second.status == 0, "\(second.notices)")
        #expect(second.notices.contains("ada@example.com is already signed in to Tasks"), "\(second.notices)")
        #expect(scene.machine.accounts().count == 1)
    }

    // MARK: A locked keyring, and no account yet

    @Test func `A locked keyring is unlocked by the command that login names, or the file is taken`() throws {
        scene.define()
        scene.machine.breakStore(
            .secretService,
            with: CredentialError(
                .storeLocked, "the keyring of the Secret Service is locked",
                hint: "in a desktop session, run: credmgr store unlock"))
        let login = scene.signIn("ada")
        #expect(login.status == 5)
        #expect(login.notices.contains(": credmgr store unlock\n"))
        #expect(login.notices.contains("credmgr login --type Tasks --store file\n"), "\(login.notices)")
        let unlock = scene.run("store", "unlock")
        #expect(unlock.status == 5, "\(unlock.notices)")
        #expect(!unlock.notices.contains("nothing to unlock"))
        #expect(unlock.notices.contains("or sign in with --store file"), "\(unlock.notices)")
        scene.machine.breakStore(.secretService, with: nil)
        #expect(scene.run("store", "unlock").notices.contains("the keyring is unlocked"))
    }

    @Test func `Without a keyring there is nothing to unlock`() {
        scene.machine.breakStore(.secretService, with: CredentialError(.storeUnavailable, "no bus"))
        let unlock = scene.run("store", "unlock")
        #expect(unlock.status == 0 && unlock.notices.contains("there is nothing to unlock"), "\(unlock.notices)")
    }

    // MARK: A clock

    @Test(arguments: [(310, "ahead of"), (-7_200, "behind")] as [(Int64, String)])
    func `doctor says by how much a clock is wrong, and which`(ahead: Int64, word: String) throws {
        scene.define("Tasks", #""scope": "read", "issuer": "https://memory.example""#)
        let date = Timestamp(epochSeconds: 1_700_000_000)
        scene.machine.clock.pass(date.adding(ahead).seconds(since: scene.machine.clock.now))
        scene.transport.answer(
            .success(HTTPResponse(status: 200, headers: [("date", "Tue, 14 Nov 2023 22:13:20 GMT")])))
        let outcome = scene.run("doctor", "--online")
        #expect(outcome.status == 1)
        #expect(
            outcome.output.contains("PROBLEM  clock: this machine's clock is probably wrong: it is "),
            "\(outcome.output)\(outcome.notices)")
        #expect(outcome.output.contains(" \(word) that of https://memory.example\n"))
    }

    // MARK: The redirect URI

    @Test func `types show names the redirect URI to register if the type has no redirect URI`() {
        scene.define()
        let shown = scene.run("types", "show", "Tasks")
        #expect(shown.notices.contains("redirect_uri is not set: register http://127.0.0.1/ at the provider"))
        scene.define("Tasks", #""scope": "read", "redirect_uri": "http://127.0.0.1:8400/cb""#)
        #expect(!scene.run("types", "show", "Tasks").notices.contains("register"))
    }
}
