import CredentialCore
import Credentials
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// The behaviour of the command with servers that publish metadata, repeated by a Swift program.
@Suite struct `Scenarios of a program` {
    private let home: Home
    private let store: AccountStore

    init() throws {
        home = try Home()
        var options = AccountStore.Options()
        options.store = .file
        options.program = Home.program
        store = try AccountStore(options, environment: home.environment)
    }

    /// A browser that is sent back at once.
    private func browser(
        _ redirect: @escaping @Sendable (String) throws -> String
    ) -> AccountStore.URLOpener {
        { url in
            let back = try redirect(url)
            // No process waits for a browser.
            Thread.detachNewThread { _ = try? LoopbackClient().send("GET", back) }
        }
    }

    private func failure(_ body: () async throws -> Void) async -> CredentialError? {
        do {
            try await body()
            Issue.record("nothing was thrown")
            return nil
        } catch { return error as? CredentialError }
    }

    private func call(_ scenario: AuthorizationScenario) throws -> HTTPRequest {
        let address = try #require(URI(scenario.api))
        return HTTPRequest(
            method: "POST", address: address, headers: [("Content-Type", "application/json")],
            body: .bytes(Array("{}".utf8)))
    }

    @Test(arguments: [false, true])
    func `one type's sign-in vouches for another's, whether files know them or the program alone`(
        persisting: Bool
    ) async throws {
        let scenario = try AuthorizationScenario(
            "enterprise-managed-authorization", clients: #"{"agent": {"client_secret": "agent-secret"}}"#)
        let idp = try ScriptedProvider { $0.idTokenSubject = "ada" }
        var staff = AccountType(name: "Staff", adapter: "oauth2", clientID: "app")
        staff.issuer = idp.base
        staff.scope = ["openid"]
        try store.configure(staff, persisting: persisting)
        var agent = AccountType(name: "Agent", adapter: "oauth2", clientID: "agent")
        agent.issuer = scenario.issuer
        (agent.resource, agent.apiBase, agent.scope) = (scenario.api, scenario.api, ["mcp:basic"])
        agent.clientSecret = .literal(Secret("agent-secret"))
        agent.identityProvider = "Staff"
        try store.configure(agent, persisting: persisting)

        let nobody = await failure { _ = try await store.requestAssertionAccess(toType: "Agent") }
        #expect(nobody?.code == .signInRequired)
        #expect(nobody?.hint == #"signIn(toType: "Staff")"#)
        let ada = try await store.signIn(toType: "Staff", interaction: browser { try idp.redirect(from: $0) })
        // The exchange is at the provider's own token endpoint, which another server plays here.
        try store.configure(staff, persisting: true)
        try home.run([
            "types", "set", "Staff", "token_endpoint=\(scenario.identityProvider)/token", "--move-accounts",
        ])
        if !persisting { try home.run(["types", "remove", "Staff"]) }
        staff.endpoints[.token] = scenario.identityProvider + "/token"
        try store.configure(staff, persisting: persisting)
        let account = try await store.requestAssertionAccess(toType: "Agent")
        #expect(try await store.send(call(scenario), as: account).status == 200)
        let first = try await store.token(of: account)
        #expect(try await store.token(of: account, forceRefresh: true).token != first.token)
        #expect(try scenario.requests(to: "/idp/token").count == 2)
        #expect(try scenario.requests(to: "/token").count == 2)

        try await store.signOut(ada)
        let gone = await failure { _ = try await store.token(of: account, forceRefresh: true) }
        #expect(gone?.code == .signInRequired || gone?.code == .noSuchAccount, "\(String(describing: gone))")
        #expect(try scenario.requests(to: "/token").count == 2)
    }

    @Test func `an API that has moved to another authorization server is followed`() async throws {
        let scenario = try AuthorizationScenario("authorization-server-migration")
        try scenario.signIn(at: home)
        let name = try #require(try home.json(["types", "--json"]).array?.first?.object?["name"]?.string)
        let account = try #require(try store.accounts(ofType: name).first)
        #expect(try await store.send(call(scenario), as: account).status == 200)
        let old = try #require(try scenario.requests(to: "/token").first?.form["client_id"])

        try scenario.move()
        let moved = await failure { _ = try await store.send(call(scenario), as: account) }
        #expect(moved?.code == .signInRequired)
        #expect(moved?.message.contains("now accepts tokens of another authorization server") == true)
        #expect(moved?.hint == "signIn(toType: \"\(name)\")")
        // No refresh helps, so credmgr sent no refresh.
        #expect(try scenario.requests(to: "/token").count == 1)

        let next = try await store.signIn(toType: name, interaction: browser { try scenario.redirect(from: $0) })
        #expect(next.id != account.id)
        #expect(try await store.send(call(scenario), as: next).status == 200)
        // The other server sees no data of the former one.
        let second = try scenario.log.filter { $0.server == "as2" }
        #expect(second.contains { $0.path == "/register" })
        #expect(second.allSatisfy { !$0.form.values.contains(old) && !$0.query.values.contains(old) })
        // The command has the same definition, and the account.
        try scenario.call(from: home)
    }
}
