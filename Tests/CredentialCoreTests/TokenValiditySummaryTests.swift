import StrictJSON
import Testing

@testable import CredentialCore

/// The due times that a list of accounts shows.
@Suite struct TokenValiditySummaryTests {
    private static let now = Timestamp(epochSeconds: 1_800_000_000)

    private func token(_ scope: String, issued: Int64 = 0, lifetime: Int64 = 3_600) -> AccessToken {
        AccessToken(
            key: TokenRequestKey(scope: [scope]), token: Secret("t"), tokenType: "Bearer",
            issuedAt: Self.now.adding(issued), expiresAt: Self.now.adding(issued + lifetime), scope: [scope])
    }

    private func set(_ tokens: [AccessToken], policies: [String] = [], grants: [String] = [""]) -> TokenSet {
        var account = Account(
            id: "a", type: "T", adapter: "memory", registration: ClientIdentity(provider: "p", clientID: "c"),
            subject: "s", store: .file, now: Self.now)
        account.policies = policies
        var set = TokenSet(account: account, journalKey: [UInt8](repeating: 0, count: 32))
        for policy in grants { set.grants[policy] = Grant(flow: .code, obtainedAt: Self.now) }
        set.accessTokens = tokens
        return set
    }

    private func isFresh(_ tokens: [AccessToken], minimum: Int64? = nil, for scope: String = "read") -> Bool {
        var account = set(tokens).account
        account.tokenTimes = set(tokens).times
        return account.isFresh(
            for: [TokenRequestKey(scope: [scope]).mark], Freshness(minimumValidity: minimum), now: Self.now)
    }

    @Test func `an account is fresh if each token that applies is valid for long enough`() {
        #expect(isFresh([token("read")]))
        #expect(isFresh([token("read")], minimum: 3_600))
        #expect(!isFresh([token("read")], minimum: 3_601))
        // The one that its type asks for is not there.
        #expect(!isFresh([token("read")], for: "write"))
        #expect(!isFresh([]))
        // Another one that is about to end, and one that has ended.
        #expect(!isFresh([token("read"), token("write", issued: -3_590)]))
        #expect(isFresh([token("read"), token("write", issued: -3_600)]))
        // The clock was moved: it comes from the future.
        #expect(!isFresh([token("read", issued: 301)]))
        // A record without any facts.
        #expect(!set([]).account.isFresh(for: [], Freshness(), now: Self.now))
    }

    @Test func `the times stand in the record, and one that cannot be read says nothing`() throws {
        var account = set([]).account
        account.tokenTimes = set([token("read"), token("write")]).times
        #expect(account.tokenTimes?.count == 2)
        #expect(try Account(json: account.json) == account)
        for wrong: JSONValue in ["x", .array([.array([.integer(1), .integer(2)])]), .array([.integer(1)])] {
            var json = account.json
            json["tokens"] = wrong
            #expect(try Account(json: json).tokenTimes == nil)
        }
    }

    @Test func `an account without grant names in its metadata reports no token times`() {
        #expect(set([token("read")], policies: ["one"], grants: ["one"]).times?.count == 1)
        #expect(set([token("read")], policies: ["one"], grants: ["one", "two"]).times == nil)
        #expect(set([token("read")], policies: [], grants: ["one"]).times == nil)
        #expect(set([token("read")], policies: ["one"], grants: ["", "one"]).times == nil)
    }

    @Test func `equal keys have equal marks, and others others`() {
        let keys = [
            TokenRequestKey(scope: ["a", "b"]), TokenRequestKey(scope: ["a b"]), TokenRequestKey(scope: ["a"]),
            TokenRequestKey(policy: "a", scope: ["a"]), TokenRequestKey(scope: ["a"], resource: "a"),
            TokenRequestKey(scope: ["a"], audience: "a"), TokenRequestKey(scope: ["a"], parameters: ["a": "a"]),
            TokenRequestKey(scope: ["a"], bearer: .idToken),
        ]
        #expect(Set(keys.map(\.mark)).count == keys.count)
        #expect(TokenRequestKey(scope: ["b", "a", "a"]).mark == keys[0].mark)
        #expect(
            TokenRequestKey(scope: [], parameters: ["a": "1", "b": "2"]).mark
                == TokenRequestKey(scope: [], parameters: ["b": "2", "a": "1"]).mark)
    }
}
