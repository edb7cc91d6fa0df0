import CredentialCore
import StrictJSON

/// An answer of the provider on its way into the cluster.
struct LateResponse: Hashable {
    /// The intent under which it was asked for.
    var nonce: IntentNonce
    /// The refresh token that it replaced: it belongs to that one, not to a revision.
    var replaced: TokenDigest
    /// Of which policy.
    var policy: String
    /// The token set with the issued tokens.
    var tokenSet: TokenSet

    private static let salted = SaltedSeal(for: "credmgr late answer 2")
    /// How an entry of the journal begins; one of the first form begins with a random nonce.
    private static let mark = Array("answer-2".utf8)
    private static let firstContext = Array("credmgr late answer 1".utf8)
    private static let firstNonceSize = 12

    init(nonce: IntentNonce, replaced: TokenDigest, policy: String, tokenSet: TokenSet) {
        self.nonce = nonce
        self.replaced = replaced
        self.policy = policy
        self.tokenSet = tokenSet
    }

    /// As stored in the journal of the host.
    func sealed(
        by key: [UInt8], _ cryptography: any Cryptography, _ random: any RandomSource
    ) throws(CredentialError) -> [UInt8] {
        Self.mark
            + (try Self.salted.seal(
                JSONValue.object(json).bytes(), key: key, context: Self.mark, random, cryptography))
    }

    /// Reads the output of ``sealed(by:_:_:)``.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(opening entry: [UInt8], key: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) {
        guard let plaintext = try Self.plaintext(entry, key, cryptography),
            let object = try? JSONValue.parse(plaintext, limits: .ownFile).object
        else { throw Self.damaged }
        try self.init(json: object)
    }

    private static func plaintext(
        _ entry: [UInt8], _ key: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8]? {
        if entry.starts(with: mark) {
            let sealed = Array(entry[mark.count...])
            if let plaintext = try salted.open(sealed, key: key, context: mark, cryptography) { return plaintext }
        }
        guard entry.count > firstNonceSize else { return nil }
        return try cryptography.open(
            Array(entry[firstNonceSize...]), key: key, nonce: Array(entry[..<firstNonceSize]),
            authenticating: firstContext)
    }

    /// The answer as a JSON object.
    var json: JSONObject {
        var object = JSONObject()
        object["nonce"] = .string(Base64URL.encode(nonce.bytes))
        object["replaced"] = .string(Base64URL.encode(replaced.bytes))
        object["policy"] = .string(policy)
        object["set"] = .object(tokenSet.json)
        return object
    }

    /// Reads an answer from its JSON object.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(json object: JSONObject) throws(CredentialError) {
        guard let nonce = object["nonce"]?.string.flatMap(Base64URL.decode).flatMap(IntentNonce.init(bytes:)),
            let replaced = object["replaced"]?.string.flatMap(Base64URL.decode),
            let policy = object["policy"]?.string, let set = object["set"]?.object
        else { throw Self.damaged }
        self.init(
            nonce: nonce, replaced: TokenDigest(bytes: replaced), policy: policy, tokenSet: try TokenSet(json: set))
    }

    private static var damaged: CredentialError {
        CredentialError(.storeDamaged, "cannot decrypt the journal of a refresh", hint: "credmgr doctor")
    }
}

extension TokenSet {
    /// Takes over the tokens that were issued for a policy: its grant and its access tokens; all else stays as it
    /// is here.
    mutating func take(_ policy: String, of issued: TokenSet) {
        grants[policy] = issued.grants[policy]
        // A line goes on even if an answer of long ago replaces a token that was refused meanwhile.
        if let line = issued.lines[policy] {
            let standing = lines[policy]
            lines[policy] =
                if let standing, standing.id == line.id, !standing.isOlder(than: line) {
                    standing.next(by: line.host)
                } else { line }
        }
        for token in issued.accessTokens where token.key.policy == policy {
            accessTokens.removeAll { $0.key == token.key }
            accessTokens.append(token)
        }
        account.status = issued.account.status
        account.expiresAt = issued.account.expiresAt
        account.scope = issued.account.scope
        account.refreshExpiresAt = issued.account.refreshExpiresAt
        account.updatedAt = issued.account.updatedAt
        generation += 1
    }

    /// Takes over the grants that `known` has in the place of those here, each with its access tokens; all else
    /// stays as it is.
    ///
    /// - Returns: whether there was one.
    mutating func takeNewer(of known: TokenSet) -> Bool {
        var took = false
        for (policy, line) in lines {
            guard let newer = known.lines[policy], line.isOlder(than: newer), known.grants[policy] != nil else {
                continue
            }
            take(policy, of: known)
            took = true
        }
        if took { generation = max(generation, known.generation + 1) }
        return took
    }

    /// Begins a line for every grant whose refresh token is not that of `before`: a user has signed in. A grant
    /// that is gone has no line.
    mutating func beginLines(after before: TokenSet?, _ random: any RandomSource) {
        for (policy, grant) in grants
        where lines[policy] == nil || before?.grants[policy] == nil
            || before?.grants[policy]?.refreshToken != grant.refreshToken
        {
            lines[policy] = TokenFamily(random)
        }
        // A user that is signed out of a policy is not signed in again by the memory of a host.
        lines = lines.filter { grants[$0.key] != nil }
    }
}
