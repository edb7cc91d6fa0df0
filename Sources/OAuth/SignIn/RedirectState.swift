import CredentialCore

/// The `state` of a redirect, by which a pending sign-in is found before anything else of it is believed.
package enum RedirectState {
    /// The state in a redirected URL.
    package static func value(in redirected: String) -> String? { AuthorizationResponse.state(in: redirected) }

    /// Whether a redirected URL carries `state`.
    package static func isPresent(_ state: String, in redirected: String) -> Bool {
        value(in: redirected).map { ConstantTime.equal($0, state) } ?? false
    }
}
