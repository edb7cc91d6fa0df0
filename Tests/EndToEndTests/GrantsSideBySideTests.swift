import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// Sign-ins of one user with different scopes: no sign-in removes the rights of another.
@Suite struct GrantsSideBySideTests {
    private let home: Home
    private let provider: ScriptedProvider

    /// Two programs' types with one client and one keychain group: `Wide`, which can be refreshed, and `Narrow`,
    /// which cannot.
    init() throws {
        home = try Home()
        provider = try ScriptedProvider { $0.rotation = .grantsScopes }
        let server = ["--issuer", provider.base, "--client-id", "app"]
        try home.run(["types", "add", "Wide", "--scope", "openid read write offline_access"] + server)
        try home.run(["types", "add", "Narrow", "--scope", "openid read"] + server)
    }

    @discardableResult
    private func token(_ type: String, _ more: String..., exits status: Int32 = 0) throws -> ChildProcess.Outcome {
        try home.run(["token", "--type", type] + more, exits: status)
    }

    private var grants: [[String]] {
        get throws {
            let accounts = try home.json(["accounts", "--json"]).array ?? []
            #expect(accounts.count == 1)
            let id = try #require(accounts.first?.object?["id"]?.string)
            let shown = try home.json(["accounts", "show", id, "--json"])
            return (shown.object?["grants"]?.array ?? []).map {
                ($0.object?["scope"]?.string ?? "").split(separator: " ").map(String.init).sorted()
            }
        }
    }

    @Test func `A sign-in without a refresh token takes none away, and no valid access token`() throws {
        try provider.signIn(at: home, type: "Wide")
        let wide = try token("Wide").line
        let outcome = try provider.signIn(at: home, type: "Narrow")
        #expect(outcome.standardError.contains("keeps the sign-in of "), "\(outcome.standardError)")
        #expect(outcome.standardError.contains("--replace"))
        #expect(try token("Wide").line == wide)
        #expect(try grants == [["offline_access", "openid", "read", "write"], ["openid", "read"]])
        try token("Wide", "--force-refresh")
        try token("Narrow", "--force-refresh")
        #expect(provider.refusals == 0)
    }

    @Test func `A wider sign-in takes the place of a narrower one`() throws {
        try provider.signIn(
            at: home, type: "Narrow", more: ["--scope", "openid", "--scope", "read", "--scope", "offline_access"])
        let outcome = try provider.signIn(at: home, type: "Wide")
        #expect(!outcome.standardError.contains("keeps the sign-in"))
        #expect(try grants.count == 1)
        try token("Narrow")
        try token("Wide", "--force-refresh")
    }

    @Test func `Each of two sign-ins is refreshed for its own scope`() throws {
        try provider.signIn(at: home, type: "Wide")
        let other = ["--scope", "openid", "--scope", "admin", "--scope", "offline_access"]
        try provider.signIn(at: home, type: "Narrow", more: other)
        #expect(try grants.count == 2)
        for _ in 0..<2 {
            try token("Wide", "--force-refresh")
            try token("Narrow", "--scope", "admin", "--force-refresh")
        }
        #expect(provider.refusals == 0)
        // The end of one is the end of that one alone.
        provider.change { $0.refresh = { _ in .json(400, ["error": "invalid_grant"]) } }
        try token("Narrow", "--scope", "admin", "--force-refresh", exits: 4)
        provider.change { $0.refresh = nil }
        try token("Wide", "--force-refresh")
        try token("Narrow", "--scope", "admin", "--force-refresh", exits: 4)
        let account = try #require(try home.json(["accounts", "--json"]).array?.first?.object)
        #expect(account["status"]?.string == "active")
    }

    @Test func `A lost sign-in is replaced by one with fewer scopes`() throws {
        try provider.signIn(at: home, type: "Wide")
        provider.change { $0.refresh = { _ in .json(400, ["error": "invalid_grant"]) } }
        try token("Wide", "--force-refresh", exits: 4)
        provider.change { $0.refresh = nil }
        let id = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string)
        let narrow = ["--account", id, "--scope", "openid", "--scope", "read", "--scope", "offline_access"]
        try provider.signIn(at: home, type: "Narrow", more: narrow)
        #expect(try grants == [["offline_access", "openid", "read"]])
        // A scope that this sign-in lacks is asked for by the sign-in that has it.
        let refused = try token("Wide", "--force-refresh", exits: 4)
        #expect(refused.standardError.contains("hint: credmgr login --account \(id)"), "\(refused.standardError)")
    }

    @Test func `A sign-in that was revoked unseen gives way to a later one that got fewer scopes`() throws {
        try provider.signIn(at: home, type: "Wide")
        provider.change { ($0.grantedScope, $0.revoked) = ("openid read offline_access", ["a-refresh-token-1"]) }
        let outcome = try provider.signIn(at: home, type: "Wide")
        #expect(outcome.standardError.contains("keeps the sign-in of "))
        for _ in 0..<2 { try token("Wide", "--force-refresh") }
        #expect(provider.sentTokens == ["a-refresh-token-1", "a-refresh-token-2", "a-refresh-token-2"])
        #expect(try grants == [["offline_access", "openid", "read"]])
    }

    @Test func `The ID token of one sign-in serves beside another that has none`() throws {
        try provider.signIn(at: home, type: "Wide")
        let idToken = try token("Wide", "--id-token").line
        try provider.signIn(at: home, type: "Narrow", more: ["--scope", "admin", "--scope", "offline_access"])
        #expect(try token("Wide", "--id-token").line == idToken)
    }

    @Test func `A replacing sign-in ends and revokes the others`() throws {
        provider.change { $0.metadata["revocation_endpoint"] = .string(provider.base + "/revoke") }
        try provider.signIn(at: home, type: "Wide")
        try token("Wide")
        let outcome = try provider.signIn(at: home, type: "Narrow", more: ["--replace"])
        #expect(!outcome.standardError.contains("keeps the sign-in"))
        #expect(try grants == [["openid", "read"]])
        #expect(provider.forms.compactMap { $0["token"] } == ["a-refresh-token-1"])
        try token("Wide", "--force-refresh", exits: 4)
    }

    @Test func `Signing out revokes every sign-in`() throws {
        provider.change { $0.metadata["revocation_endpoint"] = .string(provider.base + "/revoke") }
        try provider.signIn(at: home, type: "Wide")
        try provider.signIn(
            at: home, type: "Narrow", more: ["--scope", "openid", "--scope", "admin", "--scope", "offline_access"])
        try home.run(["logout", "--type", "Wide", "--revoke", "--yes"])
        let revoked = provider.forms.filter { $0["token_type_hint"] == "refresh_token" }.compactMap { $0["token"] }
        #expect(Set(revoked) == ["a-refresh-token-1", "a-refresh-token-2"])
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }

    @Test func `A fifth sign-in with scopes of its own is refused, with the way out`() throws {
        for scope in ["a", "b", "c", "d"] {
            try provider.signIn(
                at: home, type: "Narrow",
                more: ["--scope", "openid", "--scope", scope, "--scope", "offline_access"])
        }
        #expect(try grants.count == 4)
        let more = ["--scope", "openid", "--scope", "e", "--scope", "offline_access"]
        let refused = try provider.signIn(at: home, type: "Narrow", more: more, exits: 2)
        #expect(refused.standardError.contains("--replace"))
        #expect(try grants.count == 4)
        try provider.signIn(at: home, type: "Narrow", more: more + ["--replace"])
        #expect(try grants.count == 1)
    }

    @Test func `A fifth sign-in takes the place of one that another includes`() throws {
        for scopes in [["a", "b"], ["a"], ["c"], ["d"], ["e"]] {
            let words = (["openid"] + scopes + ["offline_access"]).flatMap { ["--scope", $0] }
            try provider.signIn(at: home, type: "Narrow", more: words)
        }
        let own = try grants.map { $0.filter { $0.count == 1 }.joined(separator: " ") }
        #expect(own.sorted() == ["a b", "c", "d", "e"])
        for scope in ["a", "b", "c", "d", "e"] { try token("Narrow", "--scope", scope, "--force-refresh") }
        #expect(provider.refusals == 0)
    }

    @Test func `An archive carries every sign-in`() throws {
        try provider.signIn(at: home, type: "Wide")
        try provider.signIn(
            at: home, type: "Narrow", more: ["--scope", "openid", "--scope", "admin", "--scope", "offline_access"])
        let words = try home.write("a long passphrase\n", to: "words")
        try home.run(["accounts", "export", home.path + "/archive", "--passphrase-file", words])
        try home.run(["logout", "--type", "Wide", "--yes"])
        try home.run(["accounts", "import", home.path + "/archive", "--passphrase-file", words])
        #expect(try grants.count == 2)
        try token("Wide", "--force-refresh")
        try token("Narrow", "--scope", "admin", "--force-refresh")
        #expect(provider.refusals == 0)
    }
}
