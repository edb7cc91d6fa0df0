public import CredentialCore
public import StrictJSON
import Synchronization

/// Proves the possession of a key with each request (RFC 9449): the key of one grant, made at its sign-in and kept
/// with it, and the newest nonce of each server.
public final class DPoPKey: Sendable {
    private let privateKey: Secret
    private let publicJWK: JSONObject
    private let nonces: Mutex<[String: String]>

    /// The member of pending sign-ins and of ``Grant/adapterState`` that keeps a prover.
    private static let member = "dpop"
    private static let algorithm = SignatureAlgorithm.es256
    /// The longest nonce that is sent back, in bytes.
    private static let longestNonce = 1_024

    private init(privateKey: Secret, publicJWK: JSONObject, nonces: [String: String]) {
        self.privateKey = privateKey
        self.publicJWK = publicJWK
        self.nonces = Mutex(nonces)
    }

    // MARK: Making and keeping

    /// A prover with a new key.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    public static func make(in context: AdapterContext) throws(CredentialError) -> DPoPKey {
        let key = try context.cryptography.generateKey(algorithm)
        return DPoPKey(privateKey: key.privateKey, publicJWK: key.publicJWK, nonces: [:])
    }

    /// The prover that a grant or a pending sign-in keeps; `nil` when it does not have one.
    public static func kept(in state: JSONObject) -> DPoPKey? {
        guard let kept = state[member]?.object, let privateKey = kept["key"]?.string,
            let publicJWK = kept["jwk"]?.object
        else { return nil }
        var nonces: [String: String] = [:]
        for (origin, nonce) in kept["nonces"]?.object?.members ?? [] { nonces[origin] = nonce.string }
        return DPoPKey(privateKey: Secret(privateKey), publicJWK: publicJWK, nonces: nonces)
    }

    /// Keeps the prover in a grant's state or a pending sign-in, which are secrets both.
    public func keep(in state: inout JSONObject) {
        var kept = JSONObject()
        kept["key"] = .string(privateKey.reveal())
        kept["jwk"] = .object(publicJWK)
        var seen = JSONObject()
        for (origin, nonce) in nonces.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            seen[origin] = .string(nonce)
        }
        if !seen.isEmpty { kept["nonces"] = .object(seen) }
        state[Self.member] = .object(kept)
    }

    // MARK: Proofs

    /// The value of the `DPoP` header field for one request (RFC 9449 §4.2).
    ///
    /// - Parameter accessToken: the token that goes with the request to a protected resource, for `ath`.
    /// - Throws: ``ErrorCode/internalFault``.
    public func proof(
        method: String, address: URI, accessToken: Secret? = nil, in context: AdapterContext
    ) throws(CredentialError) -> String {
        var header = JSONObject()
        header["typ"] = "dpop+jwt"
        header["alg"] = .string(Self.algorithm.rawValue)
        header["jwk"] = .object(publicJWK)
        var claims = JSONObject()
        claims["jti"] = .string(context.random.urlSafeToken())
        claims["htm"] = .string(method)
        // RFC 9449 §4.2: without query and fragment; RFC 3986 §6.2.3: an empty path is "/".
        claims["htu"] = .string(address.replacing(path: address.path.isEmpty ? "/" : address.path).description)
        claims["iat"] = .integer(context.clock.now.epochSeconds)
        if let accessToken {
            claims["ath"] = .string(try Self.hash(accessToken.reveal(), context.cryptography))
        }
        claims["nonce"] = nonces.withLock { $0[address.origin] }.map(JSONValue.string)
        let input =
            Base64URL.encode(JSONValue.object(header).bytes()) + "."
            + Base64URL.encode(JSONValue.object(claims).bytes())
        let signature = try context.cryptography.sign(
            Array(input.utf8), algorithm: Self.algorithm, privateKey: privateKey)
        return input + "." + Base64URL.encode(signature)
    }

    /// Takes the nonce of a response, and tells whether the request is worth repeating for it (RFC 9449 §8, §9).
    public func shouldRepeat(after response: HTTPResponse, from address: URI) -> Bool {
        guard let nonce = response.value(of: "dpop-nonce"), !nonce.isEmpty,
            nonce.utf8.count <= Self.longestNonce,
            nonce.utf8.allSatisfy({ $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) })
        else { return false }
        let isNew = nonces.withLock { nonces in
            defer { nonces[address.origin] = nonce }
            return nonces[address.origin] != nonce
        }
        guard isNew, response.status == 400 || response.status == 401 else { return false }
        if (try? JSONValue.parse(response.body))?.object?["error"]?.string == Self.nonceWanted { return true }
        return AuthenticationChallenge.parse(response.values(of: "www-authenticate"))
            .contains { $0.scheme == "dpop" && $0.parameters["error"] == Self.nonceWanted }
    }

    private static let nonceWanted = "use_dpop_nonce"

    /// The thumbprint of the key (RFC 7638), which binds the authorization code to it as `dpop_jkt` (§10).
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func thumbprint(_ cryptography: any Cryptography) throws(CredentialError) -> String {
        var canonical = JSONObject()
        for name in ["crv", "kty", "x", "y"] { canonical[name] = publicJWK[name] }
        return try Self.hash(JSONValue.object(canonical).text(), cryptography)
    }

    /// The SHA-256 of a text as base64url: `ath`.
    public static func hash(_ text: String, _ cryptography: any Cryptography) throws(CredentialError) -> String {
        Base64URL.encode(try cryptography.sha256(Array(text.utf8)))
    }
}
