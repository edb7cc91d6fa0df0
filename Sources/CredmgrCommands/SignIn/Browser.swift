import CredentialCore

/// The user's browser: `$BROWSER`, else the configured one, else the desktop's.
enum Browser {
    /// Opens an address; a note says so where that does not work.
    static func open(_ address: WebAddress, _ session: Session) {
        let command =
            GlobalOptions.set("BROWSER", session.context.environment) ?? session.configuration.browser ?? "xdg-open"
        do throws(CredentialError) {
            try session.context.programs.launch(words(of: command, opening: address.description))
        } catch {
            session.notices.note("the browser did not start (\(error.message)); open the address by hand")
        }
    }

    /// The words of the first command in a `BROWSER` value; `%s` stands for the address, else it comes last.
    private static func words(of command: String, opening address: String) -> [String] {
        let first = command.split(separator: ":").first.map(String.init) ?? command
        var words = first.split(separator: " ").map(String.init)
        if let place = words.firstIndex(where: { $0.contains("%s") }) {
            words[place] = words[place].split(separator: "%s", omittingEmptySubsequences: false).joined(
                separator: address)
        } else {
            words.append(address)
        }
        return words
    }
}
