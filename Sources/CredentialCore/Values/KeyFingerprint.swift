/// A fingerprint of a host or a group, as users compare it: eight groups of four hexadecimal digits with dashes
/// between them.
package enum KeyFingerprint {
    /// The fingerprint that a user typed, in its usual form: the dashes may be left out, and letters may be upper
    /// case.
    ///
    /// - Returns: `nil` if the text is not a fingerprint.
    package static func normalized(_ text: String) -> String? {
        let digits = Array(text.lowercased().filter { $0 != "-" })
        guard digits.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: "-")
    }
}
