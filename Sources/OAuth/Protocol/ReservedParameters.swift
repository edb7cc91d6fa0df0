package import CredentialCore
import StrictJSON

/// Names of parameters and header fields that a type's extra ones must not take, because the product decides them.
package enum ReservedParameters {
    private static let parameters: Set<String> = [
        "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "username",
        "password", "redirect_uri", "code", "assertion", "assertion_type", "response_type", "scope", "state",
        "nonce", "code_challenge", "code_challenge_method", "code_verifier", "refresh_token", "device_code",
        "subject_token", "subject_token_type", "actor_token", "actor_token_type", "request", "request_uri",
        "response_mode", "dpop_jkt",
    ]

    /// The parameters that a sign-in sets by options of its own, in addition to ``parameters``.
    private static let ofSignIn = [
        "prompt": "--prompt", "login_hint": "--login-hint", "resource": "--resource",
        "audience": "audience in the account type",
    ]

    private static let headers: Set<String> = [
        "authorization", "accept", "content-type", "content-length", "host", "cookie", "connection",
        "transfer-encoding", "proxy-authorization", "dpop",
    ]

    /// Checks the extra parameters and header fields of a type.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key.
    package static func check(_ type: AccountType) throws(CredentialError) {
        for (part, extra) in [("authorize", type.authorizeParameters), ("token", type.tokenParameters)] {
            if let name = extra.keys.sorted().first(where: { parameters.contains($0) || $0.isEmpty }) {
                throw CredentialError(
                    .configuration,
                    "account type '\(type.name)': extra_parameters.\(part) must not set '\(name)'",
                    hint: "remove the parameter: it has a key of its own, or credmgr sets it for each request")
            }
        }
        for (name, value) in type.headers.sorted(by: { $0.key < $1.key }) {
            guard isToken(name), !headers.contains(name.lowercased()) else {
                throw CredentialError(
                    .configuration,
                    "account type '\(type.name)': headers must not set '\(UntrustedText.shown(name, limit: 60))'")
            }
            guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw CredentialError(
                    .configuration, "account type '\(type.name)': headers.\(name) holds a control character")
            }
        }
    }

    /// Checks the extra parameters of one sign-in.
    ///
    /// - Throws: ``ErrorCode/usage``, naming the parameter.
    package static func check(signIn extra: [String: String]) throws(CredentialError) {
        for name in extra.keys.sorted() {
            let word = name.lowercased()
            guard parameters.contains(word) || ofSignIn[word] != nil else { continue }
            throw CredentialError(
                .usage, "--param cannot set '\(name)': credmgr sets this parameter itself",
                hint: ofSignIn[word].map { "use \($0)" })
        }
        if let claims = extra["claims"], (try? JSONValue.parse(claims))?.object == nil {
            throw CredentialError(.usage, "the requested claims must be a JSON object")
        }
    }

    /// Whether a name is an HTTP token (RFC 9110 §5.6.2).
    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains($0)
                }
            }
    }
}
