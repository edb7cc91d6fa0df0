package import CredentialCore
package import StrictJSON

/// Messages for standard error, one kind of line each: `credmgr: error: …`, `credmgr: hint: …`.
///
/// No control character of a message gets through; the further lines of a longer one are indented, so that no line
/// can pass for a message of its own.
package struct ErrorRenderer: Sendable {
    private let translations: any Translations
    private let hasColour: Bool
    private let isVerbose: Bool

    /// Makes a renderer.
    ///
    /// - Parameters:
    ///   - translations: the reader's language. The words that begin a line, and the details, are not translated.
    ///   - hasColour: whether the kinds are coloured; see ``colourIsWanted(isTerminal:environment:)``.
    ///   - isVerbose: whether the details of an error are shown.
    package init(
        translations: any Translations = NoTranslations(), hasColour: Bool = false, isVerbose: Bool = false
    ) {
        self.translations = translations
        self.hasColour = hasColour
        self.isVerbose = isVerbose
    }

    /// Whether to colour: on a terminal, without `NO_COLOR` (no-color.org: set and not empty), unless it is dumb.
    package static func colourIsWanted(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    /// An error with its hint, and its details when verbose.
    package func error(_ error: CredentialError) -> String {
        var text = line("error", colour: 31, error.text)
        if error.code == .ambiguousAccount || error.code == .noSuchAccount {
            // The accounts to choose from are part of the answer.
            for account in error.details { text += "  " + UntrustedText.shown(account, limit: 400) + "\n" }
        } else if isVerbose {
            for detail in ["code: \(error.code.rawValue)"] + error.details {
                text += line("detail", colour: 2, LocalizedMessage(verbatim: detail))
            }
        }
        for hint in error.hints { text += line("hint", colour: 36, hint) }
        return text
    }

    /// A failure that did not stop the command, with its hint.
    package func warning(_ error: CredentialError) -> String {
        warning(error.text) + error.hints.map { line("hint", colour: 36, $0) }.joined()
    }

    /// A warning: something went another way than asked.
    package func warning(_ message: LocalizedMessage) -> String { line("warning", colour: 33, message) }

    /// A note: something worth knowing. Callers leave it out under `--quiet`.
    package func note(_ message: LocalizedMessage) -> String { line("note", colour: 2, message) }

    /// A hint of its own.
    package func hint(_ message: LocalizedMessage) -> String { line("hint", colour: 36, message) }

    /// The error as the JSON document that `--json` promises on standard output.
    package static func json(_ error: CredentialError) -> JSONValue {
        var members = JSONObject([
            "code": .string(error.code.rawValue),
            "message": .string(error.message),
            "hint": JSONValue(error.hint),
            "exit": .integer(Int64(error.code.exitStatus)),
        ])
        if error.hints.count > 1 { members["hints"] = JSONValue(error.hints.map(\.description)) }
        return ["error": .object(members)]
    }

    private func line(_ kind: String, colour: Int, _ message: LocalizedMessage) -> String {
        let label = hasColour ? "\u{1B}[\(colour)m\(kind):\u{1B}[0m" : "\(kind):"
        let lines = message.text(in: translations).split(whereSeparator: \.isNewline).map {
            UntrustedText.shown(String($0), limit: 4_000)
        }
        return "credmgr: \(label) " + lines.joined(separator: "\n  ") + "\n"
    }
}
