import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// The promises of docs/how-to/refreshing.md about a token's life.
@Suite struct `The life of a token that is given` {
    private let home: Home
    private let provider: ScriptedProvider

    init() throws {
        home = try Home()
        provider = try ScriptedProvider()
    }

    private func signIn() throws {
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
        try provider.signIn(at: home)
    }

    private static func reply(_ lifetime: JSONValue, token: String = "at-2") -> ServerResponse {
        .json(200, ["access_token": .string(token), "expires_in": lifetime, "refresh_token": "rt-2"])
    }

    @Test func `A requirement that cannot be met prints no token`() throws {
        try signIn()
        provider.change { $0.token = .text(503, "later") }
        for words in [["--force-refresh"], ["--min-valid", "7200"], ["--min-valid=7200", "--format", "json"]] {
            #expect(try home.run(["token"] + words, exits: 6).standardOutput.isEmpty, "\(words)")
        }
        #expect(try home.run(["oidc-token", "-t", "7200", "Work"], exits: 6).standardOutput.isEmpty)
        // A configured value is a wish.
        try home.write(#"{"min_valid": 7200}"#, to: "config/credmgr/config.json")
        let wished = try home.run(["token"])
        #expect(wished.line == "at-1" && wished.standardError.contains("could not be refreshed"))
        #expect(try home.run(["token", "--min-valid", "7200"], exits: 6).standardOutput.isEmpty)
        #expect(try home.run(["token", "--min-valid", "60"]).line == "at-1")
        provider.change { $0.token = .json(400, ["error": "invalid_grant"]) }
        #expect(try home.run(["token", "--min-valid", "7200"], exits: 4).standardOutput.isEmpty)
    }

    @Test func `A valid token is returned for every kind of failed refresh, with the remedy`() throws {
        try signIn()
        // A wish, so that it is to be renewed now, and need not be.
        try home.write(#"{"min_valid": 7200}"#, to: "config/credmgr/config.json")
        let file = home.path + "/kept"
        let replies: [ServerResponse] = [
            .json(401, ["error": "invalid_client"]), .text(200, String(repeating: "x", count: 2 << 20)),
            .text(200, "no JSON"), .json(200, ["token_type": "Bearer"]), .json(400, ["error": "invalid_grant"]),
        ]
        for (number, reply) in replies.enumerated() {
            provider.change { $0.token = reply }
            for words in [["token"], ["exec", "--", "printenv", "ACCESS_TOKEN"], ["token", "--output", file]] {
                let given = try home.run(words)
                #expect(words.last == file ? home.text(of: "kept") == "at-1\n" : given.line == "at-1")
                let told = given.standardError.components(separatedBy: "could not be refreshed").count - 1
                #expect(told == 1, "\(number) \(words): \(given.standardError)")
            }
        }
        let lost = try home.run(["token"]).standardError
        #expect(lost.contains("hint: ") && lost.contains("credmgr login "))
        #expect(try home.run(["token", "--force-refresh"], exits: 4).standardOutput.isEmpty)
    }

    @Test func `The refresh error of a cloud program's token is printed next to its error`() throws {
        provider.change {
            $0.idTokenSubject = "ada"
            $0.refreshesIDTokens = true
        }
        try home.run([
            "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid api",
        ])
        try provider.signIn(at: home)
        let service = try LoopbackServer { _ in .text(403, "<Error><Message>no trust</Message></Error>") }
        defer { service.stop() }
        try home.write(
            #"{"min_valid": 7200, "rules": [{"host": "localhost:\#(service.port)", "type": "Work"}]}"#,
            to: "config/credmgr/config.json")
        provider.change {
            $0.idTokenSubject = nil
            $0.token = .text(503, "later")
        }
        let google = try home.run(["google"])
        #expect(try JSONValue.parse(Array(google.standardOutput.utf8)).object?["success"] == true)
        #expect(google.standardError.contains("could not be refreshed"))
        let aws = try home.run(
            ["aws", "--role-arn", "arn:aws:iam::123456789012:role/build"],
            environment: ["AWS_ENDPOINT_URL_STS": "http://localhost:\(service.port)"], exits: 7)
        #expect(aws.standardOutput.isEmpty && aws.standardError.contains("could not be refreshed"))
    }

    @Test func `A failed refresh is not repeated at once if the ID token has expired`() throws {
        provider.change {
            $0.idTokenSubject = "ada"
            $0.refreshesIDTokens = true
            // The provider's clock may be behind: that is borne with at the sign-in.
            $0.idTokenClaims = JSONObject(["exp": .integer(Int64(Date().timeIntervalSince1970) - 60)])
        }
        try home.run([
            "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid api",
        ])
        try provider.signIn(at: home)
        try home.write(#"{"min_valid": 7200}"#, to: "config/credmgr/config.json")
        provider.change {
            $0.idTokenSubject = nil
            $0.token = .json(400, ["error": "invalid_client"])
        }
        let before = provider.paths.count { $0 == "/token" }
        #expect(try home.run(["token", "--id-token"], exits: 2).standardOutput.isEmpty)
        #expect(provider.paths.count { $0 == "/token" } == before + 1)
    }

    @Test func `A fresh token below the requested validity is returned with a warning`() throws {
        try signIn()
        for words in [["token"], ["exec"], ["token", "--output", home.path + "/kept"]] {
            provider.change { $0.token = Self.reply(100) }
            let short = try home.run(
                words + ["--min-valid", "7200"] + (words == ["exec"] ? ["--", "printenv", "ACCESS_TOKEN"] : []))
            #expect(words.count == 3 || short.line == "at-2")
            #expect(short.standardError.contains("are valid for less than the requested 7200 s"), "\(words)")
        }
    }

    @Test func `A token that has ended when it arrives is not given`() throws {
        try signIn()
        for time in [1, 1_700_000_000] {
            let parts = [#"{"alg":"none"}"#, #"{"exp":\#(time)}"#].map { Base64URL.encode(Array($0.utf8)) }
            let token = JSONValue.string(parts.joined(separator: ".") + ".AA")
            provider.change { $0.token = .json(200, ["access_token": token, "refresh_token": "rt-2"]) }
            let ended = try home.run(["token", "--force-refresh"], exits: 1)
            #expect(ended.standardError.contains("returned an expired token"))
        }
    }

    @Test func `A lifetime of 0 or less is one that the provider does not name`() throws {
        try signIn()
        for lifetime: JSONValue in [0, -1, "0"] {
            provider.change { $0.token = Self.reply(lifetime) }
            #expect(try home.run(["token", "--force-refresh"]).line == "at-2")
        }
        for time: JSONValue in [3_599, "1700000000"] {
            provider.change {
                $0.token = .json(200, ["access_token": "at-2", "expires_on": time, "refresh_token": "rt-2"])
            }
            #expect(try home.run(["token", "--force-refresh"]).line == "at-2")
        }
    }

    @Test func `A token at its end is not given, however short its life`() throws {
        try signIn()
        provider.change { $0.token = Self.reply(2) }
        try home.run(["token", "--force-refresh"])
        provider.change { $0.token = .text(503, "later") }
        let end = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["expires_on"]?.integer)
        var status: Int32 = 0
        while status == 0 {
            let start = Int64(Date().timeIntervalSince1970)
            // The test is about the status of the call: it is that of the failure as soon as the token has ended.
            let outcome = try ChildProcess(Home.program, ["token"], environment: home.environment).run()
            status = outcome.exitStatus
            if status == 0 { #expect(start < end, "a token that ended at \(end) was given at \(start)") }
        }
        #expect(status == 6)
    }

    @Test(arguments: [JSONValue.decimal("1e400"), "1e400", "9e999"])
    func `A lifetime that is no number is no year`(_ lifetime: JSONValue) throws {
        try signIn()
        provider.change { $0.token = Self.reply(lifetime) }
        let token = try home.json(["token", "--force-refresh", "--format", "json"]).object
        let end = try #require(token?["expires_on"]?.integer)
        #expect(end <= Int64(Date().timeIntervalSince1970) + 600)
    }
}
