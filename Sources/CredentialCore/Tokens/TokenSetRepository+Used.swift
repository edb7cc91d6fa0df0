import StrictJSON

extension TokenSetRepository {
    /// Whether the refresh token that a grant would send is known to be used: its digest is, or this machine has seen a
    /// higher rotation number of the grant.
    package func isUsed(_ grant: Grant) -> Bool {
        guard let token = grant.toSend.refreshToken else { return false }
        if usedTokens.contains(token) { return true }
        guard let id = grant.id, let highest = usedTokens.rotation(of: id) else { return false }
        return grant.rotation < highest
    }

    /// Whether a refresh token of a store's token set is known to be used, and the journal has no later one in its place.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` where the journal cannot be read, ``ErrorCode/storeDamaged``.
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
    /// - Parameter grant: the grant with the new token; its rotation number is recorded, too. `nil` in a group that several
    ///   hosts share: there a number says nothing about what this machine has used.
    package func recordUsed(_ token: Secret?, replacedBy next: Secret?, grant: Grant?, until end: Instant? = nil) {
        guard let token, let next, token != next else { return }
        usedTokens.record(token, until: grant?.refreshExpiresAt ?? end)
        if let grant, let id = grant.id {
            usedTokens.record(rotation: grant.rotation, of: id, until: grant.refreshExpiresAt ?? end)
        }
    }

    /// Digests of the refresh tokens that a token set would send, for its record: an import finds by them, without opening an
    /// account, that it would bring a second copy of a token.
    func digests(of set: TokenSet) -> [String] {
        set.allGrants.compactMap { $0.grant.toSend.refreshToken.flatMap(usedTokens.digest(of:)) }.sorted()
    }

    /// The account of this machine that has a refresh token, in any group that is not shared; `nil` if none has it.
    ///
    /// - Parameter account: the id of an account that does not count.
    /// - Throws: the errors of ``AccountRecords/registry(of:damaged:)``.
    package func holder(
        of token: Secret, besides account: String?
    ) throws(CredentialError) -> (account: Account, group: KeychainGroup)? {
        guard let digest = usedTokens.digest(of: token) else { return nil }
        for group in try records.groups() {
            // The records of a shared group have digests by other hosts' keys. A group that cannot be read is reported by `doctor`,
            // and keeps no import into another one back.
            guard (try? sharing.isShared(group)) == false,
                let registry = try? records.registry(of: group, damaged: { _, _ in })
            else { continue }
            let found = registry.accounts.first { $0.id != account && $0.tokenDigests.contains(digest) }
            if let found { return (found, group) }
        }
        return nil
    }
}

extension TokenSet {
    /// The greatest size in bytes of a token set that is stored. A record has it in Base64, beside the facts of its account, and
    /// no reader takes one of more than 8 MiB.
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
