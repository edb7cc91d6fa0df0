import CredentialCore
import OAuth
import StrictJSON

/// The way through another policy when the user has forgotten the password. B2C ends the sign-in with AADB2C90118,
/// and the application has to run the policy that resets passwords, and then the sign-in again.
struct PasswordReset {
    /// The request for the policy that resets passwords.
    let request: SignInRequest

    private static let underWayKey = "resets_password"
    private static let overKey = "has_reset_password"

    /// Whether a refusal asks for it, and the type has a policy for it. Once for each sign-in: who forgets the new
    /// password too begins again.
    ///
    /// - Throws: ``ErrorCode/usage``, ``ErrorCode/configuration`` for a policy that cannot be found.
    init?(for refusal: OAuthError, of request: SignInRequest, pending: JSONObject) throws(CredentialError) {
        guard let reason = B2CErrorDetail(refusal), reason.number == B2CErrorDetail.forgottenPassword,
            pending[Self.overKey] == nil, let name = request.type.passwordResetPolicy
        else { return nil }
        let policy = try B2CPolicy.named(name, of: request.type).canonical
        guard policy != request.policy else { return nil }
        var reset = request
        reset.policy = policy
        reset.loginHint = request.loginHint ?? reason.facts["login_hint"]
        self.request = reset
    }

    /// Whether the pending sign-in is in the policy that resets passwords.
    static func isUnderWay(_ pending: JSONObject) -> Bool { pending[underWayKey] == true }

    /// Marks the step that runs the policy.
    static func underWay(_ step: SignInStep) -> SignInStep { mark(step, underWayKey) }

    /// Marks the step that signs in after it.
    static func over(_ step: SignInStep) -> SignInStep { mark(step, overKey) }

    private static func mark(_ step: SignInStep, _ key: String) -> SignInStep {
        guard case .interaction(let interaction, var pending) = step else { return step }
        pending[key] = true
        return .interaction(interaction, pending: pending)
    }
}
