import StrictJSON

extension TokenSetRepository {
    /// Whether the refresh token that a grant would send is known to be used: its digest is, or this machine has
    /// seen a higher rotation number of the grant.
    package func isUsed(_ grant: Grant) -> Bool {
        guard let token = grant.toSend.refreshToken else { return false }
        if usedTokens.contains(token) { return true }
        guard let id = grant.id, let highest = usedTokens.rotation(of: id) else { return false }
        return grant.rotation < highest
    }

    /// Whether a refresh token of a store's token set is known to be used, and the journal has no later one in its
    /// place.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the journal cannot be read, ``ErrorCode/storeDamaged``.
    package func isUsed(_ set: TokenSet, in group: KeychainGroup) throws(CredentialError) -> Bool {
        let isUsed = { (set: TokenSet) in set.allGrants.contains { self.isUsed($0.grant) } }
        guard isUsed(set) else { return false }
        let later = try journal.read(set.account.id, in: group).flatMap { (sealed) throws(CredentialError) in
            try newer(sealed, than: set, group)
        }
        return later.map(isUsed) ?? true
    }

    /// Records that a provider has replaced a refresh token.
    ///
    /// - Parameter grant: the grant with the new token; its rotation number is recorded, too. It is `nil` in a
    ///   group that several hosts share: there a number is no evidence of the tokens that this machine has used.
    package func recordUsed(_ token: Secret?, replacedBy next: Secret?, grant: Grant?, until end: Timestamp? = nil)
    {
        guard let token, let next, token != next else { return }
        usedTokens.record(token, until: grant?.refreshExpiresAt ?? end)
        if let grant, let id = grant.id {
            usedTokens.record(rotation: grant.rotation, of: id, until: grant.refreshExpiresAt ?? end)
        }
    }

    /// Digests of the refresh tokens that a token set would send, for its record: an import finds by them, without
    /// opening an account, that it would bring a second copy of a token.
    func digests(of set: TokenSet) -> [String] {
        set.allGrants.compactMap { $0.grant.toSend.refreshToken.flatMap(usedTokens.digest(of:)) }.sorted()
    }

    /// The accounts of this machine by their refresh tokens, of every group that is not shared.
    ///
    /// - Throws: the errors of ``AccountRecordStore/groups()``.
    package func tokenHolders() throws(CredentialError) -> TokenHolders {
        var holders = TokenHolders(usedTokens)
        for group in try records.groups() {
            // The records of a shared group have digests by other hosts' keys. A group that cannot be read is
            // reported by `doctor`, and keeps no import into another one back.
            guard (try? sharing.isShared(group)) == false,
                let registry = try? records.registry(of: group, damaged: { _, _ in })
            else { continue }
            for account in registry.accounts { holders.add(account, in: group) }
        }
        return holders
    }
}

/// Tells which account has a refresh token, by the digests in the records.
package struct TokenHolders: Sendable {
    private let usedTokens: any UsedRefreshTokens
    private var accounts: [String: (account: Account, group: KeychainGroup)] = [:]

    init(_ usedTokens: any UsedRefreshTokens) { self.usedTokens = usedTokens }

    /// Adds an account.
    mutating func add(_ account: Account, in group: KeychainGroup) {
        for digest in account.tokenDigests { accounts[digest] = (account, group) }
    }

    /// The account that has a token; `nil` if no account has it.
    subscript(_ token: Secret) -> (account: Account, group: KeychainGroup)? {
        usedTokens.digest(of: token).flatMap { accounts[$0] }
    }
}

extension TokenSet {
    /// The greatest size in bytes of a token set that is stored. A record has it in Base64, beside the facts of its
    /// account, and no reader takes one of more than 8 MiB.
    static let greatestSize = 4 << 20

    /// Leaves out the oldest access tokens until the token set is not too large to be read again.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if it is too large without any access token.
    mutating func fit() throws(CredentialError) {
        var size = encoded().count
        while size > Self.greatestSize {
            guard !accessTokens.isEmpty else {
                throw CredentialError(
                    .inputOutput,
                    "the tokens of \(account.id) have \(size) bytes; at most \(Self.greatestSize) are stored")
            }
            size -= JSONValue.object(accessTokens.removeFirst().json).bytes().count
        }
    }
}
