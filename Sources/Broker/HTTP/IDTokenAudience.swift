public import CredentialCore
import StrictJSON

/// The `aud` of an ID token (OpenID Connect Core 1.0 §2), which its provider's code has checked before.
public enum IDTokenAudience {
    /// Whether an ID token is for an audience.
    ///
    /// - Returns: `false` also for text that is not a JWT.
    public static func contains(_ audience: String, in token: Secret) -> Bool {
        let parts = token.reveal().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(String(parts[1])),
            let claim = (try? JSONValue.parse(bytes))?.object?["aud"]
        else { return false }
        return (claim.array ?? [claim]).contains { $0 == .string(audience) }
    }
}
