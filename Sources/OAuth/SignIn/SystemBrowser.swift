package import CredentialCore

/// The user's browser: `$BROWSER`, else the configured one, else the desktop's.
package struct SystemBrowser: Sendable {
    private static let desktop = "xdg-open"

    /// How long a browser is given to read a page, in seconds.
    private static let reading = 10

    private let programs: any BrowserLauncher
    private let named: String?
    private let translations: any Translations

    /// Prepares the browser without starting it.
    ///
    /// - Parameters:
    ///   - configured: the browser that `config.json` names.
    ///   - translations: the language of the pages.
    package init(
        _ programs: any BrowserLauncher, environment: [String: String], configured: String?,
        translations: any Translations
    ) {
        self.translations = translations
        self.programs = programs
        let variable = environment["BROWSER"] ?? ""
        named = variable.isEmpty ? configured : variable
    }

    /// Opens an address.
    ///
    /// Every user of the machine can read the arguments of programs, so the desktop's browser is given a private
    /// file that redirects to the address. A program that the user names gets the address itself.
    ///
    /// - Returns: the file, to be removed when the sign-in is over.
    /// - Throws: ``ErrorCode/inputOutput`` if the browser does not start.
    package func open(_ address: URI) throws(CredentialError) -> (any PrivateFile)? {
        if let named {
            try programs.launch(Self.words(of: named, opening: address.description))
            return nil
        }
        let file = try programs.runtimeFile("sign-in-", suffix: ".html")
        do throws(CredentialError) {
            try file.write(Array(page(leadingTo: address.description).utf8))
            try programs.launch([Self.desktop, file.path])
            return file
        } catch {
            try? file.remove()
            throw error
        }
    }

    /// Shows the outcome of a sign-in that did not use a terminal, and returns when the browser has had the time to
    /// read it.
    ///
    /// - Throws: as ``open(_:)``.
    package func show(title: LocalizedMessage, text: LocalizedMessage) throws(CredentialError) {
        let file = try programs.runtimeFile("outcome-", suffix: ".html")
        let content = """
            <h1>\(shown(title))</h1>
            <p>\(shown(text))</p>
            <p>\(shown("You can close this page."))</p>
            """
        try file.write(Array(page(titled: title, content).utf8))
        try programs.launch(Self.words(of: named ?? Self.desktop, opening: file.path))
        programs.pause(seconds: Self.reading)
        try file.remove()
    }

    // MARK: Pages

    /// A page that goes on to an address at once.
    private func page(leadingTo address: String) -> String {
        let address = UntrustedText.markup(address)
        return page(
            titled: "credmgr: sign-in", head: "<meta http-equiv=\"refresh\" content=\"0; url=\(address)\">",
            "<p><a href=\"\(address)\">\(shown("Continue to the sign-in"))</a></p>")
    }

    private func page(titled title: LocalizedMessage, head: String = "", _ content: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="\(shown(.languageOfPages))">
        <head>
        <meta charset="utf-8">
        <meta name="referrer" content="no-referrer">
        \(head)
        <title>\(shown(title))</title>
        </head>
        <body>
        \(content)
        </body>
        </html>

        """
    }

    /// A message, as markup.
    private func shown(_ message: LocalizedMessage) -> String {
        UntrustedText.markup(UntrustedText.shown(message.text(in: translations), limit: 500))
    }

    // MARK: Words

    /// The words of the first command in a `BROWSER` value; `%s` is replaced by the address, else it comes last.
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
