import CredentialCore
import Credentials
import Foundation
import StrictJSON
import Testing

/// The page that ends a provider's session in the browser: it may get the ID token.
@Suite struct SignOutPageTests {
    private let world: LibraryWorld
    private let held: HeldProvider

    init() throws {
        world = try LibraryWorld()
        held = try HeldProvider()
    }

    /// Has the command import the definition of the type, with a page.
    private func importDefinition(page: String) async throws {
        var type = held.type
        type.endpoints[.endSession] = page
        let file = world.path + "/Held.json"
        try Data(JSONValue.object(type.json).bytes()).write(to: URL(fileURLWithPath: file))
        let done = try await world.command(["types", "import", file, "--name", "Held", "--force"])
        #expect(done.exitStatus == 0, "\(done.standardError)")
    }

    @Test func `a program gets no page of a definition that is not confirmed`() async throws {
        let evil = "https://evil.example/leave"
        try await importDefinition(page: held.base + "/leave")
        let account = try await world.store(configuring: false)
            .signIn(toType: "Held", interaction: LibraryWorld.browser())
        // The account was signed in under this definition.
        let own = try await world.store(configuring: false).endSessionURL(of: account)
        #expect(own?.hasPrefix(held.base + "/leave?") == true, "\(own ?? "")")
        // An import counts from its second on: that of the sign-in has to be over.
        let signedIn = time(nil)
        while time(nil) == signedIn { try await Task.sleep(for: .milliseconds(10)) }
        try await importDefinition(page: evil)
        let store = try world.store(configuring: false)
        let refused = await failure { try await store.endSessionURL(of: account) }
        #expect(refused?.code == .denied && refused?.code.exitStatus == 7)
        #expect(refused?.message.contains("account type Held is not confirmed") == true)
        #expect(refused?.message.contains(evil) == true, "\(refused?.message ?? "")")
        #expect(try world.store(configuring: false).accounts().map(\.id) == [account.id])
        // The user's word changes that.
        let trusted = try await world.command(["types", "trust", "Held"])
        #expect(trusted.exitStatus == 0, "\(trusted.standardError)")
        let page = try await world.store(configuring: false).endSessionURL(of: account)
        #expect(page?.hasPrefix(evil + "?") == true, "\(page ?? "")")
    }
}
