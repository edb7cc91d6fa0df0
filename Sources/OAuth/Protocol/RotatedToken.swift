import CredentialCore
import StrictJSON

/// The new refresh token of a response to a refresh, found by a lenient reading that has no other use.
///
/// It is saved before the response is judged: if the provider rotates refresh tokens, a response that is refused
/// holds the only valid one.
struct RotatedToken {
    /// The one plausible new refresh token; `nil` if there is no such token, or more than one.
    let token: Secret?
    /// The ID token, as it is in the response.
    let idToken: String?
    /// Whether there is more than one ID token: the user of the response is unknown then.
    let hasSeveralIDTokens: Bool

    /// Lengths of refresh tokens, in bytes.
    private static let lengths = 8...16_384

    /// Reads a response.
    ///
    /// - Parameter sent: the refresh token and the secrets of the request: an echo of one is no new token.
    /// - Returns: `nil` for a response that refused the request.
    init?(_ response: HTTPResponse, sent: [String]) {
        guard (200..<300).contains(response.status) else { return nil }
        let mediaType = response.value(of: "content-type")?.lowercased() ?? ""
        let reply = LenientReply(
            response.body, isForm: mediaType.hasPrefix("application/x-www-form-urlencoded"),
            isCut: response.fault != nil)
        if !reply.errors.isEmpty || reply.values["ok"] == ["false"] { return nil }
        if mediaType.hasPrefix("text/html"), !reply.hasObject { return nil }
        let others = Set(sent + (reply.values["access_token"] ?? []) + (reply.values["id_token"] ?? []))
        let candidates = reply.values["refresh_token"] ?? []
        token =
            candidates.count == 1 && Self.isPlausible(candidates[0]) && !others.contains(candidates[0])
                && !sent.contains(where: { $0.hasPrefix(candidates[0]) })
            ? Secret(candidates[0]) : nil
        hasSeveralIDTokens = (reply.values["id_token"] ?? []).count > 1
        idToken = reply.values["id_token"].flatMap { $0.count == 1 ? $0[0] : nil }
    }

    /// Whether a text can be a refresh token: visible ASCII (RFC 6749 appendix A.17), and no placeholder for one,
    /// such as `***` or `<redacted>`.
    private static func isPlausible(_ text: String) -> Bool {
        guard lengths.contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            Set(text.utf8).count > 3
        else { return false }
        let isBracketed = [("<", ">"), ("[", "]"), ("{", "}"), ("(", ")")].contains {
            text.hasPrefix($0.0) && text.hasSuffix($0.1)
        }
        let word = text.lowercased()
        return !isBracketed && !["***", "redacted", "filtered", "masked"].contains { word.contains($0) }
    }

    /// Whether the ID token names another subject or issuer than these, verified or not. If one is not known, any
    /// value will do.
    func isForeign(subject: String?, issuer: String?) -> Bool {
        guard let parts = idToken?.split(separator: "."), parts.count == 3,
            let claims = Base64URL.decode(String(parts[1])).flatMap({ try? JSONValue.parse($0).object })
        else { return false }
        func differs(_ name: String, from known: String?) -> Bool {
            guard let known, let claimed = claims[name]?.string else { return false }
            return claimed != known
        }
        return differs("sub", from: subject) || differs("iss", from: issuer)
    }
}
