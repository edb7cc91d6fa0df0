/// Text that came from a server, a plugin or a file and is about to be shown.
public enum UntrustedText {
    /// `text` made safe for a terminal and a log: controls, bidirectional overrides and invisible characters are
    /// replaced by a space each, runs of spaces become one, and it is cut at `limit` characters.
    public static func shown(_ text: String, limit: Int = 200) -> String {
        // Nearly all text is of this kind, and there is a lot of it in a long list.
        if text.utf8.count <= limit, isPlain(text) { return text }
        var result = ""
        var length = 0
        var pendingSpace = false
        for scalar in text.unicodeScalars {
            if isHidden(scalar) || scalar == " " {
                pendingSpace = !result.isEmpty
                continue
            }
            if length + (pendingSpace ? 1 : 0) >= limit { return result + "…" }
            if pendingSpace {
                result += " "
                length += 1
                pendingSpace = false
            }
            result.unicodeScalars.append(scalar)
            length += 1
        }
        return result
    }

    /// Whether a text is visible ASCII, with single spaces between words: then it is shown as it is.
    private static func isPlain(_ text: String) -> Bool {
        var isAfterSpace = true
        for byte in text.utf8 {
            guard byte >= 0x20, byte < 0x7F else { return false }
            if byte == 0x20, isAfterSpace { return false }
            isAfterSpace = byte == 0x20
        }
        return !isAfterSpace || text.isEmpty
    }

    /// `text` as markup of a page, for content and quoted attributes.
    public static func markup(_ text: String) -> String {
        var markup = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": markup += "&amp;"
            case "<": markup += "&lt;"
            case ">": markup += "&gt;"
            case "\"": markup += "&quot;"
            case "'": markup += "&#39;"
            default: markup.unicodeScalars.append(scalar)
            }
        }
        return markup
    }

    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
