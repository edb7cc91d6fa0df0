import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import Testing

/// The seeds' small print, by the real program.
@Suite struct `The small print of the articles` {
    @Test func `An api_base is used as it is, and dot segments follow the standard`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        try tenant.signIn(at: home, policy: "sign-in")
        let call = ["--type", "Tasks"]
        try home.run(["types", "set", "Tasks", "api_base=\(tenant.base)/api/tasks"])
        #expect(try home.json(["request", "GET", ""] + call).array?.isEmpty == true)
        // The API accepts one more slash as well; the request was without one.
        #expect(tenant.provider.lastTaskTarget == "/api/tasks")
        try home.run(["request", "POST", "", "--form", "Text=buy milk"] + call)
        for (path, target) in [
            ("?page=1", "/api/tasks?page=1"), ("./../tasks", "/api/tasks"), ("/", "/api/tasks/"),
            ("\(tenant.base)/x/../api/./tasks", "/api/tasks"),
        ] {
            #expect(try home.json(["request", "GET", path] + call).array?.count == 1)
            #expect(tenant.provider.lastTaskTarget == target)
        }
    }

    @Test func `Scopes that only the page asks for are in its URL, and the token is found without them`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["additional_scope": "profile"])
        let url = try home.run(["login", "--type", DemoTenant.policyType, "--print-url"]).line
        #expect(url.contains("+profile&") || url.hasSuffix("+profile"))
        try tenant.signIn(at: home, policy: "sign-in")
        // It is the account's own token even so.
        let token = try home.json(["token", "--type", DemoTenant.policyType, "--format", "json"])
        #expect(token.object?["refreshed"] == false)
    }

    @Test func `A correlation ID can be chosen and is shown, also on success`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = "0b5c2f0e-9d3c-4c67-8f6a-1f2e3d4c5b6a"
        let chosen = ["CREDMGR_CORRELATION_ID": id]
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        let done = try home.run(["login", "--complete", "-", "-v"], input: redirect + "\n", environment: chosen)
        #expect(done.standardError.contains("client-request-id: " + id))
        let refreshed = try home.run(["token", "--force-refresh", "-v"], environment: chosen)
        #expect(refreshed.standardError.contains("client-request-id: " + id))
        let other = try home.run(["token", "--force-refresh", "-v"])
        #expect(other.standardError.contains("client-request-id: ") && !other.standardError.contains(id))
        try home.run(["token", "--force-refresh"], environment: ["CREDMGR_CORRELATION_ID": "me"], exits: 2)
    }

    @Test func `One article's app in a group and the other's not is said at import`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let settings = try home.write(
            """
            { authority = "\(tenant.base)/\(DemoTenant.tenant)/"; clientId = "\(DemoTenant.clientID)";
              emailSignInPolicyId = b2c_1_sign_in; }
            """, to: "adal.plist")
        let imported = try home.run(["types", "import", settings, "--name", "ADALTasks"])
        #expect(
            imported.standardError.contains(
                "credmgr types set ADALTasks keychain_group=\(DemoTenant.group)"), "\(imported.standardError)")
        try home.run(["types", "set", "ADALTasks", "keychain_group=\(DemoTenant.group)"])
        let again = try home.run(["types", "import", settings, "--name", "Third"])
        #expect(again.standardError.contains("do not share accounts"))
    }

    @Test func `Each policy of an account has its own status`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        try tenant.signIn(at: home, policy: "sign-in")
        try tenant.signIn(at: home, policy: "edit", name: "Alice")
        let shown = try home.json(["accounts", "show", "alice@example.com", "--json"])
        let grants = try #require(shown.object?["grants"]?.array)
        #expect(grants.count == 2 && grants.allSatisfy { $0.object?["status"] == "active" })
    }
}
