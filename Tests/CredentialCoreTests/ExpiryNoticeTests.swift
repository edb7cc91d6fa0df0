import CredentialCore
import CryptoSupport
import TestPorts
import Testing

@Suite struct `How near the end of a sign-in is` {
    private let machine = MemoryMachine(cryptography: LibCryptography())
    private static let day: Int64 = 86_400

    private var now: Timestamp { machine.clock.now }

    private func account(endingIn seconds: Int64) -> Account {
        var account = Account(
            id: "0123456789abcdef", type: "T", adapter: "oauth2",
            registration: ClientIdentity(provider: "https://p.example", clientID: "c"), subject: "s", store: .file,
            now: now)
        account.refreshExpiresAt = now.adding(seconds)
        // As a sign-in does.
        _ = account.recordExpiryNotice(now: now)
        return account
    }

    /// Whether the end is news at each of these times.
    private func isNews(_ account: Account, after seconds: [Int64]) -> [Bool] {
        var account = account
        return seconds.map { account.recordExpiryNotice(now: now.adding($0)) }
    }

    @Test func `Each step is news once, and a sign-in within it none`() {
        var long = account(endingIn: 30 * Self.day)
        var news: [Int64] = []
        for hour in 0..<(30 * 24 + 5) where long.recordExpiryNotice(now: now.adding(Int64(hour) * 3_600)) {
            news.append(Int64(30 * 24 - hour))
        }
        #expect(news == [7 * 24, 24])
        #expect(isNews(account(endingIn: 1_800), after: [0, 3_600]) == [false, false])
        #expect(isNews(account(endingIn: 3 * Self.day), after: [Self.day, 2 * Self.day]) == [false, true])
    }

    @Test func `An end that moves away makes it news again`() {
        var account = account(endingIn: 10 * Self.day)
        let first = account.recordExpiryNotice(now: now.adding(5 * Self.day))
        account.refreshExpiresAt = now.adding(20 * Self.day)
        #expect(first)
        #expect(isNews(account, after: [5 * Self.day, 15 * Self.day]) == [false, true])
    }

    @Test func `An end that is not known is never told`() {
        var account = account(endingIn: 0)
        account.refreshExpiresAt = nil
        #expect(isNews(account, after: [0]) == [false])
        #expect(!account.endsSoon(now: now))
    }

    @Test func `It is kept with the account`() throws {
        let account = account(endingIn: Self.day)
        #expect(account.lastExpiryNotice == .day)
        #expect(try Account(json: account.json) == account)
    }
}
