import CredentialCore
import Credentials
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// A program and the command on one machine.
@Suite struct TogetherTests {
    @Test func `the command finishes a program's sign-in, and a program the command's`() async throws {
        let world = try LibraryWorld(redirectURI: "urn:ietf:wg:oauth:2.0:oob"), store = try world.store()
        // No file knows the type.
        let begun = try await store.prepareAuthorization(ofType: "TaskList")
        let redirect = try await world.redirect(from: begun.url)
        let finished = try await world.command(
            ["login", "--complete", "-", "--store", "file"], input: redirect + "\n")
        #expect(finished.exitStatus == 0, "\(finished.standardError)")
        #expect(finished.standardOutput.hasSuffix("\talice@example.com\n"))
        #expect(try store.accounts(ofType: "TaskList").map(\.username) == ["alice@example.com"])

        try store.configure(world.type, persisting: true)
        let printed = try await world.command(["login", "--type", "TaskList", "--print-url", "--store", "file"])
        let url = String(printed.standardOutput.split(separator: "\n").first ?? "")
        let account = try await store.handleRedirect(world.redirect(from: url, LibraryWorld.bob))
        #expect(account.username == "bob@example.com")
    }

    @Test func `a type that is kept is the command's too, with its accounts and their hints`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        let unknown = try await world.command(["token", "--type", "TaskList"])
        #expect(unknown.exitStatus == 2)
        try store.configure(world.type, persisting: true)
        // Again, as at each start of a program.
        try store.configure(world.type, persisting: true)
        let token = try await world.command(["token", "--type", "TaskList"])
        #expect(token.exitStatus == 0, "\(token.standardError)")
        #expect(try await store.token(of: alice).token.reveal() + "\n" == token.standardOutput)
        // The hint for a user names commands, for a program calls.
        let typed = try await world.command(["token", "--account", alice.id, "--policy", "edit"])
        #expect(typed.exitStatus == 4)
        let lead = "credmgr: hint: credmgr login --account "
        let hint = try #require(
            typed.standardError.split(separator: "\n").first { $0.hasPrefix(lead) }, "\(typed.standardError)")
        // The hint helps: the command finds the type that it needs.
        let helped = try await world.command(
            ["login", "--account"] + hint.dropFirst(lead.count).split(separator: " ").map(String.init)
                + ["--print-url"])
        #expect(helped.exitStatus == 0, "\(helped.standardError)")
        #expect(helped.standardOutput.contains("/b2c_1_edit_profile/oauth2/"), "\(helped.standardOutput)")
        let other = try world.store(configuring: false)
        #expect(try other.accounts(ofType: "TaskList").map(\.id) == [alice.id])
        let none = await failure { try await other.token(of: alice, ofType: "Unheard") }
        #expect(none?.code == .unknownType)
        #expect(none?.hint?.contains("credmgr") == false)
    }

    @Test func `the command keeps user data of a program`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        try store.configure(world.type, persisting: true)
        try store.setUserData(["a": "b"], of: alice)
        let refreshed = try await world.command(["token", "--type", "TaskList", "--force-refresh"])
        #expect(refreshed.exitStatus == 0, "\(refreshed.standardError)")
        #expect(store.userData(of: alice)["a"] == "b")
        let removed = try await world.command(["logout", "--account", alice.id])
        #expect(removed.exitStatus == 0)
        #expect(await failure { try await store.signOut(alice) }?.code == .noSuchAccount)
    }
}
