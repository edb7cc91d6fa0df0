import CredentialCore

/// Takes secrets out of what a plugin says for people: those it was given or gave, and whatever looks like one.
struct Redactor {
    private static let mark = "[redacted]"
    /// Shorter words than this are too common to be taken out wherever they stand.
    private static let shortest = 6
    /// A run of this many letters and digits without a break is no word of any language.
    private static let opaqueLength = 16
    private var secrets: [String]

    /// Makes a redactor for known secrets.
    init(_ secrets: [String]) {
        // The longest first, so that no rest of one stays behind.
        self.secrets = secrets.filter { $0.utf8.count >= Self.shortest }.sorted { $0.utf8.count > $1.utf8.count }
    }

    /// The text on one line, safe to show, without secrets.
    func shown(_ text: String, limit: Int = 300) -> String {
        var text = text
        for secret in secrets where text.utf8.count >= secret.utf8.count {
            text = text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: Self.mark)
        }
        return ForeignText.shown(Self.withoutOpaqueWords(text), limit: limit)
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
