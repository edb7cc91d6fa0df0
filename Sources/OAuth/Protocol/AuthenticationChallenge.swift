package import CredentialCore
import StrictJSON

/// One challenge of `WWW-Authenticate` (RFC 9110 §11.6.1), `Bearer` ones above all (RFC 6750 §3).
package struct AuthenticationChallenge: Sendable, Equatable {
    /// The scheme in lower case.
    package let scheme: String
    /// Its parameters, names in lower case; of a repeated one the first counts.
    package let parameters: [String: String]

    /// The challenges of all `WWW-Authenticate` fields of a response. A malformed challenge is skipped, so that a
    /// sloppy server still gets its one refresh.
    package static func parse(_ fields: [String]) -> [AuthenticationChallenge] {
        fields.flatMap { field in
            var reader = ChallengeReader(field)
            return reader.challenges()
        }
    }

    /// Whether a new access token may help: a `Bearer` or `DPoP` challenge, unless it says that the request is
    /// wrong, or that it takes another sign-in.
    package var asksForFreshToken: Bool {
        isForToken && stepUp == nil
            && !["invalid_request", "use_dpop_nonce", "invalid_dpop_proof"].contains(parameters["error"] ?? "")
    }

    /// The parameters that a new sign-in has to request, if the challenge means that no token of this one will do.
    /// They are a wider scope (RFC 6750 §3.1), another authentication (RFC 9470 §3), or claims (as Microsoft Entra
    /// ID challenges).
    package var stepUp: StepUp? {
        guard isForToken else { return nil }
        let claims = parameters["claims"].flatMap(Self.claims)
        switch parameters["error"] {
        case "insufficient_scope":
            return StepUp(scope: Scope.distinct([parameters["scope"] ?? ""]).filter(Scope.isValid), claims: claims)
        case "insufficient_user_authentication":
            return StepUp(
                acrValues: parameters["acr_values"].flatMap(Self.shownWhole),
                maximumAge: parameters["max_age"].flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 },
                claims: claims)
        default: return claims.map { StepUp(claims: $0) }
        }
    }

    private var isForToken: Bool { ["bearer", "dpop"].contains(scheme) }

    /// A claims request: a JSON object, as it is or coded as base64.
    private static func claims(_ text: String) -> String? {
        let decoded = Base64URL.decodeOrdinary(text) ?? Base64URL.decode(text)
        for candidate in [text, decoded.map { String(decoding: $0, as: UTF8.self) }] {
            if let candidate, let object = try? JSONValue.parse(candidate).object {
                return JSONValue.object(object).text()
            }
        }
        return nil
    }

    /// A value that can be shown in a command and pasted from it.
    private static func shownWhole(_ text: String) -> String? {
        !text.isEmpty && text.utf8.count <= 1_000 && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } ? text : nil
    }
}

/// Reads challenges; never fails, and always moves on.
private struct ChallengeReader {
    private let text: [UInt8]
    private var position = 0

    init(_ field: String) { text = Array(field.utf8.prefix(1 << 14)) }

    mutating func challenges() -> [AuthenticationChallenge] {
        var result: [AuthenticationChallenge] = []
        var scheme: String?
        var parameters: [String: String] = [:]
        func finish() {
            if let scheme { result.append(AuthenticationChallenge(scheme: scheme, parameters: parameters)) }
        }
        while position < text.count {
            skip { $0 == 0x20 || $0 == 0x09 || $0 == UInt8(ascii: ",") }
            let word = takeToken()
            if word.isEmpty {
                // Not the beginning of anything: pass over one character, or a quoted string whole.
                if peek == UInt8(ascii: "\"") { _ = takeQuoted() } else { position += 1 }
                continue
            }
            let afterWord = position
            skip { $0 == 0x20 || $0 == 0x09 }
            if peek == UInt8(ascii: "="), !isPadding(at: position) {
                position += 1
                skip { $0 == 0x20 || $0 == 0x09 }
                let name = word.lowercased()
                let isAddress = name == "resource_metadata"
                let value =
                    peek == UInt8(ascii: "\"") ? takeQuoted() : isAddress ? takeAddress() : takeToken()
                if parameters[name] == nil { parameters[name] = value }
            } else {
                finish()
                scheme = word.lowercased()
                parameters = [:]
                position = afterWord
                skipToken68()
            }
        }
        finish()
        return result
    }

    private var peek: UInt8? { position < text.count ? text[position] : nil }

    private mutating func skip(while condition: (UInt8) -> Bool) {
        while let byte = peek, condition(byte) { position += 1 }
    }

    private mutating func takeToken() -> String {
        let start = position
        skip { $0 > 0x20 && $0 < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    /// Takes a URL without the quotes that its characters require (RFC 9110 §11.2): it ends at a comma or a blank.
    private mutating func takeAddress() -> String {
        let start = position
        skip { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "\"") }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func takeQuoted() -> String {
        var bytes: [UInt8] = []
        position += 1
        while let byte = peek, byte != UInt8(ascii: "\"") {
            position += 1
            if byte == UInt8(ascii: "\\"), let escaped = peek {
                bytes.append(escaped)
                position += 1
            } else {
                bytes.append(byte)
            }
        }
        position += 1
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether the `=` here is the padding of a token68 (`Negotiate YII=`), not the sign of a parameter.
    private func isPadding(at place: Int) -> Bool {
        var next = place
        while next < text.count, text[next] == UInt8(ascii: "=") { next += 1 }
        while next < text.count, text[next] == 0x20 || text[next] == 0x09 { next += 1 }
        return next == text.count || text[next] == UInt8(ascii: ",")
    }

    /// Passes over a padded token68 that may follow a scheme; one without padding reads as a scheme of no interest.
    private mutating func skipToken68() {
        let start = position
        skip { $0 == 0x20 || $0 == 0x09 }
        skip { $0 > 0x20 && $0 < 0x7F && !"\"(),:;<=>?@[\\]{}".utf8.contains($0) }
        if peek == UInt8(ascii: "="), isPadding(at: position) {
            skip { $0 == UInt8(ascii: "=") }
        } else {
            position = start
        }
    }
}
