import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// Plugins with the real program.
@Suite struct Plugins {
    private static let canary = "canary-7f3a91c05be2"

    @Test func `The example in Python signs in at a real server, refreshes and signs out`() throws {
        let home = try Home(["CREDMGR_STORE": "file"]), tenant = try DemoTenant()
        try home.install(example: "oauth-example")
        let endpoint = "\(tenant.base)/\(DemoTenant.tenant)/b2c_1_sign_in/oauth2/v2.0"
        try home.run([
            "types", "add", "Example", "--adapter", "oauth-example", "--client-id", DemoTenant.clientID,
            "--authorization-endpoint", endpoint + "/authorize", "--token-endpoint", endpoint + "/token", "--scope",
            "openid offline_access \(DemoTenant.clientID)", "--redirect-uri", "urn:ietf:wg:oauth:2.0:oob",
        ])
        let url = try home.run(["login", "--type", "Example", "--print-url"]).line
        #expect(url.contains("code_challenge_method=S256"))
        let redirect = try tenant.redirect(from: url)
        let done = try home.run(["login", "--complete", "-"], input: redirect + "\n")
        #expect(done.line.split(separator: "\t").count == 2)
        let first = try home.run(["token"]).line
        #expect(first.hasPrefix("ey"))
        #expect(try home.run(["token"]).line == first)
        let before = tenant.provider.counters.refreshes
        #expect(try home.run(["token", "--force-refresh"]).line.hasPrefix("ey"))
        #expect(tenant.provider.counters.refreshes == before + 1)
        // A code is valid once, and a sign-in is completed once.
        try home.run(["login", "--complete", redirect], exits: 7)
        tenant.provider.revokeRefreshTokens()
        try home.run(["token", "--force-refresh"], exits: 4)
        try home.run(["logout", "--all", "--yes", "--revoke"], exits: 2)
        try home.run(["logout", "--all", "--yes", "--revoke", "--force"])
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `The example in Python catches the browser's redirect on the loopback`() throws {
        let home = try Home(["CREDMGR_STORE": "file"]), tenant = try DemoTenant()
        try home.install(example: "oauth-example")
        let endpoint = "\(tenant.base)/\(DemoTenant.tenant)/b2c_1_sign_in/oauth2/v2.0"
        try home.run([
            "types", "add", "Example", "--adapter", "oauth-example", "--client-id", DemoTenant.clientID,
            "--authorization-endpoint", endpoint + "/authorize", "--token-endpoint", endpoint + "/token", "--scope",
            "openid offline_access \(DemoTenant.clientID)",
        ])
        let browser = try Browser(in: home)
        try home.run(["login", "--type", "Example"], environment: browser.environment)
        #expect(try home.run(["token"]).line.hasPrefix("ey"))
        // The id token could not be checked without an issuer, so it is not kept.
        try home.run(["claims"], exits: 2)
    }

    @Test func `An id token that a plugin brings is validated by the host`() throws {
        let home = try Home(["CREDMGR_STORE": "file"]), tenant = try DemoTenant()
        try home.install(example: "oauth-example")
        let policy = "\(tenant.base)/\(DemoTenant.tenant)/b2c_1_sign_in"
        let slash = tenant.provider.switches.issuerEndsWithSlash ? "/" : ""
        let definition: JSONValue = [
            "adapter": "oauth-example", "client_id": .string(DemoTenant.clientID),
            "issuer": .string("\(tenant.base)/\(DemoConfiguration().tenantID)/v2.0\(slash)"),
            "jwks_uri": .string(policy + "/discovery/v2.0/keys"),
            "authorization_endpoint": .string(policy + "/oauth2/v2.0/authorize"),
            "token_endpoint": .string(policy + "/oauth2/v2.0/token"),
            "scope": .string("openid offline_access \(DemoTenant.clientID)"),
            "redirect_uri": "urn:ietf:wg:oauth:2.0:oob",
        ]
        try home.write(definition.text(), to: "config/credmgr/types/Example.json")
        func signIn(exits status: Int32) throws {
            let url = try home.run(["login", "--type", "Example", "--print-url"]).line
            let redirect = try tenant.redirect(from: url)
            try home.run(["login", "--complete", redirect], exits: status)
        }
        tenant.provider.change { $0.idTokenFault = .signature }
        try signIn(exits: 7)
        #expect(try home.json(["accounts", "--json"]) == [])
        tenant.provider.change { $0.idTokenFault = .none }
        try signIn(exits: 0)
        #expect(try home.run(["claims"]).standardOutput.contains("Alice Example"))
        #expect(try home.run(["token", "--force-refresh"]).line.hasPrefix("ey"))
    }

    @Test func `The example in shell keeps a token that is asked for`() throws {
        let home = try Home(["CREDMGR_STORE": "file"])
        try home.install(example: "static-token")
        try home.run(["types", "add", "Forge", "--adapter", "static-token", "--client-id", "forge"], exits: 2)
        try home.run([
            "types", "add", "Forge", "--adapter", "static-token", "--client-id", "forge", "--set",
            "site=forge.example",
        ])
        try home.run(["login", "--type", "Forge"], exits: 4)
        try home.run(["login", "--type", "Forge", "--print-url"], exits: 2)
        try home.run(["login", "--type", "Forge"], input: "not a token\n", exits: 7)
        #expect(try home.json(["accounts", "--json"]) == [])
        let done = try home.run(["login", "--type", "Forge", "--login-hint", "ada"], input: "\(Self.canary)\n")
        #expect(done.line.hasSuffix("\tada@forge.example"))
        #expect(try home.run(["token"]).line == Self.canary)
        #expect(try home.run(["token", "--force-refresh"]).line == Self.canary)
        for (name, content) in home.files {
            #expect(content.range(of: Data(Self.canary.utf8)) == nil, "the token stands in \(name)")
        }
        let out = try home.run(["logout", "--all", "--yes", "--revoke"], exits: 2)
        #expect(out.standardError.contains("were not revoked"))
        try home.run(["logout", "--all", "--yes", "--revoke", "--force"])
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `A plugin's question names the plugin on the terminal`() throws {
        let home = try Home(["CREDMGR_STORE": "file"])
        try home.install(example: "static-token")
        try home.run([
            "types", "add", "Forge", "--adapter", "static-token", "--client-id", "forge", "--set",
            "site=forge.example",
        ])
        let session = try home.onTerminal(
            ["login", "--type", "Forge"],
            [("The plugin static-token asks: Token for forge.example:", "not a token\n")])
        #expect(session.status == 7, "\(session.text)")
    }

    @Test(arguments: ["oauth-example", "static-token"])
    func `The examples pass the suite that is shipped`(_ name: String) throws {
        let home = try Home()
        try home.install(example: name)
        let results = try home.json(["adapters", "test", name, "--json"]).array ?? []
        #expect(results.count > 15)
        #expect(results.allSatisfy { $0.object?["result"] != "FAILED" })
    }

    @Test func `Adapters are listed with why one is refused`() throws {
        let home = try Home()
        try home.install(example: "oauth-example")
        try home.install(example: "static-token")
        let folder = home.path + "/data/credmgr/providers"
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o666], ofItemAtPath: folder + "/static-token/manifest.json")
        try FileManager.default.createDirectory(atPath: folder + "/oauth2", withIntermediateDirectories: true)
        let listed = try home.json(["adapters", "--json"]).array?.compactMap(\.object) ?? []
        #expect(listed.map { $0["name"] } == ["azure-b2c", "oauth2", "oauth-example", "oauth2", "static-token"])
        #expect(listed.map { $0["status"] }.suffix(3) == ["available", "refused", "refused"])
        #expect(listed.last?["reason"]?.string?.contains("other users can write") == true)
        let shown = try home.run(["adapters"])
        #expect(shown.standardError.contains("chmod go-w"))
        try home.run(["types", "add", "F", "--adapter", "static-token", "--client-id", "f"], exits: 2)
        let doctor = try ChildProcess(Home.program, ["doctor"], environment: home.environment).run()
        #expect(doctor.exitStatus == 1 && doctor.standardOutput.contains("plugin static-token"))
    }

    @Test(arguments: [
        ("echo 'no json'", 1), ("exit 9", 1), ("kill -KILL $$", 1), ("exec yes", 1),
        (#"echo '{"version":2,"reply":"done"}'"#, 1),
        (
            #"echo '{"version":1,"reply":"done","identity":{"subject":"a"},"tokens":{"access_token":"CANARY"}}'; echo '{}'"#,
            1
        ),
        (
            #"echo '{"version":1,"reply":"done","identity":{"subject":"a"},"tokens":{"access_token":"CANARY","expires_in":-1}}'"#,
            1
        ),
        (
            #"echo '{"version":1,"reply":"done","identity":{"subject":"a"},"tokens":{"access_token":"CANARY"}}'; exit 1"#,
            1
        ),
        (#"echo '{"version":1,"reply":"error","code":"configuration","message":"CANARY is wrong"}'"#, 2),
        (#"echo '{"version":1,"reply":"error","code":"sign_in_required","message":"gone"}'"#, 4),
        (#"echo '{"version":1,"reply":"error","code":"temporary","message":"later"}'"#, 6),
        (#"echo '{"version":1,"reply":"error","code":"denied","message":"no"}'"#, 7),
        (#"echo '{"version":1,"reply":"error","code":"whim","message":"no"}'"#, 1),
    ])
    func `A plugin that does wrong ends as documented, and nothing is stored`(_ script: String, _ status: Int32)
        throws
    {
        let home = try Home(["CREDMGR_STORE": "file"])
        try home.install(
            plugin: "echo \"secret \(Self.canary) of $request\" >&2\n"
                + script.replacingOccurrences(of: "CANARY", with: Self.canary))
        try home.run(["login", "--type", "Canned", "--verbose"], exits: status)
        #expect(try home.json(["accounts", "--json"]) == [])
        #expect(!home.printed.contains(Self.canary))
        #expect(home.files.keys.allSatisfy { !$0.contains("/accounts/") })
    }

    @Test(arguments: ["../../etc", "/bin/sh", "a/b", "", ".hidden"])
    func `A name that leaves the folder names no adapter`(_ name: String) throws {
        let home = try Home()
        try home.run(["types", "add", "X", "--adapter", name, "--client-id", "x"], exits: 2)
        try home.run(["adapters", "test", name], exits: 2)
    }

    @Test func `A preset makes a type, and names the missing values`() throws {
        let home = try Home()
        let failed = try home.run(["types", "add", "S", "--preset", "keycloak", "--client-id", "c"], exits: 2)
        #expect(failed.standardError.contains("--set url=https://sso.example.com --set realm=staff"))
        try home.run([
            "types", "add", "S", "--preset", "keycloak", "--client-id", "c", "--set", "realm=r", "--set",
            "url=https://sso.example.com", "--scope", "openid", "--param", "authorize:kc_idp_hint=x", "--offline",
        ])
        let type = try home.json(["types", "show", "S", "--json"]).object
        #expect(type?["issuer"] == "https://sso.example.com/realms/r")
        #expect(type?["scope"] == "openid")
        // A variable that the options replace needs no value.
        try home.run([
            "types", "add", "T", "--preset", "okta", "--client-id", "c", "--issuer", "https://login.example.com",
        ])
        try home.run(
            ["types", "add", "U", "--preset", "github", "--client-id", "c", "--set", "hots=git.example"], exits: 2)
        #expect(try home.json(["presets", "--json"]).array?.count == 11)
    }
}
