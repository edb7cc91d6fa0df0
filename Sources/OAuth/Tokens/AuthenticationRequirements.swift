import CredentialCore
import StrictJSON

/// How a sign-in asked that the person authenticate: `acr_values` (OpenID Connect Core §3.1.2.1, RFC 9470 §4), and
/// `acr` of the parameter `claims` (§5.5.1.1).
package struct AuthenticationRequirements: Sendable, Hashable {
    /// The classes of authentication that do; empty if the sign-in did not require a class.
    package private(set) var classes: [String] = []
    /// Whether an id token has to say its class.
    package private(set) var isEssential = false

    /// Requires no particular authentication.
    package init() {}

    /// Reads the parameters of an authorization request.
    package init(_ parameters: [String: String]) {
        classes = Scope.words(parameters["acr_values"] ?? "")
        let claims = parameters["claims"].flatMap { try? JSONValue.parse($0) }?.object
        guard let asked = claims?["id_token"]?.object?["acr"]?.object else { return }
        isEssential = asked["essential"] == true
        classes += asked["value"]?.string.map { [$0] } ?? []
        classes += asked["values"]?.array?.compactMap(\.string) ?? []
    }

    /// Checks the claims of an id token. One that does not say its class passes unless that was essential:
    /// providers need not tell.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` for a sign-in of another class.
    func check(_ claims: JSONObject) throws(CredentialError) {
        guard !classes.isEmpty else { return }
        let wanted = UntrustedText.shown(classes.joined(separator: " "), limit: 200)
        guard let reached = try claims.text("acr", of: .idToken), !reached.isEmpty else {
            guard isEssential else { return }
            throw CompactJWT.refused(
                "it has no acr, but '\(wanted)' was requested")
        }
        guard classes.contains(reached) else {
            throw CompactJWT.refused(
                "its acr is '\(UntrustedText.shown(reached, limit: 100))', but '\(wanted)' was requested")
        }
    }
}
