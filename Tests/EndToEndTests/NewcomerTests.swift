import Foundation
import TestSupport
import Testing

/// What somebody reads who has a server's URL and a client id, and slips.
@Suite struct `A newcomer's slips` {
    private let home: Home

    init() throws { home = try Home() }

    private func said(_ words: [String], exits status: Int32) throws -> String {
        let error = try home.run(words, exits: status).standardError
        #expect(try home.json(["types", "--json"]) == [])
        return error
    }

    @Test func `What is missing is called by its option`() throws {
        let error = try said(["types", "add", "Work", "--issuer", "https://login.example.com"], exits: 2)
        #expect(error.contains("error: --client-id is missing\n") && error.contains("--register"))
        let bare = try said(
            ["types", "add", "Work", "--issuer", "login.example.com", "--client-id", "x"], exits: 2)
        #expect(bare.contains("hint: --issuer https://login.example.com\n"))
        let plain = try said(
            ["types", "add", "Work", "--issuer", "http://login.example.com", "--client-id", "x"], exits: 2)
        #expect(plain.contains("https"))
    }

    @Test func `An issuer that is not quite right is told with what to look at`() throws {
        let server = try Glewlwyd(), issuer = server.issuer
        func add(_ issuer: String, exits status: Int32) throws -> String {
            try said(["types", "add", "Work", "--issuer", issuer, "--client-id", "native"], exits: status)
        }
        #expect(
            try add(issuer + "/.well-known/openid-configuration", exits: 2)
                .contains("hint: the issuer is the address before /.well-known\n"))
        let base = String(issuer.dropLast("/api/oidc".count))
        #expect(
            try add(base, exits: 2)
                .contains(
                    "check the issuer, perhaps its path: there is no \(base)/.well-known/openid-configuration"))
        #expect(try add(issuer + "/", exits: 7).contains("is for another issuer, '\(issuer)'"))
    }

    @Test func `A host that does not answer defines the type, and says what it lacks`() throws {
        let outcome = try home.run([
            "types", "add", "Work", "--issuer", "https://login.example.invalid", "--client-id", "x",
        ])
        #expect(outcome.standardError.contains("defined without scopes"))
        #expect(outcome.standardError.contains("--force"))
    }

    @Test func `The redirect URI to register is told, unless it was named`() throws {
        let provider = try ScriptedProvider()
        let common = ["--issuer", provider.base, "--client-id", "x", "--scope", "api"]
        let note = "redirect URI to register: http://127.0.0.1 ("
        #expect(try home.run(["types", "add", "A"] + common).standardError.contains(note))
        for more in [["--redirect-uri", "http://127.0.0.1:8400"], ["--flow", "device"]] {
            let outcome = try home.run(["types", "add", "B", "--force"] + common + more)
            #expect(!outcome.standardError.contains("redirect URI"))
        }
    }

    @Test func `A wrong secret is exit 2 and says what to check`() throws {
        let redirect = "http://127.0.0.1:\(try freePort())/callback"
        var settings = Glewlwyd.Settings()
        settings.redirectURIs = [redirect]
        let server = try Glewlwyd(settings)
        try home.run(
            [
                "types", "add", "Work", "--issuer", server.issuer, "--client-id", "web", "--client-secret-file",
                "-",
                "--redirect-uri", redirect,
            ], input: "wrong-secret-wrong-secret\n")
        let browser = try Browser(in: home, user: "alice", password: server.password(of: "alice"))
        let error = try home.run(["login", "--type", "Work"], environment: browser.environment, exits: 2)
        #expect(error.standardError.contains("check client_id and client_secret of account type 'Work'"))
        #expect(!home.printed.contains("wrong-secret-wrong-secret"))
        #expect(try home.json(["accounts", "--json"]) == [])
    }
}
