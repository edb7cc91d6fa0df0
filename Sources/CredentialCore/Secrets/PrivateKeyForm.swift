internal import StrictJSON

/// The forms that the private key of a client may have: PEM (RFC 7468 §10, §13) and JWK (RFC 7517).
///
/// A file with anything else is another one than the user means. It is not used as a key, so no part of it is sent.
enum PrivateKeyForm {
    /// Whether a text is a private key.
    static func isOne(_ text: String) -> Bool { isPEM(text) || isJWK(text) }

    private static func isPEM(_ text: String) -> Bool {
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            line.drop { $0 == " " || $0 == "\t" }
        }
        guard
            let first = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") && $0.contains("PRIVATE KEY-----") })
        else { return false }
        return lines[first...].contains { $0.hasPrefix("-----END ") && $0.contains("PRIVATE KEY-----") }
    }

    private static func isJWK(_ text: String) -> Bool {
        guard let key = (try? JSONValue.parse(text))?.object, key["kty"]?.string != nil else { return false }
        return key["d"]?.string != nil || key["k"]?.string != nil
    }
}
