package import CredentialCore

/// The output to standard error: errors, hints, warnings and notes, in one voice.
package struct Notices: Sendable {
    private let console: any Console
    private let renderer: ErrorRenderer
    private let isQuiet: Bool
    private let isVerbose: Bool
    private let warns: Bool

    /// Makes notices for a console.
    ///
    /// - Parameter warns: whether warnings are shown, regardless of ``isQuiet``.
    package init(
        console: any Console, environment: [String: String], isQuiet: Bool, isVerbose: Bool, warns: Bool = true
    ) {
        self.console = console
        renderer = ErrorRenderer(
            translations: console.translations,
            hasColour: ErrorRenderer.colourIsWanted(isTerminal: console.noticeIsTerminal, environment: environment),
            isVerbose: isVerbose)
        self.isQuiet = isQuiet
        self.isVerbose = isVerbose
        self.warns = warns
    }

    /// Shows long waits; quiet calls do not.
    var waiting: any ProgressDisplay { isQuiet ? NoWaitingDisplay() : console.waiting }

    /// Something the user should know; quiet calls keep it to themselves.
    package func note(_ text: LocalizedMessage) { if !isQuiet { console.writeNotice(renderer.note(text)) } }
    /// Something that went wrong without stopping the command.
    package func warning(_ text: LocalizedMessage) { if warns { console.writeNotice(renderer.warning(text)) } }
    /// A failure that did not stop the command, with its hint.
    package func warning(_ error: CredentialError) { if warns { console.writeNotice(renderer.warning(error)) } }
    /// A fact for `--verbose`.
    package func detail(_ text: String) {
        if isVerbose { console.writeNotice(renderer.note(LocalizedMessage(verbatim: text))) }
    }
    /// A line that is part of a dialogue: a URL to open, a code to enter.
    package func say(_ text: LocalizedMessage) { console.writeNotice(text.text(in: console.translations) + "\n") }
    /// Prints the result of a command for the user; `-q` suppresses it.
    package func outcome(_ text: LocalizedMessage) { if !isQuiet { say(text) } }
    /// Why the command failed.
    package func error(_ error: CredentialError) { console.writeNotice(renderer.error(error)) }
}
