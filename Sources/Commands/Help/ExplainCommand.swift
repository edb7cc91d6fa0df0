import CommandLine
import CredentialCore

/// `credmgr explain`.
struct ExplainCommand: Command {
    static let spec = CommandSpec(
        ["explain"], "explain an error code or exit code",
        details: """
            Prints the meaning of an error code, its usual causes and what helps. --verbose shows the code of an error; \
            with --json an error has it as "code". For an exit code, explains each error code that ends with it.
            """,
        parameters: [code],
        examples: [
            .init("explain an exit code", "credmgr explain 4"),
            .init("explain an error code", "credmgr explain store_locked"),
        ])

    private static let code = Parameter.required(
        "code", .any("CODE|EXIT", .words(ErrorCode.allCases.map(\.rawValue))), "an error code, or an exit code")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let page = ExplanationPage(session)
        let word = arguments[Self.code]
        if let code = ErrorCode(rawValue: word.lowercased()) { return try session.print(page.text(of: code)) }
        guard let status = Int32(word), let text = page.text(ofStatus: status) else { throw unknown(word) }
        try session.print(text)
    }

    private func unknown(_ word: String) -> CredentialError {
        let codes = ErrorCode.allCases.map(\.rawValue)
        let shown = UntrustedText.shown(word, limit: 40)
        let hint: LocalizedMessage =
            SpellingSuggestion.to(word, among: codes).map { "did you mean '\($0)'?" }
            ?? "the codes are \(codes.joined(separator: ", ")); the exit codes are \(ExitStatusText.all.map { "\($0.status)" }.joined(separator: ", "))"
        return CredentialError(.usage, "error code or exit code '\(shown)' not found", hint: hint)
    }
}

/// The explanations of error codes as text.
struct ExplanationPage {
    private let layout: HelpLayout

    init(_ session: CommandSession) { layout = HelpLayout(session) }

    /// The explanation of an error code.
    func text(of code: ErrorCode) -> String {
        let explanation = code.explanation
        return layout.paragraph("\(code.rawValue) (exit code \(String(code.exitStatus)))") + "\n"
            + layout.paragraph(explanation.meaning)
            + layout.section("Usual causes", explanation.causes)
            + layout.section("What helps", explanation.remedies)
    }

    /// The explanations of all error codes with an exit code; `nil` if no command ends with it.
    func text(ofStatus status: Int32) -> String? {
        guard let entry = ExitStatusText.all.first(where: { $0.status == status }) else { return nil }
        let codes = ErrorCode.allCases.filter { $0.exitStatus == status }
        return layout.paragraph("Exit code \(String(status)): \(entry.meaning)")
            + codes.map { "\n" + text(of: $0) }.joined()
    }
}

/// Lays out text for the width of the terminal.
struct HelpLayout {
    private let width: Int
    private let translations: any Translations

    init(_ session: CommandSession) {
        width = min(max(session.context.console.width, 20), 80)
        translations = session.context.console.translations
    }

    /// A paragraph.
    func paragraph(_ text: LocalizedMessage) -> String {
        TextLayout.wrapped(text.text(in: translations), width: width).map { $0 + "\n" }.joined()
    }

    /// A heading with a list below it.
    func section(_ title: LocalizedMessage, _ items: [LocalizedMessage]) -> String {
        "\n" + paragraph("\(title):") + items.map { item($0) }.joined()
    }

    /// An entry of a list.
    func item(_ text: LocalizedMessage) -> String {
        TextLayout.wrapped(text.text(in: translations), width: width - 4).enumerated()
            .map { ($0 == 0 ? "  - " : "    ") + $1 + "\n" }.joined()
    }

    /// Lines as they are, such as an example of a file.
    func literal(_ lines: [String]) -> String { "\n" + lines.map { "  \($0)\n" }.joined() }

    /// Names with their meanings, each meaning below its name.
    func terms(_ entries: [(name: String, text: LocalizedMessage)]) -> String {
        let column = entries.map { TextLayout.columns($0.name) }.max() ?? 0
        let isNarrow = column + 24 > width
        let indent = isNarrow ? 6 : column + 4
        return entries.map { name, text in
            let lines = TextLayout.wrapped(text.text(in: translations), width: width - indent)
            let blank = String(repeating: " ", count: indent)
            if isNarrow {
                let names = TextLayout.wrapped(name, width: width - 2).map { "  \($0)\n" }.joined()
                return names + lines.map { blank + $0 + "\n" }.joined()
            }
            return lines.enumerated().map { index, line in
                (index == 0 ? "  " + TextLayout.padded(name, to: column) + "  " : blank) + line + "\n"
            }.joined()
        }.joined()
    }
}
