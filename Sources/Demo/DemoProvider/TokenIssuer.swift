import CredentialCore
import LoopbackHTTP
import StrictJSON
import Synchronization

/// Makes the tokens and the token reply (RFC 6749 §5.1, with Azure AD B2C's additions).
struct TokenIssuer: Sendable {
    /// The context that the endpoints share.
    let context: DemoContext
    /// The name the provider was called by, with the port.
    let host: String

    /// The reply for a grant.
    ///
    /// - Parameter givesRefreshToken: whether it has a new refresh token.
    func reply(
        _ grant: DemoGrant, user: DemoUser, scopes: DemoScopes, givesRefreshToken: Bool
    ) throws(CredentialError) -> JSONObject {
        let switches = context.switches, now = context.now
        var audience = scopes.audience
        if audience == nil, !switches.idTokenOnlyWithoutResource { audience = grant.clientID }
        let issuer = context.issuer(host: host, policy: grant.policy, switches: switches)
        var reply = JSONObject()
        var accessToken: String?
        if let audience {
            var claims = userClaims(grant, user, issuer: issuer, switches)
            claims["aud"] = .string(audience)
            claims["azp"] = .string(grant.clientID)
            if !scopes.permissions.isEmpty {
                claims["scp"] = .string(scopes.permissions.joined(separator: " "))
            }
            let token = try sign(&claims, lifetime: switches.accessTokenLifetime, switches)
            accessToken = token
            reply["access_token"] = .string(token)
            addAccessFacts(to: &reply, audience: audience, switches)
        }
        if scopes.requested.contains("openid") {
            var claims = userClaims(grant, user, issuer: issuer, switches)
            claims["aud"] = .string(grant.clientID)
            claims["auth_time"] = .integer(grant.signedInAt.epochSeconds)
            if let nonce = grant.nonce { claims["nonce"] = .string(nonce) }
            if let accessToken {
                let digest = try context.cryptography.sha256(Array(accessToken.utf8))
                claims["at_hash"] = .string(Base64URL.encode(Array(digest.prefix(16))))
            }
            reply["id_token"] = .string(try idToken(&claims, switches))
            reply["id_token_expires_in"] = number(switches.idTokenLifetime, switches)
        }
        reply["token_type"] = "Bearer"
        reply["not_before"] = number(now.epochSeconds, switches)
        addUserFacts(to: &reply, grant, user, switches)
        reply["scope"] = .string(Self.granted(scopes.requested))
        if givesRefreshToken {
            let token = "eyJraWQiOiJjcGltY29yZV8wOTI1MjAxNSJ9." + context.random.urlSafeToken()
            context.state.withLock { $0.refreshTokens[token] = DemoRefreshToken(grant: grant, issuedAt: now) }
            reply["refresh_token"] = .string(token)
            reply["refresh_token_expires_in"] = number(switches.refreshTokenLifetime, switches)
        }
        return reply
    }

    /// The reply for a client's own credentials: no id token, no refresh token.
    func clientReply(_ client: DemoClient, policy: DemoPolicy) throws(CredentialError) -> JSONObject {
        let switches = context.switches
        let audience = context.configuration.api.clientID
        var claims = JSONObject()
        claims["iss"] = .string(context.issuer(host: host, policy: policy, switches: switches))
        claims["ver"] = "1.0"
        claims["aud"] = .string(audience)
        claims["azp"] = .string(client.id)
        claims["sub"] = .string(client.id)
        claims[switches.policyInACR ? "acr" : "tfp"] = .string(policy.name)
        var reply = JSONObject()
        reply["access_token"] = .string(try sign(&claims, lifetime: switches.accessTokenLifetime, switches))
        reply["token_type"] = "Bearer"
        reply["not_before"] = number(context.now.epochSeconds, switches)
        addAccessFacts(to: &reply, audience: audience, switches)
        return reply
    }

    private func addAccessFacts(to reply: inout JSONObject, audience: String, _ switches: DemoSwitches) {
        reply["expires_in"] = number(switches.accessTokenLifetime, switches)
        reply["expires_on"] = number(
            context.now.adding(switches.accessTokenLifetime).epochSeconds, switches)
        reply["resource"] = .string(audience)
    }

    private func addUserFacts(
        to reply: inout JSONObject, _ grant: DemoGrant, _ user: DemoUser, _ switches: DemoSwitches
    ) {
        let tenant = context.configuration.tenantID
        let hasNulls = switches.profileInfoHasNulls
        let profile: JSONValue = [
            "ver": "1.0", "tid": .string(tenant), "sub": hasNulls ? .null : .string(user.objectID),
            "name": .string(user.name), "preferred_username": hasNulls ? .null : .string(user.email), "idp": .null,
        ]
        reply["profile_info"] = .string(Base64URL.encode(profile.bytes()))
        if switches.includesClientInfo {
            let info: JSONValue = [
                "uid": .string("\(user.objectID)-\(grant.policy.name.lowercased())"), "utid": .string(tenant),
            ]
            reply["client_info"] = .string(Base64URL.encode(info.bytes()))
        }
    }

    private func userClaims(
        _ grant: DemoGrant, _ user: DemoUser, issuer: String, _ switches: DemoSwitches
    ) -> JSONObject {
        var claims = JSONObject()
        claims["ver"] = "1.0"
        claims["iss"] = .string(issuer)
        claims["sub"] = switches.oldSubject ? "Not supported currently. Use oid claim." : .string(user.objectID)
        claims["oid"] = .string(user.objectID)
        claims["name"] = .string(user.name)
        claims["emails"] = .array([.string(user.email)])
        if grant.policy.kind == .facebook { claims["idp"] = "facebook.com" }
        if grant.policy.kind == .signUp { claims["newUser"] = true }
        if switches.includesTenantClaim { claims["tid"] = .string(context.configuration.tenantID) }
        claims[switches.policyInACR ? "acr" : "tfp"] = .string(grant.policy.name)
        return claims
    }

    /// Signs an id token, with the fault that is asked for.
    private func idToken(_ claims: inout JSONObject, _ switches: DemoSwitches) throws(CredentialError) -> String {
        let elsewhere = "another"
        var lifetime = switches.idTokenLifetime
        switch switches.idTokenFault {
        case .none, .signature, .unsigned: break
        case .issuer: claims["iss"] = .string((claims["iss"]?.string ?? "") + elsewhere)
        case .audience: claims["aud"] = .string(elsewhere)
        case .nonce: claims["nonce"] = .string(elsewhere)
        case .expired: lifetime = -3_600
        case .policy: claims[switches.policyInACR ? "acr" : "tfp"] = .string(elsewhere)
        }
        let token = try sign(&claims, lifetime: lifetime, switches)
        let parts = token.split(separator: ".")
        switch switches.idTokenFault {
        case .signature:
            claims["name"] = .string(elsewhere)
            return "\(parts[0]).\(Base64URL.encode(JSONValue.object(claims).bytes())).\(parts[2])"
        case .unsigned: return "\(Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))).\(parts[1])."
        default: return token
        }
    }

    /// Signs claims (RFC 7519) and lets the to-do API accept the token.
    private func sign(
        _ claims: inout JSONObject, lifetime: Int64, _ switches: DemoSwitches
    ) throws(CredentialError) -> String {
        let now = context.now
        claims["iat"] = .integer(now.epochSeconds)
        claims["nbf"] = .integer(now.epochSeconds)
        claims["exp"] = .integer(now.adding(lifetime).epochSeconds)
        // Two tokens of one second must differ: refreshing is seen by the token.
        claims["jti"] = .string(context.guid())
        let key = context.signingKey(switches)
        let header: JSONValue = [
            "alg": "RS256", "kid": .string(switches.unknownKid ? "unknown-key" : key.kid), "typ": "JWT",
        ]
        let input = Base64URL.encode(header.bytes()) + "." + Base64URL.encode(JSONValue.object(claims).bytes())
        let signature = try context.cryptography.sign(
            Array(input.utf8), algorithm: .rs256, privateKey: key.privateKey)
        let token = input + "." + Base64URL.encode(signature)
        context.state.withLock { _ = $0.liveTokens.insert(token) }
        return token
    }

    private func number(_ value: Int64, _ switches: DemoSwitches) -> JSONValue {
        switches.numbersAsStrings ? .string(String(value)) : .integer(value)
    }

    /// Resource scopes first, as Azure AD B2C writes them.
    private static func granted(_ scopes: [String]) -> String {
        let tail = ["offline_access", "openid"]
        return (scopes.filter { !tail.contains($0) } + tail.filter(scopes.contains)).joined(separator: " ")
    }
}
