extension AccountStore {
    /// The prompt of the provider to the user at a sign-in: ADAL's `promptBehavior`, and any other value of
    /// `prompt` (OpenID Connect Core §3.1.2.1).
    public enum Prompt: Sendable, Hashable {
        /// The prompt that is needed; no prompt if the browser has a session. No `prompt` is sent.
        case auto
        /// To sign in again, even if the browser has a session: `login`.
        case always
        /// No prompt; the sign-in fails with ``CredentialCore/ErrorCode/signInRequired`` if the provider would have
        /// to ask: `none`.
        case silent
        /// This value, as the provider knows it: `select_account`, `consent`.
        case raw(String)

        /// The value of `prompt`.
        var parameter: String? {
            switch self {
            case .auto: nil
            case .always: "login"
            case .silent: "none"
            case .raw(let value): value
            }
        }
    }
}
