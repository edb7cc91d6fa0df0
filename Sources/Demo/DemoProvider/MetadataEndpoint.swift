import CredentialCore
import LoopbackHTTP
import StrictJSON

/// Discovery documents and key sets.
struct MetadataEndpoint: Sendable {
    /// The context that the endpoints share.
    let context: DemoContext

    /// The discovery document of a policy. Its issuer is not the URL it was fetched from (OpenID Connect Discovery
    /// §4.3 notwithstanding), as in Azure AD B2C.
    func discovery(_ route: DemoRoute, host: String) -> ServerResponse {
        context.count(\.discoveryRequests)
        let switches = context.switches
        let issuerHost = switches.discoveryIssuerHost.isEmpty ? host : switches.discoveryIssuerHost
        return .json(
            200,
            [
                "issuer": .string(context.issuer(host: issuerHost, policy: route.policy, switches: switches)),
                "authorization_endpoint": .string(route.url("oauth2/v2.0/authorize", host: host)),
                "token_endpoint": .string(route.url("oauth2/v2.0/token", host: host)),
                "end_session_endpoint": .string(route.url("oauth2/v2.0/logout", host: host)),
                "jwks_uri": .string(route.url("discovery/v2.0/keys", host: host)),
                "response_modes_supported": ["query", "fragment", "form_post"],
                "response_types_supported": ["code"],
                "scopes_supported": ["openid"],
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
                "claims_supported": [
                    "name", "emails", "idp", "sub", "tfp", "oid", "iss", "iat", "exp", "aud", "acr", "nonce",
                    "auth_time",
                ],
            ])
    }

    /// The key set; the keys have no `alg` unless a switch adds it.
    func keys() -> ServerResponse {
        context.count(\.keyRequests)
        let switches = context.switches
        guard switches.keysStatus == 200 else {
            return .text(Int(clamping: switches.keysStatus), "the key set is not available")
        }
        let keys = context.publishedKeys(switches).map { key -> JSONValue in
            var jwk: JSONObject = JSONObject()
            jwk["kid"] = .string(key.kid)
            jwk["nbf"] = 1_493_763_266
            jwk["use"] = "sig"
            for name in ["kty", "e", "n"] { jwk[name] = key.publicJWK[name] }
            if switches.keysHaveAlgorithm { jwk["alg"] = "RS256" }
            return .object(jwk)
        }
        return .json(200, ["keys": .array(keys)])
    }
}
