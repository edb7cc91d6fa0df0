package import CredentialCore
package import StrictJSON

/// Checks an id token (OpenID Connect Core §3.1.3.7, §12.2) before anything of it is believed or stored.
///
/// The signature is always checked, though the code flow would allow to skip it: a token pasted or imported has no
/// channel that vouches for it.
package struct IDTokenValidator: Sendable {
    /// The issuer it must be from, byte for byte.
    package var issuer: String
    /// The client it must be for.
    package var clientID: String
    /// The algorithms allowed.
    package var algorithms: [SignatureAlgorithm]
    /// The time now.
    package var now: Timestamp
    /// The nonce sent; `nil` if the request had no nonce (refresh).
    package var nonce: String?
    /// The access token that came with it, for `at_hash`.
    package var accessToken: String?
    /// The code it was had for, for `c_hash`.
    package var code: String?
    /// The subject it must have (refresh).
    package var subject: String?
    /// The greatest age of the user's sign-in in seconds, if one was requested.
    package var maximumAge: Int64?

    /// How the user had to authenticate, if the sign-in required that.
    package var authentication = AuthenticationRequirements()

    /// How far two clocks may differ, in seconds.
    package static let leeway: Int64 = JWTVerifier.leeway

    /// Makes a validator with the checks that every token must pass.
    package init(issuer: String, clientID: String, algorithms: [SignatureAlgorithm], now: Timestamp) {
        self.issuer = issuer
        self.clientID = clientID
        self.algorithms = algorithms
        self.now = now
    }

    /// Checks a token and gives its claims.
    ///
    /// - Parameters:
    ///   - text: the token.
    ///   - cryptography: verifies and hashes.
    ///   - key: finds the key for an algorithm and a `kid`; `nil` when there is no such key.
    /// - Throws: ``ErrorCode/validationFailed`` with the failed check; the errors of `keys`.
    package func validate(
        _ text: String, cryptography: any Cryptography,
        keys: (SignatureAlgorithm, String?) throws(CredentialError) -> [JSONObject]
    ) throws(CredentialError) -> IDTokenClaims {
        let check = JWTVerifier(of: .idToken, issuer: issuer, algorithms: algorithms, now: now)
        let token = try check.validate(text, cryptography: cryptography, keys: keys)
        let (claims, algorithm) = (token.claims, token.algorithm)
        try checkKind(token.header, claims)
        try checkAudience(claims)
        if let maximumAge {
            guard let signedIn = try time("auth_time", of: claims),
                now.seconds(since: signedIn) <= maximumAge.addingReportingOverflow(Self.leeway).partialValue
            else { throw CompactJWT.refused("the sign-in is too old") }
        }
        try authentication.check(claims)
        if let nonce {
            guard let received = try string("nonce", of: claims) else {
                throw CompactJWT.refused("it has no nonce, and this sign-in sent one")
            }
            guard ConstantTime.equal(received, nonce) else {
                throw CompactJWT.refused("its nonce does not match this sign-in")
            }
        }
        guard let subject = try string("sub", of: claims), !subject.isEmpty, subject.utf8.count <= 255 else {
            throw CompactJWT.refused("it names no subject")
        }
        if let expected = self.subject, !ConstantTime.equal(subject, expected) {
            throw CompactJWT.refused("it is for another subject than before")
        }
        try checkHash("at_hash", of: accessToken, claims, algorithm, cryptography)
        try checkHash("c_hash", of: code, claims, algorithm, cryptography)
        return IDTokenClaims(members: claims, issuer: issuer, subject: subject, expiresAt: token.expiresAt)
    }

    /// Refuses a token that its issuer made for another use: an access token, a logout token, a security event (RFC
    /// 8725 §3.11, RFC 8417 §2.2, OpenID Connect Back-Channel Logout §2.4). An ID token has the type `JWT`, or no
    /// type.
    private func checkKind(_ header: JSONObject, _ claims: JSONObject) throws(CredentialError) {
        if let type = try header.text("typ", of: .idToken), type.lowercased().hasSuffix("+jwt") {
            throw CompactJWT.refused("its type is '\(UntrustedText.shown(type, limit: 40))'")
        }
        if claims["events"] != nil { throw CompactJWT.refused("it reports events (RFC 8417)") }
    }

    private func checkAudience(_ claims: JSONObject) throws(CredentialError) {
        let audience = try claims.audience(of: .idToken)
        guard audience.contains(where: { ConstantTime.equal($0, clientID) }) else {
            throw CompactJWT.refused("it is for another client")
        }
        // Several audiences need no authorized party any more (errata set 2 of OpenID Connect Core).
        if let party = try string("azp", of: claims), !ConstantTime.equal(party, clientID) {
            throw CompactJWT.refused("its authorized party is another client")
        }
    }

    private func checkHash(
        _ name: String, of value: String?, _ claims: JSONObject, _ algorithm: SignatureAlgorithm,
        _ cryptography: any Cryptography
    ) throws(CredentialError) {
        guard let value, let claimed = try string(name, of: claims) else { return }
        // No standard names the hash of EdDSA: most take that of the signature, glewlwyd takes SHA-256.
        for algorithm in algorithm == .edDSA ? [.edDSA, .es256] : [algorithm] {
            let hash = try TokenHash.of(value, algorithm: algorithm, cryptography: cryptography)
            if ConstantTime.equal(hash, claimed) { return }
        }
        throw CompactJWT.refused("its \(name) does not match the token or code")
    }

    private func string(_ name: String, of claims: JSONObject) throws(CredentialError) -> String? {
        try claims.text(name, of: .idToken)
    }

    private func time(_ name: String, of claims: JSONObject) throws(CredentialError) -> Timestamp? {
        try claims.time(name, of: .idToken)
    }
}

/// `at_hash` and `c_hash` (OpenID Connect Core §3.1.3.6 and §3.3.2.11).
package enum TokenHash {
    /// The left half of the hash of a token, with the hash of the signature's algorithm, as base64url.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when there is no such hash.
    package static func of(
        _ token: String, algorithm: SignatureAlgorithm, cryptography: any Cryptography
    ) throws(CredentialError) -> String {
        let bytes = Array(token.utf8)
        let hash: [UInt8] =
            switch algorithm {
            case .rs256, .ps256, .es256: try cryptography.sha256(bytes)
            case .rs384, .ps384, .es384: try cryptography.sha384(bytes)
            case .rs512, .ps512, .es512, .edDSA: try cryptography.sha512(bytes)
            }
        return Base64URL.encode(Array(hash.prefix(hash.count / 2)))
    }
}
