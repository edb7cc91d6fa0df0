import CredentialCore
import OAuth
import StrictJSON

/// The user that a token of B2C is about. Policies differ in the claims they give, so each fact has several places.
struct B2CIdentity {
    private let claims: IDTokenClaims
    private let profile: JSONObject?

    /// The `sub` of old tenants, the same for every user.
    private static let noSubject = "Not supported currently. Use oid claim."

    /// - Parameter profile: the result of ``profile(of:)``.
    init(claims: IDTokenClaims, profile: JSONObject?) {
        self.claims = claims
        self.profile = profile
    }

    /// The `profile_info` of a response; `nil` if it has no readable one. Any of its members may be `null`.
    static func profile(of reply: TokenResponse) -> JSONObject? {
        guard let text = reply.members["profile_info"]?.string, let bytes = Base64URL.decode(text) else {
            return nil
        }
        return (try? JSONValue.parse(bytes))?.object
    }

    /// The object id, else a real subject.
    var subject: String? {
        [claims.text("oid"), claims.subject, text("sub")].compactMap(\.self).first {
            !$0.isEmpty && $0 != Self.noSubject && $0.utf8.count <= 255
        }
    }

    /// The name the person signs in with.
    var username: String? {
        let first = claims.members["emails"]?.array?.lazy.compactMap(\.string).first { !$0.isEmpty }
        return first ?? claims.text("email") ?? claims.text("preferred_username")
            ?? claims.text("signInNames.emailAddress") ?? claims.text("signInName") ?? claims.text("upn")
            ?? text("preferred_username")
    }

    /// The person's name.
    var displayName: String? {
        if let name = claims.text("name") ?? text("name") { return name }
        let parts = [claims.text("given_name"), claims.text("family_name")].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    private func text(_ name: String) -> String? {
        profile?[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}
