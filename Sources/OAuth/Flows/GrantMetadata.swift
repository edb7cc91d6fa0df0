import CredentialCore
package import StrictJSON

/// The members that every grant has in ``Grant/adapterState``, such as the subject and the scopes of the sign-in.
///
/// A grant stores no endpoint and no key set: an archive or another host of a shared group can write a grant, and
/// would decide by it to which address refresh tokens go. Endpoints come from the definition and from the issuer's
/// metadata alone.
package enum GrantMetadata {
    /// The `sub` of the id token.
    static let subject = "sub"
    private static let scope = "requested_scope"
    private static let base = "type_scope"
    private static let authentication = "requested_authentication"
    /// The provider's endpoints, in the grants of earlier versions: never read.
    private static let pinned = "metadata"
    private static let leavesResourceOut = "leaves_resource_out"
    private static let endpointAudience = "endpoint_audience"
    private static let obtainedAt = "obtained_at"

    /// The state of a new grant.
    ///
    /// - Parameters:
    ///   - base: the scopes of the type, if the sign-in requested more: a request for the type's scopes gets all of
    ///     them.
    ///   - parameters: those of the authorization request.
    static func make(
        claims: IDTokenClaims?, scope: [String], base: [String]?, parameters: [String: String],
        now: Timestamp, also: JSONObject
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
        return state
    }

    /// Keeps whether the provider accepts clients' assertions for its token endpoint only, and drops the entries of
    /// earlier versions.
    static func keep(wantsEndpointAudience: Bool, in state: inout JSONObject) {
        state[pinned] = nil
        state[endpointAudience] = wantsEndpointAudience ? true : nil
    }

    /// Returns the value that ``keep(wantsEndpointAudience:in:)`` kept.
    static func wantsEndpointAudience(_ state: JSONObject) -> Bool { state[endpointAudience] == true }
    /// Whether the provider refuses a refresh that names the resource of the sign-in.
    static func refusesResource(_ state: JSONObject) -> Bool { state[leavesResourceOut] == true }

    /// Notes that it does.
    static func noteRefusedResource(in state: inout JSONObject) { state[leavesResourceOut] = true }

    // MARK: The provider's own fields

    private static let replyFields = "reply_fields"

    /// The members of a token response that have a place of their own, or whose values last no longer than the
    /// response.
    private static let knownFields: Set<String> = [
        "access_token", "token_type", "expires_in", "expires_on", "ext_expires_in", "not_before", "refresh_token",
        "refresh_token_expires_in", "refresh_expires_in", "refresh_token_expires_at", "id_token",
        "id_token_expires_in", "scope", "state", "session_state", "client_info", "profile_info",
        "issued_token_type",
    ]
    /// The most of them that is kept, in bytes of JSON: a record should stay small.
    private static let longestFields = 16 << 10

    /// Keeps the members of a reply that no standard knows, as the address of an instance, or the id of a team. A
    /// reply without any leaves those from before.
    static func keepFields(of reply: JSONObject, in state: inout JSONObject) {
        var fields = JSONObject()
        for (name, value) in reply.members where !knownFields.contains(name) { fields[name] = value }
        guard !fields.isEmpty, JSONValue.object(fields).bytes().count <= longestFields else { return }
        state[replyFields] = .object(fields)
    }

    /// Returns the fields that ``keepFields(of:in:)`` kept.
    package static func fields(in state: JSONObject) -> JSONObject { state[replyFields]?.object ?? JSONObject() }

    private static let authenticationParameters = ["acr_values", "claims", "max_age"]

    /// The scopes that the sign-in requested; `nil` if that is not known.
    package static func requestedScope(in state: JSONObject) -> [String]? { words(scope, in: state) }

    /// Whether the scopes are those of the sign-in, or of the type that it asked for more than.
    static func isScope(_ scope: [String], of state: JSONObject) -> Bool {
        [words(self.scope, in: state), words(base, in: state)].contains { $0.map(Set.init) == Set(scope) }
    }

    /// The scopes that a request for `scope` is for: those of the sign-in, if it requested more than its type.
    static func widened(_ scope: [String], by state: JSONObject) -> [String] {
        guard let base = words(base, in: state), Set(base) == Set(scope) else { return scope }
        return requestedScope(in: state) ?? scope
    }

    /// Whether the sign-in requested the resource's present demand, and is not too old for it.
    static func wasAsked(_ demand: StepUp, in state: JSONObject, now: Timestamp) -> Bool {
        guard let asked = state[authentication]?.object, let time = asked[obtainedAt]?.integer else { return false }
        let age = now.seconds(since: Timestamp(epochSeconds: time))
        return demand.parameters.allSatisfy { asked[$0.key]?.string == $0.value }
            && demand.maximumAge.map { age <= $0 } ?? true
    }

    private static func words(_ name: String, in state: JSONObject) -> [String]? {
        state[name]?.array?.compactMap(\.string)
    }
}
