/// Takes the secrets of a request out of the text of the server that answers it: its error may repeat parts of the
/// request.
///
/// A secret is found as it is, and as it looks in a form or URL, in JSON and in base64. Short ones are left: the
/// gap in `invalid client secret` would show that the secret is `secret`.
package struct SecretRemoval: Sendable {
    /// The text in the place of a secret.
    package static let mark = "[redacted]"
    /// The length of the shortest secret that is taken out, in bytes.
    package static let shortest = 8

    /// The longest first, so that no rest of one stays behind.
    private let forms: [[UInt8]]

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
    }

    /// The bytes without the secrets.
    package func cleaned(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for form in forms where bytes.count >= form.count { bytes = Self.replacing(form, in: bytes) }
        return bytes
    }

    /// The text without the secrets.
    package func cleaned(_ text: String) -> String {
        let bytes = Array(text.utf8), clean = cleaned(bytes)
        return clean == bytes ? text : String(decoding: clean, as: UTF8.self)
    }

    private static func replacing(_ form: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == form[0], bytes[index...].starts(with: form) {
                result += Array(mark.utf8)
                index += form.count
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
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
