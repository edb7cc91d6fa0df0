/// Takes the secrets of a request out of the text of the server that answers it: its error may repeat parts of the
/// request.
///
/// A secret is found as it is, and as it looks in a form or URL, in JSON and in base64, also if the text or an
/// ellipsis cuts it off. A secret of fewer than ``longEnough`` bytes is found as a whole word only. One of fewer
/// than ``shortest`` bytes is found only as the whole value of a member that repeats a parameter: the gap in
/// `invalid client secret` would show that the secret is `secret`.
package struct SecretRemoval: Sendable {
    /// The text in the place of a secret.
    package static let mark = "[redacted]"
    /// The length of the shortest secret that is taken out of prose, in bytes.
    package static let shortest = 8
    /// The length from which a secret is taken out of the midst of a word, too, in bytes. No word of a language is
    /// that long and equals a secret.
    package static let longEnough = 20

    /// The longest first, so that no rest of one stays behind.
    private let forms: [[UInt8]]
    private let short: Set<String>

    /// Makes a removal of known secrets.
    package init(_ secrets: [String]) {
        var forms: Set<[UInt8]> = []
        for secret in secrets where secret.utf8.count >= Self.shortest {
            let bytes = Array(secret.utf8)
            for digits in ["0123456789ABCDEF", "0123456789abcdef"] {
                for spaceAsPlus in [false, true] {
                    forms.insert(Self.percentEncoded(bytes, spaceAsPlus: spaceAsPlus, Array(digits.utf8)))
                }
            }
            forms.formUnion([
                bytes, Self.jsonEscaped(bytes, "\"\\/"), Self.jsonEscaped(bytes, "\"\\"),
                Array(Base64URL.encode(bytes).utf8),
                Array(Base64URL.encodeOrdinary(bytes).utf8).filter { $0 != UInt8(ascii: "=") },
            ])
        }
        self.forms = forms.sorted { $0.count > $1.count }
        short = Set(secrets.filter { !$0.isEmpty && $0.utf8.count < Self.shortest })
    }

    /// The bytes without the secrets.
    package func cleaned(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for form in forms { bytes = Self.replacing(form, in: bytes) }
        return bytes
    }

    /// The text without the secrets.
    package func cleaned(_ text: String) -> String {
        let bytes = Array(text.utf8), clean = cleaned(bytes)
        return clean == bytes ? text : String(decoding: clean, as: UTF8.self)
    }

    /// Whether the whole text is a secret that is too short to be taken out of prose.
    package func isShortSecret(_ text: String) -> Bool { short.contains(text) }

    private static func replacing(_ form: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            let length = bytes[index] == form[0] ? found(form, in: bytes, at: index) : 0
            if length > 0 {
                result += Array(mark.utf8)
                index += length
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }

    /// Returns how many bytes from `start` are the form, or as much of it as a cut left; 0 for none.
    private static func found(_ form: [UInt8], in bytes: [UInt8], at start: Int) -> Int {
        var length = 0
        while length < form.count, start + length < bytes.count, bytes[start + length] == form[length] {
            length += 1
        }
        let rest = bytes[(start + length)...], isLong = form.count >= longEnough
        guard length >= shortest, isLong || isWordStart(bytes, start) else { return 0 }
        if length == form.count { return isLong || !(rest.first.map(isWordByte) ?? false) ? length : 0 }
        return rest.isEmpty || rest.starts(with: "...".utf8) || rest.starts(with: "\u{2026}".utf8) ? length : 0
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether a word may begin at the index: at the start of the text, after a byte that is in no word, or after
    /// an escape of a URL (`%20`) or of JSON (`\n`, `\u003d`).
    private static func isWordStart(_ bytes: [UInt8], _ index: Int) -> Bool {
        func byte(_ distance: Int) -> UInt8? { index >= distance ? bytes[index - distance] : nil }
        guard let last = byte(1), isWordByte(last) else { return true }
        return byte(3) == UInt8(ascii: "%") || byte(2) == UInt8(ascii: "\\")
            || (byte(5) == UInt8(ascii: "u") && byte(6) == UInt8(ascii: "\\"))
    }

    private static func percentEncoded(
        _ bytes: [UInt8], spaceAsPlus: Bool, _ hexadecimal: [UInt8]
    ) -> [UInt8] {
        var result: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                result.append(byte)
            case UInt8(ascii: "~") where !spaceAsPlus, UInt8(ascii: "*") where spaceAsPlus: result.append(byte)
            case UInt8(ascii: " ") where spaceAsPlus: result.append(UInt8(ascii: "+"))
            default: result += [UInt8(ascii: "%"), hexadecimal[Int(byte >> 4)], hexadecimal[Int(byte & 15)]]
            }
        }
        return result
    }

    /// As a string in JSON; PHP escapes slashes, too.
    private static func jsonEscaped(_ bytes: [UInt8], _ escaped: String) -> [UInt8] {
        bytes.flatMap { byte in escaped.utf8.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte] }
    }
}
