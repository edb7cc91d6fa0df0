import CredentialCore
import LoopbackHTTP
import StrictJSON
import Synchronization

/// The check of the to-do API that a bearer token (RFC 6750) is good: signature, audience, issuer, times, policy.
struct BearerCheck: Sendable {
    /// The context that the endpoints share.
    let context: DemoContext
    /// The names the provider may be called by, with the port.
    let hosts: [String]

    /// Returns the owner of the list that the token opens: the object ID, else the subject. `nil` for a token that
    /// is not good.
    func owner(_ request: ServerRequest) -> String? {
        guard let header = request.value(of: "authorization"), header.lowercased().hasPrefix("bearer ") else {
            return nil
        }
        let token = String(header.dropFirst(7))
        guard !context.state.withLock({ $0.expiredTokens.contains(token) }) else { return nil }
        guard let claims = verifiedClaims(token), isForUs(claims), isCurrent(claims) else { return nil }
        guard let name = (claims["tfp"] ?? claims["acr"])?.string, let policy = context.policy(name),
            let issuer = claims["iss"]?.string, isOurs(issuer, policy)
        else { return nil }
        return claims["oid"]?.string ?? claims["sub"]?.string
    }

    private func verifiedClaims(_ token: String) -> JSONObject? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = object(parts[0]), header["alg"]?.string == "RS256",
            let signature = Base64URL.decode(parts[2])
        else { return nil }
        let kid = header["kid"]?.string
        guard let key = context.publishedKeys(context.switches).first(where: { $0.kid == kid }) else { return nil }
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        let isGenuine =
            (try? context.cryptography.verify(signature, of: message, algorithm: .rs256, key: key.publicJWK))
            ?? false
        return isGenuine ? object(parts[1]) : nil
    }

    private func object(_ part: String) -> JSONObject? {
        guard let bytes = Base64URL.decode(part) else { return nil }
        return (try? JSONValue.parse(bytes))?.object
    }

    private func isForUs(_ claims: JSONObject) -> Bool {
        let audiences = claims["aud"]?.array?.compactMap(\.string) ?? [claims["aud"]?.string].compactMap { $0 }
        let known = context.configuration.clients.map(\.id) + [context.configuration.api.clientID]
        return audiences.contains(where: known.contains)
    }

    private func isCurrent(_ claims: JSONObject) -> Bool {
        guard let expires = claims["exp"]?.integer else { return false }
        let now = context.now.epochSeconds
        return now < expires && (claims["nbf"]?.integer ?? 0) <= now
    }

    private func isOurs(_ issuer: String, _ policy: DemoPolicy) -> Bool {
        hosts.contains {
            ConstantTime.equal(context.issuer(host: $0, policy: policy, switches: context.switches), issuer)
        }
    }
}
