import CredentialCore

/// Takes secrets out of the text that a plugin writes for people: those it was given or gave, and any text that
/// looks like one.
struct Redactor {
    private static let mark = SecretRemoval.mark
    /// A run of this many letters and digits without a break is no word of any language.
    private static let opaqueLength = 16
    private let removal: SecretRemoval

    /// Makes a redactor for known secrets.
    init(_ secrets: [String]) { removal = SecretRemoval(secrets) }

    /// The text on one line, safe to show, without secrets.
    func shown(_ text: String, limit: Int = 300) -> String {
        UntrustedText.shown(Self.withoutOpaqueWords(removal.cleaned(text)), limit: limit)
    }

    private static func withoutOpaqueWords(_ text: String) -> String {
        var result = "", run = ""
        func flush() {
            let isOpaque = run.utf8.count >= opaqueLength && run.utf8.contains { (0x30...0x39).contains($0) }
            result += isOpaque ? mark : run
            run = ""
        }
        for scalar in text.unicodeScalars {
            if scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                || "-_+".unicodeScalars.contains(scalar)
            {
                run.unicodeScalars.append(scalar)
            } else {
                flush()
                result.unicodeScalars.append(scalar)
            }
        }
        flush()
        return result
    }
}
