import Foundation
import StrictJSON
import TestSupport
import Testing

/// Clients that prove who they are by a certificate or an assertion, at servers that check it.
@Suite struct `A client's certificate and assertion` {
    private let home: Home

    init() throws { home = try Home() }

    private func addCertificateType(_ name: String, _ server: Glewlwyd, _ certificate: String) throws {
        let files = server.clientCertificate(certificate)
        try home.run(
            [
                "types", "add", name, "--issuer", server.issuer, "--client-id", server.certificateClient.id,
                "--flow", "client_credentials", "--scope", "api.read", "--auth-method", "tls_client_auth",
                "--tls-certificate", files.certificate, "--tls-key", files.key,
            ], environment: trust(server))
    }

    private func trust(_ server: Glewlwyd) -> [String: String] {
        ["CURL_CA_BUNDLE": server.certificateFile ?? ""]
    }

    @Test func `A certificate of the authority signs the client in, and its tokens are bound to it`() throws {
        var settings = Glewlwyd.Settings()
        settings.usesTLS = true
        let server = try Glewlwyd(settings)
        try addCertificateType("Machine", server, "client")
        try home.run(["login", "--type", "Machine"], environment: trust(server))
        let token = try home.run(["token"], environment: trust(server)).line
        let told = try home.run(["token", "--introspect"], environment: trust(server)).standardOutput
        let members = try #require(try JSONValue.parse(Array(told.utf8)).object)
        #expect(members["active"] == true)
        // RFC 8705 §3.1: the token carries the hash of the certificate.
        let digest = try ChildProcess(
            "/bin/sh",
            [
                "-c",
                "openssl x509 -in '\(server.clientCertificate("client").certificate)' -outform DER"
                    + " | openssl dgst -sha256 -binary | base64 | tr '+/' '-_' | tr -d '='",
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).run().line
        let claims = try JSONSerialization.jsonObject(with: try payload(of: token)) as? [String: Any]
        #expect((claims?["cnf"] as? [String: String])?["x5t#S256"] == digest)
        let next = try home.run(["token", "--force-refresh"], environment: trust(server)).line
        #expect(next != token && !next.isEmpty)
    }

    @Test(arguments: ["client_secret", "identity_token"])
    func `A file with more than one line is sent to no server`(key: String) throws {
        let provider = try ScriptedProvider()
        let file = try home.write("root:x:0:0\ndaemon:x:1:1\n", to: "passwords")
        let flow = key == "client_secret" ? "client_credentials" : "jwt_bearer"
        try home.write(
            #"{"issuer": "\#(provider.base)", "client_id": "app", "flow": "\#(flow)", "\#(key)": {"file": "\#(file)"}}"#,
            to: "config/credmgr/types/Hostile.json")
        let refused = try home.run(["login", "--type", "Hostile"], exits: 2)
        #expect(refused.standardError.contains("\(file) has more than one line"), "\(refused.standardError)")
        let sent = provider.paths.count { $0.hasSuffix("/token") }
        #expect(sent == 0)
        try home.write("one-line-secret\n", to: "passwords")
        try home.run(["login", "--type", "Hostile"])
        #expect(provider.paths.contains { $0.hasSuffix("/token") }, "\(provider.paths)")
    }

    @Test(arguments: ["stranger", "forged"])
    func `A certificate of another name or another authority authenticates no client`(certificate: String) throws {
        var settings = Glewlwyd.Settings()
        settings.usesTLS = true
        let server = try Glewlwyd(settings)
        try addCertificateType("Machine", server, certificate)
        let outcome = try home.run(["login", "--type", "Machine"], environment: trust(server), exits: 2)
        #expect(outcome.standardError.contains("client"))
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `An assertion signs in only for a user with consent`() throws {
        let redirect = "http://127.0.0.1:\(try freePort())/callback"
        let server = try RealServer(.canaille, redirectURIs: [redirect])
        let key = try home.write(try String(contentsOfFile: server.assertionKeyFile, encoding: .utf8), to: "key")
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "assertion", "--private-key-file",
            key, "--auth-method", "none", "--scope", "openid profile", "--redirect-uri", redirect, "--api-base",
            server.issuer,
        ])
        let words = ["login", "--type", "Work", "--flow", "jwt_bearer", "--username"]
        // Canaille wants the person's consent to the client first.
        #expect(try home.run(words + ["alice"], exits: 2).standardError.contains("no permission"))
        let browser = try Browser(in: home, user: "alice", password: server.password(of: "alice"))
        try home.run(["login", "--type", "Work"], environment: browser.environment)
        try home.run(["logout", "--all", "--yes"])
        let done = try home.run(words + ["alice"])
        #expect(done.line.hasSuffix("\talice"))
        let token = try home.run(["token"]).line
        let person = try home.run(["request", "GET", "/oauth/userinfo"])
        #expect(person.standardOutput.contains("Alice"))
        // Within one second Canaille issues the same token twice.
        let second = time(nil)
        while time(nil) == second { usleep(20_000) }
        let refreshed = try home.json(["token", "--force-refresh", "--format", "json"]).object
        #expect(refreshed?["refreshed"] == true && refreshed?["access_token"]?.string != token)
        // Signed by another key, the same words are worthless.
        let other = try ChildProcess("openssl", ["genpkey", "-algorithm", "RSA"]).run().standardOutput
        try home.run(
            [
                "types", "add", "Forged", "--issuer", server.issuer, "--client-id", "assertion",
                "--private-key-file", "-", "--auth-method", "none", "--scope", "profile",
            ], input: other)
        try home.run(["login", "--type", "Forged", "--flow", "jwt_bearer", "--username", "alice"], exits: 7)
        // Input that is no key is rejected at once.
        let broken = [
            "types", "add", "Broken", "--issuer", server.issuer, "--client-id", "assertion", "--scope", "profile",
        ]
        try home.run(broken + ["--private-key-file", "-"], input: "no key\n", exits: 2)
        #expect(try home.json(["types", "--json"]).array?.count == 2)
    }

    private func payload(of token: String) throws -> Data {
        var text = String(token.split(separator: ".")[1]).replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        while text.count % 4 != 0 { text += "=" }
        return try #require(Data(base64Encoded: text))
    }
}
