import CredentialCore
import Testing

@Suite struct FreshnessTests {
    private let issued = Instant(epochSeconds: 1_000_000)

    private func token(lifetime: Int64) -> AccessToken {
        AccessToken(
            key: TokenRequestKey(scope: ["b", "a", "b"]), token: Secret("t"), tokenType: "Bearer", issuedAt: issued,
            expiresAt: issued.adding(lifetime), scope: [])
    }

    @Test(arguments: [(3_600, 3_540, true), (3_600, 3_541, false), (100, 80, true), (100, 81, false), (0, 0, false)])
    func `the default margin is a minute or a fifth of the lifetime`(lifetime: Int64, age: Int64, isFresh: Bool) {
        #expect(Freshness().allows(token(lifetime: lifetime), now: issued.adding(age)) == isFresh)
    }

    @Test func `a token from the future is not trusted`() {
        #expect(Freshness().allows(token(lifetime: 3_600), now: issued.adding(-300)))
        #expect(!Freshness().allows(token(lifetime: 3_600), now: issued.adding(-301)))
    }

    @Test func `scopes of a request are sorted and distinct`() {
        #expect(token(lifetime: 1).key.scope == ["a", "b"])
    }
}
