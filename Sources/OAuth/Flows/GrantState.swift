package import CredentialCore
package import StrictJSON

/// What every grant keeps in ``Grant/adapterState``: the subject, the scopes of the sign-in, and the provider's
/// endpoints, so that a refresh needs no discovery.
package enum GrantState {
    /// The `sub` of the id token.
    static let subject = "sub"
    private static let scope = "requested_scope"
    private static let base = "type_scope"
    private static let authentication = "requested_authentication"
    private static let pinned = "metadata"
    private static let issuer = "issuer"
    private static let algorithms = "algorithms"
    private static let methods = "auth_methods"
    private static let assertionAlgorithms = "assertion_algorithms"
    private static let endpointAudience = "endpoint_audience"
    private static let obtainedAt = "obtained_at"

    /// Seconds until the endpoints are discovered again.
    private static let pinLifetime: Int64 = 604_800

    /// The state of a new grant.
    ///
    /// - Parameters:
    ///   - base: the scopes of the type, where the sign-in asked for more: whoever asks for those has all of them.
    ///   - parameters: those of the authorization request.
    static func make(
        claims: IDTokenClaims?, scope: [String], base: [String]?, parameters: [String: String],
        metadata: ServerMetadata, now: Instant, also: JSONObject
    ) -> JSONObject {
        var state = also
        state[Self.base] = base.map { JSONValue($0) }
        var asked = JSONObject()
        for name in authenticationParameters { asked[name] = parameters[name].map(JSONValue.string) }
        if !asked.isEmpty {
            asked[obtainedAt] = .integer(now.epochSeconds)
            state[authentication] = .object(asked)
        }
        state[subject] = claims.map { .string($0.subject) }
        state[self.scope] = JSONValue(scope)
        state[pinned] = .object(pin(metadata, now: now))
        return state
    }

    /// Keeps newer metadata where that of `state` has grown too old.
    static func repin(_ state: inout JSONObject, metadata: ServerMetadata, now: Instant) {
        if Self.metadata(in: state, now: now) == nil { state[pinned] = .object(pin(metadata, now: now)) }
    }

    // MARK: The provider's own fields

    private static let replyFields = "reply_fields"

    /// The members of a token reply that have a place of their own, or say nothing for longer than it.
    private static let knownFields: Set<String> = [
        "access_token", "token_type", "expires_in", "expires_on", "ext_expires_in", "not_before", "refresh_token",
        "refresh_token_expires_in", "refresh_expires_in", "refresh_token_expires_at", "id_token",
        "id_token_expires_in", "scope", "state", "session_state", "client_info", "profile_info",
        "issued_token_type",
    ]
    /// The most of them that is kept, in bytes of JSON: a record should stay small.
    private static let longestFields = 16 << 10

    /// Keeps the members of a reply that no standard knows, as the address of an instance, or the id of a team. A reply
    /// without any leaves those from before.
    static func keepFields(of reply: JSONObject, in state: inout JSONObject) {
        var fields = JSONObject()
        for (name, value) in reply.members where !knownFields.contains(name) { fields[name] = value }
        guard !fields.isEmpty, JSONValue.object(fields).bytes().count <= longestFields else { return }
        state[replyFields] = .object(fields)
    }

    /// What ``keepFields(of:in:)`` kept.
    package static func fields(in state: JSONObject) -> JSONObject { state[replyFields]?.object ?? JSONObject() }

    private static let authenticationParameters = ["acr_values", "claims", "max_age"]

    /// The scopes that the sign-in asked for; `nil` where that is not known.
    package static func requestedScope(in state: JSONObject) -> [String]? { words(scope, in: state) }

    /// Whether the scopes are those of the sign-in, or of the type that it asked for more than.
    static func isScope(_ scope: [String], of state: JSONObject) -> Bool {
        [words(self.scope, in: state), words(base, in: state)].contains { $0.map(Set.init) == Set(scope) }
    }

    /// The scopes that a request for `scope` is for: those of the sign-in, where that asked for more than its type.
    static func widened(_ scope: [String], by state: JSONObject) -> [String] {
        guard let base = words(base, in: state), Set(base) == Set(scope) else { return scope }
        return requestedScope(in: state) ?? scope
    }

    /// Whether the sign-in asked for what a resource demands now, and is not too old for it.
    static func wasAsked(_ demand: StepUp, in state: JSONObject, now: Instant) -> Bool {
        guard let asked = state[authentication]?.object, let time = asked[obtainedAt]?.integer else { return false }
        let age = now.seconds(since: Instant(epochSeconds: time))
        return demand.parameters.allSatisfy { asked[$0.key]?.string == $0.value }
            && demand.maximumAge.map { age <= $0 } ?? true
    }

    private static func words(_ name: String, in state: JSONObject) -> [String]? {
        state[name]?.array?.compactMap(\.string)
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
        metadata.wantsEndpointAudience = kept[endpointAudience] == true
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
        if metadata.wantsEndpointAudience { kept[endpointAudience] = true }
        return kept
    }
}
