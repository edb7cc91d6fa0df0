package import CredentialCore
import StrictJSON

/// One command: its arguments, and what it does with them.
protocol Command {
    /// Takes the arguments of its ``CommandSpec``.
    init(arguments: ParsedArguments)

    /// Does it.
    func run(_ session: Session) throws(CredentialError)
}

extension Session {
    /// Prints the result.
    package func print(_ text: String) throws(CredentialError) { try context.console.writeResult(Array(text.utf8)) }

    /// Prints a result as JSON.
    func print(_ json: JSONValue) throws(CredentialError) {
        try print(json.text(.indented) + "\n")
    }

    /// Prints a table, cut to the terminal's width where there is one.
    func print(_ table: Table) throws(CredentialError) {
        try print(table.text(width: context.console.resultIsTerminal ? context.console.width : nil))
    }

    /// A secret from a file that only its owner can read, or from standard input for `-`.
    ///
    /// - Parameters:
    ///   - what: what it is, for messages: "password", "client secret".
    ///   - isText: whether it may have several lines; else standard input is read for one line.
    func secret(from path: String, what: String, isText: Bool = false) throws(CredentialError) -> Secret {
        if path == "-" {
            let text =
                isText
                ? String(decoding: try context.console.readInput(limit: 1 << 20), as: UTF8.self)
                : try context.console.readInputLine()
            guard let text, !text.isEmpty else {
                throw CredentialError(.usage, "no \(what) on standard input")
            }
            return Secret(text)
        }
        guard let file = try context.typeFiles.read(path) else {
            throw CredentialError(.usage, "there is no file \(ForeignText.shown(path)) with the \(what)")
        }
        var text = String(decoding: file.bytes, as: UTF8.self)[...]
        while let last = text.last, last.isNewline { text.removeLast() }
        guard !text.isEmpty else {
            throw CredentialError(.usage, "the file \(ForeignText.shown(path)) with the \(what) is empty")
        }
        if !file.isPrivate {
            notices.warning("others can read \(ForeignText.shown(path)), which holds the \(what)")
        }
        return Secret(String(text))
    }

    /// A passphrase that the user makes up, asked for twice.
    ///
    /// - Throws: ``ErrorCode/usage`` where nobody can be asked or the two differ; ``ErrorCode/cancelled``.
    func newPassphrase() throws(CredentialError) -> Secret {
        guard mayAsk else {
            throw CredentialError(
                .usage, "the new passphrase cannot be asked for here", hint: "use --passphrase-file FILE")
        }
        let passphrase = try context.console.ask("New passphrase: ", isSecret: true)
        guard !passphrase.isEmpty else { throw CredentialError(.cancelled, "no passphrase was entered") }
        guard try context.console.ask("The same again: ", isSecret: true) == passphrase else {
            throw CredentialError(.usage, "the two passphrases differ; nothing was changed")
        }
        return passphrase
    }
}
