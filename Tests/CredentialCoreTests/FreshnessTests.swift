import CredentialCore
import Testing

@Suite struct FreshnessTests {
    private let issued = Timestamp(epochSeconds: 1_000_000)

    private func token(lifetime: Int64) -> AccessToken {
        AccessToken(
            key: TokenRequestKey(scope: ["b", "a", "b"]), token: Secret("t"), tokenType: "Bearer", issuedAt: issued,
            expiresAt: issued.adding(lifetime), scope: [])
    }

    @Test(arguments: [
        (3_600, 3_540, true), (3_600, 3_541, false), (100, 80, true), (100, 81, false), (0, 0, false),
        (4, 3, true), (4, 4, false), (1, 0, true), (1, 1, false),
    ])
    func `the default margin is a minute or a fifth of the lifetime`(lifetime: Int64, age: Int64, isFresh: Bool) {
        #expect(Freshness().allows(token(lifetime: lifetime), now: issued.adding(age)) == isFresh)
    }

    @Test(arguments: [Int64?.none, 0, 1])
    func `a token is never given out at its end, however short its life`(minimum: Int64?) {
        let rule = Freshness(minimumValidity: minimum)
        #expect(rule.allows(token(lifetime: 4), now: issued.adding(3)))
        #expect(!rule.allows(token(lifetime: 4), now: issued.adding(4)))
        #expect(!rule.allows(token(lifetime: 4), now: issued.adding(5)))
    }

    @Test(arguments: [0, 1])
    func `a token at its end is of no use, whatever is asked for`(_ asked: Int64) {
        let rule = Freshness(demanded: asked, configured: nil)
        #expect(rule.allows(token(lifetime: 3_600), now: issued.adding(3_599)))
        #expect(!rule.allows(token(lifetime: 3_600), now: issued.adding(3_600)))
    }

    @Test(
        arguments: [
            (3_600, nil, 300), (400, nil, 200), (3_600, 299, 300), (3_600, 300, 300), (3_600, 900, 900),
            (1, nil, nil),
        ] as [(Int64, Int64?, Int64?)])
    func `a token that cannot be replaced must have a longer validity`(
        lifetime: Int64, asked: Int64?, validity: Int64?
    ) {
        let rule = Freshness(minimumValidity: asked).whereKept(token(lifetime: lifetime))
        #expect(rule.minimumValidity == validity)
    }

    @Test(
        arguments: [(3_600, 0, 3_540), (3_600, 3_540, 0), (3_600, 3_600, -60), (4, 1, 2)] as [(Int64, Int64, Int64)]
    )
    func `it is to be replaced when its margin begins`(lifetime: Int64, age: Int64, left: Int64) {
        #expect(Freshness().secondsLeft(of: token(lifetime: lifetime), now: issued.adding(age)) == left)
    }

    @Test func `a token from the future is not trusted`() {
        #expect(Freshness().allows(token(lifetime: 3_600), now: issued.adding(-300)))
        #expect(!Freshness().allows(token(lifetime: 3_600), now: issued.adding(-301)))
    }

    @Test func `scopes of a request are sorted and distinct`() {
        #expect(token(lifetime: 1).key.scope == ["a", "b"])
    }
}
