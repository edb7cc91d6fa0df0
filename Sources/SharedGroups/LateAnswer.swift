import CredentialCore
import StrictJSON

/// An answer of the provider on its way into the cluster.
struct LateAnswer {
    /// The intent under which it was asked for.
    var nonce: IntentNonce
    /// The refresh token that it replaced: it belongs to that one, not to a revision.
    var replaced: TokenDigest
    /// Of which policy.
    var policy: String
    /// The token set with what was issued.
    var tokenSet: TokenSet

    private static let context = Array("credmgr late answer 1".utf8)
    private static let sealNonceSize = 12

    init(nonce: IntentNonce, replaced: TokenDigest, policy: String, tokenSet: TokenSet) {
        self.nonce = nonce
        self.replaced = replaced
        self.policy = policy
        self.tokenSet = tokenSet
    }

    /// As it stands in the journal of the host.
    func sealed(
        by key: [UInt8], _ cryptography: any Cryptography, _ random: any RandomSource
    ) throws(CredentialError) -> [UInt8] {
        var object = JSONObject()
        object["nonce"] = .string(Base64URL.encode(nonce.bytes))
        object["replaced"] = .string(Base64URL.encode(replaced.bytes))
        object["policy"] = .string(policy)
        object["set"] = .object(tokenSet.json)
        let sealNonce = random.bytes(Self.sealNonceSize)
        return sealNonce
            + (try cryptography.seal(
                JSONValue.object(object).bytes(), key: key, nonce: sealNonce, authenticating: Self.context))
    }

    /// Reads what ``sealed(by:_:_:)`` made.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(opening entry: [UInt8], key: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) {
        guard entry.count > Self.sealNonceSize,
            let plaintext = try cryptography.open(
                Array(entry[Self.sealNonceSize...]), key: key, nonce: Array(entry[..<Self.sealNonceSize]),
                authenticating: Self.context),
            let object = try? JSONValue.parse(plaintext, limits: .ownFile).object,
            let nonce = object["nonce"]?.string.flatMap(Base64URL.decode).flatMap(IntentNonce.init(bytes:)),
            let replaced = object["replaced"]?.string.flatMap(Base64URL.decode),
            let policy = object["policy"]?.string, let set = object["set"]?.object
        else {
            throw CredentialError(.storeDamaged, "the journal of a refresh does not open", hint: "credmgr doctor")
        }
        self.init(
            nonce: nonce, replaced: TokenDigest(bytes: replaced), policy: policy, tokenSet: try TokenSet(json: set))
    }
}

extension TokenSet {
    /// Takes over what was issued: the grant of its policy, and its access tokens; all else stays as it is here.
    mutating func take(_ answer: LateAnswer) {
        grants[answer.policy] = answer.tokenSet.grants[answer.policy]
        for token in answer.tokenSet.accessTokens where token.key.policy == answer.policy {
            accessTokens.removeAll { $0.key == token.key }
            accessTokens.append(token)
        }
        account.status = answer.tokenSet.account.status
        account.expiresAt = answer.tokenSet.account.expiresAt
        account.scope = answer.tokenSet.account.scope
        account.refreshExpiresAt = answer.tokenSet.account.refreshExpiresAt
        account.updatedAt = answer.tokenSet.account.updatedAt
        generation += 1
    }
}
