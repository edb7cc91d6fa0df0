package import CredentialCore
package import StrictJSON

/// What every grant keeps in ``Grant/adapterState``: the subject, the scopes of the sign-in, and the provider's
/// endpoints, so that a refresh needs no discovery.
package enum GrantState {
    /// The `sub` of the id token.
    static let subject = "sub"
    private static let scope = "requested_scope"
    private static let pinned = "metadata"
    private static let issuer = "issuer"
    private static let algorithms = "algorithms"
    private static let methods = "auth_methods"
    private static let assertionAlgorithms = "assertion_algorithms"
    private static let obtainedAt = "obtained_at"

    /// Seconds until the endpoints are discovered again.
    private static let pinLifetime: Int64 = 604_800

    /// The state of a new grant.
    static func make(
        claims: IDTokenClaims?, scope: [String], metadata: ServerMetadata, now: Instant, also: JSONObject
    ) -> JSONObject {
        var state = also
        state[subject] = claims.map { .string($0.subject) }
        state[self.scope] = JSONValue(scope)
        state[pinned] = .object(pin(metadata, now: now))
        return state
    }

    /// Keeps newer metadata where that of `state` has grown too old.
    static func repin(_ state: inout JSONObject, metadata: ServerMetadata, now: Instant) {
        if Self.metadata(in: state, now: now) == nil { state[pinned] = .object(pin(metadata, now: now)) }
    }

    /// Whether the scopes are those of the sign-in.
    static func isScope(_ scope: [String], of state: JSONObject) -> Bool {
        guard let kept = state[self.scope]?.array else { return false }
        return Set(kept.compactMap(\.string)) == Set(scope)
    }

    /// The provider's metadata as kept in a grant; `nil` when there is none or it is older than a week.
    package static func metadata(in state: JSONObject, now: Instant) -> ServerMetadata? {
        guard let kept = state[pinned]?.object, let time = kept[obtainedAt]?.integer,
            (0..<pinLifetime).contains(now.seconds(since: Instant(epochSeconds: time)))
        else { return nil }
        var metadata = ServerMetadata(issuer: kept[issuer]?.string)
        for endpoint in AccountType.Endpoint.allCases {
            metadata.endpoints[endpoint] = kept[endpoint.rawValue]?.string.flatMap(WebAddress.init)
        }
        metadata.signingAlgorithms =
            kept[algorithms]?.array?.compactMap(\.string).compactMap(SignatureAlgorithm.init) ?? []
        metadata.authenticationMethods = kept[methods]?.array?.compactMap(\.string)
        metadata.assertionAlgorithms = kept[assertionAlgorithms]?.array?.compactMap(\.string)
        return metadata
    }

    /// Keeps only what a refresh, a revocation and a sign-out need: the record should stay small.
    private static func pin(_ metadata: ServerMetadata, now: Instant) -> JSONObject {
        var kept = JSONObject()
        kept[obtainedAt] = .integer(now.epochSeconds)
        kept[issuer] = metadata.issuer.map { .string($0) }
        for endpoint in [AccountType.Endpoint.token, .jwks, .revocation, .introspection, .endSession] {
            kept[endpoint.rawValue] = metadata.endpoints[endpoint].map { .string($0.description) }
        }
        kept[algorithms] = JSONValue(metadata.signingAlgorithms.map(\.rawValue))
        kept[assertionAlgorithms] = metadata.assertionAlgorithms.map { JSONValue($0) }
        kept[methods] = metadata.authenticationMethods.map { JSONValue($0) }
        return kept
    }
}
