import StrictJSON
import TestSupport
import Testing

/// An API that wants more than the token has: the sign-in that helps is named once, and never when it was done
/// already.
@Suite struct `Step-up scenarios` {
    private let home: Home

    init() throws { home = try Home() }

    /// The words of the sign-in that a refusal hints at, without `credmgr login`.
    private func hint(_ refusal: ChildProcess.Outcome) throws -> [String] {
        let begin = "credmgr: hint: credmgr login "
        let line = try #require(
            refusal.standardError.split(separator: "\n").first { $0.hasPrefix(begin) }, "\(refusal.standardError)")
        // As a shell reads it.
        let shell = ChildProcess("/bin/sh", ["-c", "printf '%s\\n' " + line.dropFirst(begin.count)])
        return try shell.run().standardOutput.split(separator: "\n").map(String.init)
    }

    @Test func `scope-step-up`() throws {
        let scenario = try AuthorizationScenario("scope-step-up")
        try scenario.signIn(at: home)
        let refused = try scenario.call(from: home, exits: 4)
        #expect(refused.standardError.contains("--scope 'mcp:basic mcp:write'\n"))
        let words = try hint(refused)
        #expect(words.first == "--account")
        // One call, no refresh, no browser.
        #expect(try scenario.requests(to: "/mcp").count { $0.authorization != nil } == 1)
        #expect(try scenario.requests(to: "/token").count == 1)
        try scenario.signIn(at: home, words)
        // A plain call prints the wider token, and a refresh does not narrow it.
        try scenario.call(from: home)
        #expect(try scenario.requests(to: "/token").count == 2)
        try home.run(["token", "--force-refresh"])
        try scenario.call(from: home)
        let refresh = try #require(try scenario.requests(to: "/token").last)
        #expect(refresh.form["grant_type"] == "refresh_token" && refresh.form["resource"] == scenario.api)
        // All that was granted (RFC 6749 §6): a scope is not sent, the type's old one least of all.
        #expect(refresh.form["scope"] == nil)
        #expect(try home.json(["token", "--format", "json"]).object?["scope"]?.string == "mcp:basic mcp:write")
        // Signing in again asks for it, and asking for it by name finds it.
        try home.run(["token", "--scope", "mcp:write mcp:basic"])
        #expect(try scenario.requests(to: "/token").count == 3)
        try scenario.signIn(at: home, Array(words.prefix(2)))
        #expect(try scenario.requests(to: "/authorize").last?.query["scope"] == "mcp:basic mcp:write")
    }

    @Test(arguments: [
        ("scope-retry-limit", "which the token already has"), ("scope-never-granted", "did not grant the scope"),
    ])
    func `a scope that does not help is asked for once`(rule: String, words: String) throws {
        let scenario = try AuthorizationScenario(rule)
        try scenario.signIn(at: home)
        let first = try scenario.call(from: home, exits: 4)
        try scenario.signIn(at: home, try hint(first))
        let tokens = try scenario.requests(to: "/token").count
        let second = try scenario.call(from: home, exits: 7)
        #expect(second.standardError.contains(words) && !second.standardError.contains("hint:"))
        #expect(try scenario.requests(to: "/token").count == tokens)
    }

    @Test func `authentication-step-up`() throws {
        let scenario = try AuthorizationScenario("authentication-step-up")
        try scenario.signIn(at: home)
        let refused = try scenario.call(from: home, exits: 4)
        #expect(refused.standardError.contains("--acr-values 'urn:example:gold' --max-age '300'\n"))
        #expect(try scenario.requests(to: "/token").count == 1)
        try scenario.signIn(at: home, try hint(refused))
        let asked = try #require(try scenario.requests(to: "/authorize").last).query
        #expect(asked["acr_values"] == "urn:example:gold" && asked["max_age"] == "300")
        try scenario.call(from: home)
    }

    @Test func `claims-challenge`() throws {
        let scenario = try AuthorizationScenario("claims-challenge")
        try scenario.signIn(at: home)
        let refused = try scenario.call(from: home, exits: 4)
        #expect(refused.standardError.contains(#"--claims '{"access_token":{"acrs":{"value":"c1"}}}'"#))
        #expect(try scenario.requests(to: "/token").count == 1)
        try scenario.signIn(at: home, try hint(refused))
        try scenario.call(from: home)
    }

    @Test func `a challenge without end is refreshed once and repeated once`() throws {
        let scenario = try AuthorizationScenario("challenge-loop")
        try scenario.signIn(at: home)
        try scenario.call(from: home, exits: 8)
        #expect(try scenario.requests(to: "/mcp").count { $0.authorization != nil } == 2)
        #expect(try scenario.requests(to: "/token").count == 2)
    }

    @Test func `an invalid step-up option is a usage error`() throws {
        let scenario = try AuthorizationScenario("authentication-step-up")
        try scenario.signIn(at: home)
        let name = try #require(try home.json(["types", "--json"]).array?.first?.object?["name"]?.string)
        for words in [["--claims", "[]"], ["--max-age", "-1"], ["--acr-values", "a", "--param", "acr_values=b"]] {
            try home.run(["login", "--type", name, "--print-url"] + words, exits: 2)
        }
    }
}
