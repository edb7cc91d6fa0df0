import CredentialCore
import StrictJSON

/// The checks that apply to every JSON Web Token of a provider, of any kind: algorithm, signature, issuer and
/// times.
struct JWTVerifier {
    /// The kind of the token.
    let kind: CompactJWT.Kind
    /// The issuer it must be from, byte for byte.
    let issuer: String
    /// The algorithms allowed.
    let algorithms: [SignatureAlgorithm]
    /// The time now.
    let now: Timestamp

    /// How far two clocks may differ, in seconds.
    static let leeway: Int64 = 300

    /// A token that has passed.
    struct Passed {
        let header: JSONObject
        let claims: JSONObject
        let algorithm: SignatureAlgorithm
        let expiresAt: Timestamp
    }

    init(of kind: CompactJWT.Kind, issuer: String, algorithms: [SignatureAlgorithm], now: Timestamp) {
        self.kind = kind
        self.issuer = issuer
        self.algorithms = algorithms
        self.now = now
    }

    /// Checks a token.
    ///
    /// - Parameter keys: finds the keys for an algorithm and a `kid`.
    /// - Throws: ``ErrorCode/validationFailed`` with the failed check; the errors of `keys`.
    func validate(
        _ text: String, cryptography: any Cryptography,
        keys: (SignatureAlgorithm, String?) throws(CredentialError) -> [JSONObject]
    ) throws(CredentialError) -> Passed {
        let token = try CompactJWT(text, kind)
        let algorithm = try algorithm(of: token.header)
        // A name that is no name is none: each key that fits is tried, and the signature decides.
        let kid = token.header["kid"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        let keys = try keys(algorithm, kid)
        try checkSignature(of: token, algorithm, by: keys, cryptography)
        guard let issuer = try token.claims.text("iss", of: kind), ConstantTime.equal(issuer, self.issuer) else {
            throw refused("it is from another issuer than '\(UntrustedText.shown(self.issuer))'")
        }
        return Passed(
            header: token.header, claims: token.claims, algorithm: algorithm, expiresAt: try end(of: token.claims))
    }

    /// Checks that one of the keys made the signature; an unsuitable key does not prevent the check of another.
    private func checkSignature(
        of token: CompactJWT, _ algorithm: SignatureAlgorithm, by keys: [JSONObject],
        _ cryptography: any Cryptography
    ) throws(CredentialError) {
        guard !keys.isEmpty else { throw refused("the provider publishes no key for its signature") }
        var failure: CredentialError?
        var areAllUnusable = true
        for key in keys {
            do throws(CredentialError) {
                if try cryptography.verify(
                    token.signature, of: token.signingInput, algorithm: algorithm, key: key)
                {
                    return
                }
                areAllUnusable = false
            } catch { failure = failure ?? error }
        }
        if areAllUnusable, let failure { throw failure }
        throw refused("its signature is wrong")
    }

    private func algorithm(of header: JSONObject) throws(CredentialError) -> SignatureAlgorithm {
        if header["crit"] != nil { throw refused("it has critical header members") }
        guard header["b64"] == nil else { throw refused("its claims are not encoded (RFC 7797)") }
        guard let name = try header.text("alg", of: kind), let algorithm = SignatureAlgorithm(rawValue: name),
            algorithms.contains(algorithm)
        else {
            let name = header["alg"]?.string.map { UntrustedText.shown($0, limit: 20) } ?? "none"
            throw refused("its algorithm '\(name)' is not allowed")
        }
        return algorithm
    }

    private func end(of claims: JSONObject) throws(CredentialError) -> Timestamp {
        guard let expiry = try claims.time("exp", of: kind) else { throw refused("it has no expiry time (exp)") }
        guard let issued = try claims.time("iat", of: kind) else {
            throw refused("it has no time of issue (iat)")
        }
        guard now < expiry.adding(Self.leeway) else { throw refused("it has expired") }
        let latest = now.adding(Self.leeway)
        guard issued <= latest else { throw refused("it was issued in the future; check the clock") }
        if let begin = try claims.time("nbf", of: kind), begin > latest {
            throw refused("it is not valid yet; check the clock")
        }
        return expiry
    }

    private func refused(_ reason: LocalizedMessage) -> CredentialError { CompactJWT.refused(reason, kind) }
}

extension JSONObject {
    /// A member that is a string, or is not there.
    func text(_ name: String, of kind: CompactJWT.Kind) throws(CredentialError) -> String? {
        switch self[name] {
        case nil, .null?: return nil
        case .string(let text)?: return text
        case let other?:
            throw CompactJWT.refused("its \(name) is \(other.kind), not a string", kind)
        }
    }

    /// A NumericDate (RFC 7519 §2), cut to whole seconds.
    func time(_ name: String, of kind: CompactJWT.Kind) throws(CredentialError) -> Timestamp? {
        switch self[name] {
        case nil, .null?: return nil
        case let value?:
            guard value.string == nil, let seconds = LenientNumber.read(value, in: 0...Int64.max) else {
                throw CompactJWT.refused("its \(name) is not a time", kind)
            }
            return Timestamp(epochSeconds: seconds)
        }
    }

    /// The audiences that a token is for: one or several.
    func audience(of kind: CompactJWT.Kind) throws(CredentialError) -> [String] {
        switch self["aud"] {
        case .string(let one)?: return [one]
        case .array(let several)?:
            let audience = several.compactMap(\.string)
            guard audience.count == several.count else {
                throw CompactJWT.refused("its audience is malformed", kind)
            }
            return audience
        default: throw CompactJWT.refused("it has no audience", kind)
        }
    }
}
