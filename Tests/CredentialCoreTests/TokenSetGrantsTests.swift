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

    @Test func `a grant that has ended or is lost is not chosen`() {
        var ended = grant("ended", "read", secondsAgo: 10), lost = grant("lost", "read", secondsAgo: 20)
        ended.refreshExpiresAt = Self.now
        lost.lostReason = "it is gone"
        let live = grant("live", "read", secondsAgo: 900)
        #expect(choice("read", in: tokenSet(live, ended, lost)).token == "live")
        #expect(choice("read", in: tokenSet(lost, live, ended)).token == "live")
    }
}
