import Testing

@testable import CredentialCore

/// The choice between several sign-ins of one account.
@Suite struct TokenSetGrantsTests {
    private static let now = Timestamp(epochSeconds: 1_700_000_000)

    /// A grant that was signed in so many seconds ago.
    private func grant(_ name: String, _ scope: String, secondsAgo: Int64) -> Grant {
        var grant = Grant(flow: .code, obtainedAt: Self.now)
        grant.signedInAt = Self.now.adding(-secondsAgo)
        grant.refreshToken = Secret(name)
        grant.scope = scope.split(separator: " ").map(String.init)
        return grant
    }

    private func tokenSet(_ present: Grant, _ further: Grant...) -> TokenSet {
        let account = Account(
            id: "0123456789abcdef", type: "Work", adapter: "oauth2",
            registration: ClientIdentity(provider: "https://id.example", clientID: "c"), subject: "ada",
            store: .file, now: Self.now)
        var set = TokenSet(account: account, journalKey: [])
        set.grants[""] = present
        set.further = further.map { FurtherGrant(policy: "", grant: $0) }
        return set
    }

    /// The refresh token of the grant in use after the choice for `scope`, and whether the choice changed it.
    private func choice(_ scope: String, in set: TokenSet) -> (token: String?, isChanged: Bool) {
        var set = set
        let words = scope.split(separator: " ").map(String.init)
        let isChanged = set.prefer(scope: words, of: "", now: Self.now)
        #expect(set.allGrants.count <= 3)
        return (set.grants[""]?.refreshToken?.reveal(), isChanged)
    }

    @Test(arguments: [
        ("read", "new"), ("write", "old"), ("read write", "old"), ("openid read", "new"), ("x", "old"),
    ])
    func `the newest grant that fits is used, though an older one was in use`(scope: String, token: String) {
        let set = tokenSet(grant("old", "read write", secondsAgo: 900), grant("new", "read admin", secondsAgo: 90))
        let choice = choice(scope, in: set)
        #expect(choice.token == token && choice.isChanged == (token == "new"))
    }

    @Test(arguments: [("read", "new"), ("write", "old"), ("admin", "new")])
    func `the present grant stays if it is the newest that fits`(scope: String, token: String) {
        let set = tokenSet(
            grant("new", "read admin", secondsAgo: 90), grant("older", "read write", secondsAgo: 1_800),
            grant("old", "read write", secondsAgo: 900))
        let choice = choice(scope, in: set)
        #expect(choice.token == token && choice.isChanged == (token == "old"))
    }

    // MARK: Adding

    private func names(_ grants: [Grant]) -> [String] { grants.compactMap { $0.refreshToken?.reveal() } }

    @Test(arguments: [("a", "c", "second"), ("a", "b", "second"), ("c", "a", "third"), ("c", "a b", "first")])
    func `a fifth grant takes the place of the oldest one that another includes`(
        second: String, third: String, gone: String
    ) throws {
        var set = tokenSet(
            grant("fourth", "d", secondsAgo: 100), grant("first", "a b", secondsAgo: 500),
            grant("second", second, secondsAgo: 400), grant("third", third, secondsAgo: 300))
        let (kept, removed) = try set.add(
            grant("fifth", "e", secondsAgo: 0), of: "", replacing: false, now: Self.now)
        #expect(names(removed) == [gone])
        #expect(names(kept) == ["fourth", "third", "second", "first"].filter { $0 != gone })
        #expect(set.allGrants.count == 4 && set.grants[""]?.refreshToken?.reveal() == "fifth")
    }

    @Test func `a fifth grant is refused if no other one includes one of the four`() throws {
        var set = tokenSet(
            grant("d", "d", secondsAgo: 100), grant("a", "a", secondsAgo: 500), grant("b", "b", secondsAgo: 400),
            grant("c", "c", secondsAgo: 300))
        let before = set, new = grant("e", "e", secondsAgo: 0)
        let error = #expect(throws: CredentialError.self) {
            try set.add(new, of: "", replacing: false, now: Self.now)
        }
        #expect(error?.code == .usage && error?.hint?.contains("--replace") == true && set == before)
        let (kept, removed) = try set.add(new, of: "", replacing: true, now: Self.now)
        #expect(kept.isEmpty && removed.count == 4 && set.allGrants.count == 1)
    }

    @Test(arguments: [("write", true), ("read write", false)])
    func `in a shared group a grant stays that can do what the new one cannot`(
        scope: String, isLasting: Bool
    ) throws {
        var set = tokenSet(grant("old", "openid read", secondsAgo: 86_400))
        set.account.store = .etcd
        var new = grant("new", scope, secondsAgo: 0)
        if !isLasting { new.refreshToken = nil }
        let before = set
        let error = #expect(throws: CredentialError.self) {
            try set.add(new, of: "", replacing: false, now: Self.now)
        }
        #expect(error?.code == .usage && set == before)
        #expect(error?.message.hasPrefix("keeps the sign-in of 2023-11-13 with scope openid read: ") == true)
        #expect(error?.hint == "to end it: credmgr login --account 0123456789abcdef --replace")
        // `--replace` ends it, and a grant that can do all of that takes its place.
        _ = try set.add(new, of: "", replacing: true, now: Self.now)
        #expect(set.allGrants.map(\.grant) == [new])
        set = before
        let wide = grant("wide", "read write", secondsAgo: 0)
        _ = try set.add(wide, of: "", replacing: false, now: Self.now)
        #expect(set.allGrants.map(\.grant) == [wide])
    }

    // MARK: Choosing

    @Test func `a grant that has ended or is lost is not chosen`() {
        var ended = grant("ended", "read", secondsAgo: 10), lost = grant("lost", "read", secondsAgo: 20)
        ended.refreshExpiresAt = Self.now
        lost.lostReason = "it is gone"
        let live = grant("live", "read", secondsAgo: 900)
        #expect(choice("read", in: tokenSet(live, ended, lost)).token == "live")
        #expect(choice("read", in: tokenSet(lost, live, ended)).token == "live")
    }
}
