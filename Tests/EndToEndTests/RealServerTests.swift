import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `With a server nobody here wrote` {
    private func server(_ change: (inout Glewlwyd.Settings) -> Void = { _ in }) throws -> Glewlwyd {
        var settings = Glewlwyd.Settings()
        change(&settings)
        return try Glewlwyd(settings)
    }

    /// A free port, named in the registration: this server compares redirect URIs to the byte.
    private func redirectURI() throws -> String {
        "http://127.0.0.1:\(try freePort())/callback"
    }

    @Test(arguments: ["rs1", "es1", "ed1"])
    func `Discovery, the browser, a rotating refresh and sign-out`(key: String) throws {
        let home = try Home(), redirect = try redirectURI()
        let server = try server {
            $0.redirectURIs = [redirect]
            $0.signingKey = key
        }
        try home.run([
            "types", "add", "Real", "--issuer", server.issuer, "--client-id", server.nativeClient.id, "--scope",
            "openid profile offline_access", "--redirect-uri", redirect,
        ])
        let browser = try Browser(in: home, user: "alice", password: server.password(of: "alice"))
        let done = try home.run(["login", "--type", "Real"], environment: browser.environment)
        #expect(done.line.contains("\t"))
        let first = try home.run(["token", "--type", "Real"]).line
        #expect(first.split(separator: ".").count == 3)
        #expect(try home.json(["claims", "--json"]).object?["iss"]?.string == server.issuer)
        for _ in 0..<3 {
            let next = try home.json(["token", "--force-refresh", "--format", "json"]).object
            #expect(next?["refreshed"] == true)
            #expect(next?["access_token"]?.string != first)
        }
        try home.run(["logout", "--type", "Real"])
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }

    @Test func `Signing out revokes at the provider, or says why it does not`() throws {
        let home = try Home(), redirect = try redirectURI()
        let server = try server { $0.redirectURIs = [redirect] }
        let browser = try Browser(in: home, user: "alice", password: server.password(of: "alice"))
        let common = ["--issuer", server.issuer, "--scope", "openid", "--redirect-uri", redirect]
        try home.run(
            ["types", "add", "Web", "--client-id", server.webClient.id, "--client-secret-file", "-"] + common,
            input: try #require(server.webClient.secret) + "\n")
        try home.run(["login", "--type", "Web"], environment: browser.environment)
        let done = try home.run(["logout", "--type", "Web", "--revoke"])
        #expect(done.standardError.contains("has revoked"))
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
        // This server refuses the revocation to public clients.
        try home.run(["types", "add", "Public", "--client-id", server.nativeClient.id] + common)
        try home.run(["login", "--type", "Public"], environment: browser.environment)
        let refused = try ChildProcess(
            Home.program, ["logout", "--type", "Public", "--revoke"], environment: home.environment
        ).run()
        #expect(refused.exitStatus != 0 && refused.standardError.contains("so the account is kept"))
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)
        try home.run(["logout", "--type", "Public", "--revoke", "--force"])
        try home.run(["token", "--type", "Public"], exits: 3)
    }

    @Test func `A lost grant is found out though its refusal has no body`() throws {
        let home = try Home(), redirect = try redirectURI()
        let server = try server {
            $0.redirectURIs = [redirect]
            $0.refreshTokenLifetime = 1
            $0.accessTokenLifetime = 2
        }
        try home.run([
            "types", "add", "Real", "--issuer", server.issuer, "--client-id", server.nativeClient.id, "--scope",
            "openid", "--redirect-uri", redirect,
        ])
        let browser = try Browser(in: home, user: "alice", password: server.password(of: "alice"))
        try home.run(["login", "--type", "Real"], environment: browser.environment)
        let end = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["expires_on"]?.integer)
        while time(nil) <= Int(end) { usleep(20_000) }
        #expect(try home.run(["token"], exits: 4).standardError.contains("credmgr login --account "))
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["status"]?.string == "needs-login")
    }

    @Test func `Client credentials with a secret from standard input`() throws {
        let home = try Home(), server = try server()
        let secret = try #require(server.webClient.secret)
        try home.run(
            [
                "types", "add", "Machine", "--issuer", server.issuer, "--client-id", server.webClient.id, "--flow",
                "client_credentials", "--scope", "api.read", "--client-secret-file", "-",
            ], input: secret + "\n")
        for (name, content) in home.files { #expect(content.range(of: Data(secret.utf8)) == nil, "\(name)") }
        try home.run(["login", "--type", "Machine"])
        let first = try home.run(["token", "--type", "Machine"]).line
        let second = try home.run(["token", "--type", "Machine", "--force-refresh"]).line
        #expect(!first.isEmpty && first != second)
    }

    @Test func `A device sign-in, approved on another device`() throws {
        let home = try Home(), server = try server()
        try home.run([
            "types", "add", "Device", "--issuer", server.issuer, "--client-id", server.deviceClient.id, "--flow",
            "device", "--scope", "openid",
        ])
        let process = try home.start(["login", "--type", "Device"])
        var page: String?, code: String?
        let said = try process.wait(until: "a page and a code") { said in
            page = said.firstMatch(of: /open (http\S+)\n/).map { String($0.1) }
            code = said.firstMatch(of: /enter the code  (\S+)\n/).map { String($0.1) }
            return page != nil && code != nil
        }
        try server.approveDevice(
            verificationURI: try #require(page, "\(said)"), userCode: try #require(code, "\(said)"))
        let outcome = try process.outcome()
        #expect(outcome.exitStatus == 0)
        #expect(outcome.standardOutput.contains("\t"))
        try home.run(["token", "--type", "Device"])
    }
}
