extension AccountStore {
    /// The prompt of the provider to the user at a sign-in: ADAL's `promptBehavior`, and any other value of
    /// `prompt` (OpenID Connect Core §3.1.2.1).
    public enum Prompt: Sendable, Hashable {
        /// The prompt that is needed: none if the browser has a session. No `prompt` is sent.
        case auto
        /// To sign in anew, whatever the browser remembers: `login`.
        case always
        /// Nothing; the sign-in fails with ``CredentialCore/ErrorCode/signInRequired`` where something would be asked: `none`.
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
