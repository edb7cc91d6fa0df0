import CredentialCore
import DemoProvider
import StrictJSON
import TestSupport
import Testing

@Suite struct `Grants of B2C` {
    private static let confidential = "c0ffee00-5b1d-4e55-8e7e-0d1e2f3a4b5c"

    @Test func `A password signs in at a policy for it, and refreshes`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["flow": "password", "default_policy": "ropc"])
        let login = ["login", "--type", "Tasks", "--username", DemoTenant.alice.email, "--password-file", "-"]
        try home.run(login, input: DemoTenant.alice.password.reveal() + "\n")
        try home.run(["token", "--force-refresh"])
        #expect(try home.run(login, input: "wrong\n", exits: 7).standardError.contains("AADB2C90225"))
        let elsewhere = try home.run(login + ["--policy", "sign-in"], input: "x\n", exits: 2)
        #expect(elsewhere.standardError.contains("AADB2C90224"))
    }

    @Test func `A client signs itself in for one API, and asks again by itself`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let secret = try home.write("demo client secret\n", to: "secret")
        try tenant.definePolicies(
            at: home,
            [
                "flow": "client_credentials", "client_id": .string(Self.confidential),
                "client_secret": ["file": .string(secret)],
                "scope": "https://exampleb2c.onmicrosoft.com/tasks/.default",
            ])
        try home.run(["login", "--type", "Tasks"])
        let first = try home.run(["token"]).line
        #expect(try home.run(["token", "--force-refresh"]).line != first)
        #expect(tenant.provider.counters.grants == ["client_credentials": 2])
        let scope = try home.run(["login", "--type", "Tasks", "--scope", "openid"], exits: 2)
        #expect(scope.standardError.contains("/.default"))
    }

    @Test(arguments: [(["--flow", "device"], "device"), (["--flow", "jwt_bearer"], "jwt_bearer")])
    func `A flow that B2C does not support is refused by name, and no request is sent`(
        words: [String], name: String
    ) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let outcome = try home.run(["login", "--type", "Tasks"] + words, exits: 2)
        #expect(outcome.standardError.contains("Azure AD B2C does not support the \(name) flow"))
        #expect(tenant.provider.counters == DemoCounters())
    }

    @Test func `The sample's own scopes give a sign-in that cannot be refreshed, as the sample had it`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let file = try home.write(AppSettings(base: tenant.base).plist, to: "settings.plist")
        try home.run(["types", "import", file, "--exact"])
        try tenant.signIn(at: home)
        let token = try home.json(["token", "--format", "json"]).object
        #expect(token?["scope"]?.string?.contains("offline_access") == false)
        #expect(try home.run(["token", "--force-refresh"], exits: 4).standardError.contains("no refresh token"))
    }

    @Test func `A tool that asks for less keeps the sign-in that it shares alive`() throws {
        let home = try Home(), tenant = try DemoTenant { $0.rotation = .revokesOld }
        try tenant.definePolicies(at: home, ["keychain_group": .string(DemoTenant.group)])
        try tenant.signIn(at: home)
        try tenant.definePolicies(
            at: home,
            [
                "keychain_group": .string(DemoTenant.group),
                "scope": "https://exampleb2c.onmicrosoft.com/tasks/read",
            ])
        for _ in 0..<2 { try home.run(["token", "--type", "Tasks", "--force-refresh"]) }
        try home.run(["token", "--type", DemoTenant.typeName, "--force-refresh"])
        #expect(tenant.provider.counters.reusesDetected == 0)
    }
}
