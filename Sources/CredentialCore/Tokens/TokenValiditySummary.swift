import StrictJSON

/// The facts that an account's record states in clear of an access token. They are its request, as a number that
/// shows only whether two are the same, and the times between which it is valid. A list of accounts then says which
/// is due, and no secret is read for the others.
package struct TokenValiditySummary: Sendable, Hashable {
    /// A number for the token's key.
    package let mark: Int64
    /// When it was received.
    package let issuedAt: Timestamp
    /// When it ends.
    package let expiresAt: Timestamp

    /// Those of a token.
    init(_ token: AccessToken) {
        mark = token.key.mark
        issuedAt = token.issuedAt
        expiresAt = token.expiresAt
    }

    /// As the record has it.
    var json: JSONValue {
        .array([.integer(mark), .integer(issuedAt.epochSeconds), .integer(expiresAt.epochSeconds)])
    }

    /// Reads the output of ``json``; `nil` for any other value.
    init?(json: JSONValue) {
        guard let numbers = json.array?.compactMap(\.integer), numbers.count == 3 else { return nil }
        mark = numbers[0]
        issuedAt = Timestamp(epochSeconds: numbers[1])
        expiresAt = Timestamp(epochSeconds: numbers[2])
    }
}

extension TokenRequestKey {
    /// A number for the key, used if only a look into a store depends on it: FNV-1a, which takes no library.
    package var mark: Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in JSONValue.object(json).bytes() { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}

extension TokenSet {
    /// The times of its access tokens; `nil` if the account's facts do not name its sign-ins. A holder of the list
    /// finds the type's requests by these names.
    var times: [TokenValiditySummary]? {
        guard grants.keys.sorted() == account.signIns else { return nil }
        return accessTokens.map { TokenValiditySummary($0) }
    }
}

extension Account {
    /// The sign-ins that it has grants of: one per policy, and the nameless one if the provider has no policies.
    package var signIns: [String] { policies.isEmpty ? [""] : policies }

    /// Whether its record alone shows that no token of it is due: each token in `marks`, and each other one that
    /// has not ended, is valid for long enough. If the record does not know, the account may be due.
    package func isFresh(for marks: [Int64], _ freshness: Freshness, now: Timestamp) -> Bool {
        guard let tokenTimes else { return false }
        let fresh = tokenTimes.filter { freshness.allows(from: $0.issuedAt, to: $0.expiresAt, now: now) }
        return marks.allSatisfy { mark in fresh.contains { $0.mark == mark } }
            && tokenTimes.allSatisfy { $0.expiresAt <= now || fresh.contains($0) }
    }

    /// Whether its sign-in's end is due for a notice that was not given yet (``ExpiryNotice``).
    package func needsExpiryNotice(now: Timestamp) -> Bool {
        ExpiryNotice(of: refreshExpiresAt, now: now) != lastExpiryNotice
    }
}
