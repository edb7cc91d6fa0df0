import CommandLine
import CredentialCore

/// The screen that `credmgr` alone shows on a terminal: the status of the account that is used here, or the first
/// steps.
struct StartPage {
    private let arguments: Arguments

    /// The lines of the smallest terminal.
    static let height = 24

    /// Makes the page.
    ///
    /// - Parameter arguments: those of `status`.
    init(_ arguments: Arguments) { self.arguments = arguments }

    /// Prints the page. A problem is shown, and is no failure.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when standard output does not accept the page.
    func print(_ session: CommandSession) throws(CredentialError) {
        var text: String
        do throws(CredentialError) {
            if let fault = session.configurationFault { throw fault }
            text = try page(session)
        } catch {
            text = shown(error, session)
        }
        text += "\n" + more(session)
        try session.print(text)
    }

    private func page(_ session: CommandSession) throws(CredentialError) -> String {
        var count = 0
        for group in try session.groups() {
            count += try session.context.records.index(of: group, .none).withUnreadable.count
        }
        guard count > 0 else { return try firstSteps(session) }
        return session.shown(try StatusReport(session).chosen(TargetOptions(arguments)).facts)
    }

    /// No account: the command to begin with, and the others that lead to one.
    private func firstSteps(_ session: CommandSession) throws(CredentialError) -> String {
        let none: LocalizedMessage = "no account is signed in", start: LocalizedMessage = "Get started:"
        let hasTypes = try !session.catalog.entries().isEmpty
        let guided: LocalizedMessage? =
            CommandList.beginning == "init" ? LocalizedMessage(verbatim: "credmgr init") : nil
        var text = session.shown(none).capitalizedSentence + "\n\n"
        if let first = hasTypes ? session.loginHint() : guided {
            text += session.shown(start) + " " + session.shown(first) + "\n\n"
        }
        return text
            + help(session).list(of: [["presets"], ["types", "add"], ["types", "import"], ["login"], ["demo"]])
    }

    /// Why `token` would take no account; the accounts to choose from, as far as there is room for them.
    private func shown(_ error: CredentialError, _ session: CommandSession) -> String {
        var facts = FactList()
        facts.add("problem", error.text, colour: 31)
        for hint in error.hints { facts.add("fix", hint, isWhole: true) }
        var text = session.shown(facts)
        guard error.code == .ambiguousAccount || error.code == .noSuchAccount else { return text }
        let room = Self.height - 6 - text.utf8.count { $0 == 0x0A }
        let width = session.context.console.width
        let names = error.details.map {
            TextLayout.truncated("  " + UntrustedText.shown($0, limit: 400), to: width)
        }
        if !names.isEmpty { text += "\n" }
        for name in names.prefix(names.count > room ? room - 1 : room) { text += name + "\n" }
        if names.count > room { text += "  …\n" }
        return text
    }

    private func more(_ session: CommandSession) -> String {
        help(session).list(of: [["accounts"], ["help"]])
    }

    private func help(_ session: CommandSession) -> HelpText {
        HelpText(.standard, width: session.context.console.width, in: session.context.console.translations)
    }
}
