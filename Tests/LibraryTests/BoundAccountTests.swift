import CredentialCore
import Credentials
import DemoProvider
import StrictJSON
import Testing

/// Two programs with a type each of one client: the first sign-in serves both, and each program has accounts of its
/// own type.
@Suite struct BoundAccountTests {
    @Test func `accounts are of the type that they are asked for under`() async throws {
        let world = try LibraryWorld()
        let first = try world.store(refreshesHere: true, configuring: false)
        var other = world.type
        other.name = "Other"
        try first.configure(other)
        let signedIn = try await first.signIn(toType: "Other", interaction: LibraryWorld.browser())
        #expect(signedIn.type == "Other")

        // The second program does not know the first one's type.
        let second = try world.store(refreshesHere: true)
        let listed = try second.accounts(ofType: "TaskList")
        #expect(listed.map(\.type) == ["TaskList"] && listed.map(\.id) == [signedIn.id])
        #expect(try second.defaultAccount(ofType: "TaskList")?.type == "TaskList")
        #expect(try second.account(withID: signedIn.id, ofType: "TaskList").type == "TaskList")
        let again = try await second.signIn(toType: "TaskList", interaction: LibraryWorld.browser())
        #expect(again.id == signedIn.id && again.type == "TaskList")
        // As in the documentation: no call names the type.
        #expect(try await !second.token(of: again).token.reveal().isEmpty)
        #expect(try await second.send(world.tasks(), as: again).status == 200)
        #expect(try second.claims(of: again)["name"]?.string == "Alice Example")
        try second.setUserData(["seen": true], of: again)
        #expect(second.userData(of: again)["seen"] == true)
        try await second.signOut(again)
        #expect(try first.accounts(ofType: "Other").isEmpty)
    }

    @Test func `so is the account of a redirect`() async throws {
        let world = try LibraryWorld()
        let first = try world.store(configuring: false), second = try world.store()
        var other = world.type
        other.name = "Other"
        try first.configure(other)
        _ = try await first.signIn(toType: "Other", interaction: LibraryWorld.browser())
        let prepared = try await second.prepareAuthorization(ofType: "TaskList")
        let account = try await second.handleRedirect(try await world.redirect(from: prepared.url))
        #expect(account.type == "TaskList")
        #expect(try await !second.token(of: account).token.reveal().isEmpty)
    }
}
