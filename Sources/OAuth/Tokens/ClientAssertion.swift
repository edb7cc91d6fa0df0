package import CredentialCore
import StrictJSON
import Synchronization

/// A JSON Web Token that the client signs: to authenticate itself (RFC 7523 §2.2) or as a grant (§2.1).
package struct ClientAssertion: Sendable {
    /// The issuer: the client.
    package var issuer: String
    /// The subject: the client itself, or the user acted for.
    package var subject: String
    /// The audience of the assertion.
    package var audience: String
    /// The scopes; Google's service accounts want them here.
    package var scope: [String]

    /// Seconds an assertion is good for.
    package static let lifetime: Int64 = 120

    /// Makes an assertion.
    package init(issuer: String, subject: String, audience: String, scope: [String] = []) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.scope = scope
    }

    /// Signs it with a private key, PEM, a JWK or a key set of one; a JWK's `kid` goes into the header, without
    /// which some providers find no key.
    ///
    /// - Parameters:
    ///   - named: the algorithm that the account type names.
    ///   - accepted: those that the provider lists; its own choice among several that suit the key.
    /// - Throws: ``ErrorCode/configuration`` when the key cannot be read or serves for no algorithm.
    package func signed(
        with key: Secret, named: SignatureAlgorithm? = nil, accepted: [String]? = nil, in context: AdapterContext
    ) throws(CredentialError) -> Secret {
        var key = key
        var jwk = (try? JSONValue.parse(key.reveal()))?.object
        if let only = jwk?["keys"]?.array?.compactMap(\.object), only.count == 1, let single = only.first {
            jwk = single
            key = Secret(JSONValue.object(single).text())
        }
        var claims: JSONObject = JSONObject()
        claims["iss"] = .string(issuer)
        claims["sub"] = .string(subject)
        claims["aud"] = .string(audience)
        claims["jti"] = .string(context.random.urlSafeToken())
        claims["iat"] = .integer(context.clock.now.epochSeconds)
        claims["exp"] = .integer(context.clock.now.adding(Self.lifetime).epochSeconds)
        if !scope.isEmpty { claims["scope"] = .string(Scope.text(scope)) }
        let payload = Base64URL.encode(JSONValue.object(claims).bytes())

        var failure: CredentialError?
        for algorithm in named.map({ [$0] }) ?? Self.algorithms(for: jwk, accepted: accepted) {
            var header: JSONObject = JSONObject()
            header["alg"] = .string(algorithm.rawValue)
            header["typ"] = "JWT"
            header["kid"] = jwk?["kid"]
            let input = Base64URL.encode(JSONValue.object(header).bytes()) + "." + payload
            do {
                let signature = try context.cryptography.sign(
                    Array(input.utf8), algorithm: algorithm, privateKey: key)
                return Secret(input + "." + Base64URL.encode(signature))
            } catch {
                guard error.code == .configuration else { throw error }
                failure = failure ?? error
            }
        }
        throw failure ?? CredentialError(.configuration, "private_key has a type that cannot sign")
    }

    /// The algorithms to try: the one that a JWK names, else by its kind; a PEM does not name one, so the usual
    /// ones in turn. Those that the provider accepts come first.
    private static func algorithms(for jwk: JSONObject?, accepted: [String]?) -> [SignatureAlgorithm] {
        if let named = jwk?["alg"]?.string { return SignatureAlgorithm(rawValue: named).map { [$0] } ?? [] }
        let fitting = jwk.map(fitting) ?? [.es256, .rs256, .ps256, .edDSA, .es384, .es512]
        let accepted = fitting.filter { accepted?.contains($0.rawValue) ?? true }
        return accepted.isEmpty ? fitting : accepted
    }

    private static func fitting(_ jwk: JSONObject) -> [SignatureAlgorithm] {
        switch (jwk["kty"]?.string, jwk["crv"]?.string) {
        case ("RSA", _): [.rs256, .ps256]
        case ("EC", "P-256"): [.es256]
        case ("EC", "P-384"): [.es384]
        case ("EC", "P-521"): [.es512]
        case ("OKP", _): [.edDSA]
        default: []
        }
    }
}

/// The audience of a client's assertions: the issuer (draft-ietf-oauth-rfc7523bis §4), or the token endpoint at
/// servers that accept no other value, as RFC 7523 §3 had it.
final class AssertionAudience: Sendable {
    private let endpoint: Mutex<Bool>

    /// Makes it as it was learned before.
    init(isEndpoint: Bool) { endpoint = Mutex(isEndpoint) }

    /// Whether it is the token endpoint.
    var isEndpoint: Bool { endpoint.withLock { $0 } }

    /// Whether a request is worth repeating for the token endpoint, which it is from now on: an assertion for the
    /// issuer was refused, and both are of one origin.
    func mayBeEndpoint(after response: HTTPResponse, of issuer: String, at place: URI?) -> Bool {
        guard !isEndpoint, Self.mayBeEndpoint(of: issuer, place), Self.isRefused(response) else {
            return false
        }
        endpoint.withLock { $0 = true }
        return true
    }

    /// Whether the token endpoint may be the audience: it is of the issuer's origin.
    static func mayBeEndpoint(of issuer: String?, _ place: URI?) -> Bool {
        guard let place, let issuer = issuer.flatMap(URI.init) else { return false }
        return issuer.origin == place.origin
    }

    /// Takes it back if the other audience was refused, too.
    func settle(by response: HTTPResponse) {
        if Self.isRefused(response) { endpoint.withLock { $0 = false } }
    }

    /// Whether a response says that the client is not who it says (RFC 6749 §5.2); glewlwyd says it without words.
    private static func isRefused(_ response: HTTPResponse) -> Bool {
        guard [400, 401, 403].contains(response.status) else { return false }
        guard let error = (try? JSONValue.parse(response.body))?.object?["error"]?.string else {
            return response.status != 400
        }
        return error == "invalid_client"
    }
}
