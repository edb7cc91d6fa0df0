package import CredentialCore
package import StrictJSON

/// A JSON Web Key Set (RFC 7517 §5): public keys to verify with.
package struct JWKSet: Sendable {
    /// The keys, members unknown to us included.
    package let keys: [JSONObject]

    /// The most keys read.
    package static let maximumCount = 256

    /// Reads a key set; entries that are no objects or have no `kty` are passed over (RFC 7517 §5).
    ///
    /// - Throws: ``ErrorCode/malformedReply`` when there is no `keys` array or it is too long.
    package init(_ document: JSONObject) throws(CredentialError) {
        guard let keys = document["keys"]?.array, keys.count <= Self.maximumCount else {
            throw CredentialError(.malformedReply, "the provider's key set has no list of keys")
        }
        self.keys = keys.compactMap(\.object).filter { $0["kty"]?.string != nil }.map(Self.withoutEmptyMembers)
    }

    /// A key without optional members that say nothing: an empty `use`, `alg` or `key_ops`, and a `kid` that is
    /// empty or not a string.
    private static func withoutEmptyMembers(_ key: JSONObject) -> JSONObject {
        var key = key
        for name in ["use", "alg"] where key[name] == "" { key[name] = nil }
        if key["key_ops"]?.array?.isEmpty ?? false { key["key_ops"] = nil }
        if (key["kid"]?.string ?? "").isEmpty { key["kid"] = nil }
        return key
    }

    /// The keys to verify a token with: those with its `kid`, else those without any. For a token without a `kid`
    /// each key that fits. The signature decides; a `kid` is a hint (RFC 7515 §4.1.4).
    ///
    /// A key fits by its type, curve, `use` and `alg`; a `kid` is an opaque word. `jku`, `x5u` and `jwk` of the
    /// token's header are never looked at.
    ///
    /// - Returns: the keys, and whether they have the token's `kid`.
    package func candidates(
        for algorithm: SignatureAlgorithm, kid: String?
    ) -> (keys: [JSONObject], areNamed: Bool) {
        let fitting = keys.filter { Self.fits($0, algorithm) }
        guard let kid else { return (fitting, false) }
        let named = fitting.filter { key in key["kid"]?.string.map { ConstantTime.equal($0, kid) } ?? false }
        if !named.isEmpty { return (named, true) }
        return (fitting.filter { $0["kid"] == nil }, false)
    }

    private static func fits(_ key: JSONObject, _ algorithm: SignatureAlgorithm) -> Bool {
        if let use = key["use"]?.string, use != "sig" { return false }
        if let named = key["alg"]?.string, named != algorithm.rawValue { return false }
        if let operations = key["key_ops"]?.array, !operations.contains(.string("verify")) { return false }
        let type = key["kty"]?.string, curve = key["crv"]?.string
        return switch algorithm {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: type == "RSA"
        case .es256: type == "EC" && curve == "P-256"
        case .es384: type == "EC" && curve == "P-384"
        case .es512: type == "EC" && curve == "P-521"
        case .edDSA: type == "OKP" && curve == "Ed25519"
        }
    }
}
