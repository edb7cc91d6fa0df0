import CredentialCore

/// The request to `setup`, and the facts about this machine that recipes need.
struct SetupRequest: Sendable {
    /// The program that is set up.
    var program = "git"
    /// The account type; `nil` if no option or rule names one.
    var type: String?
    /// The account; `nil` for the one that is chosen each time.
    var account: String?
    /// The server, perhaps with a port.
    var host: String?
    /// Further values by the names of their options: `role-arn`.
    var values: [String: String] = [:]
    /// The user name of the account, for programs that want one.
    var username: String?
    /// Whether the setup is to be removed.
    var isUndo = false
    /// The environment.
    let environment: [String: String]
    /// How other programs call this one: `credmgr` if `PATH` finds it, else its path.
    let command: String

    /// The user's home.
    var home: String { environment["HOME"] ?? "/" }
    /// `$XDG_CONFIG_HOME`.
    var configHome: String { folder("XDG_CONFIG_HOME", ".config") }
    /// `$XDG_DATA_HOME`.
    var dataHome: String { folder("XDG_DATA_HOME", ".local/share") }
    /// A folder for links by which other programs find this one.
    var linkFolder: String { dataHome + "/credmgr/links" }

    /// The options that choose the account, to follow the name of a command.
    var selection: [String] {
        (type.map { ["--type", $0] } ?? []) + (account.map { ["--account", $0] } ?? [])
    }

    /// A call of this program as a shell line.
    func line(_ words: String...) -> String { line(words) }

    private func line(_ words: [String]) -> String {
        ([command] + words + selection).map { word in
            let isPlain =
                word.utf8.allSatisfy {
                    "-_./=:@+,%".utf8.contains($0) || Character(Unicode.Scalar($0)).isLetter
                        || (0x30...0x39).contains($0)
                } && !word.isEmpty
            return isPlain ? word : ShellQuoting.quoted(word)
        }.joined(separator: " ")
    }

    /// A call of this program between double quotes.
    func quotedLine(_ words: String...) -> String {
        var text = ""
        for character in line(words) {
            if character == "\"" || character == "\\" { text.append("\\") }
            text.append(character)
        }
        return text
    }

    /// A variable of the environment that is not empty.
    func set(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The first of some paths that is there, else the last.
    func existing(_ paths: [String], _ programs: any ProcessPort) -> String {
        paths.first { (try? programs.readFile($0)) ?? nil != nil } ?? paths.last ?? ""
    }

    /// The host.
    ///
    /// - Throws: ``ErrorCode/usage`` if no host was named.
    func neededHost() throws(CredentialError) -> String {
        guard let host else {
            throw CredentialError(
                .usage, "--host is required: the server that the token is for",
                hint: "for example: credmgr setup \(program) --host git.example.com")
        }
        return host
    }

    /// A value that a recipe cannot do without.
    ///
    /// - Throws: ``ErrorCode/usage``.
    func needed(_ name: String, _ what: LocalizedMessage) throws(CredentialError) -> String {
        guard let value = values[name], !value.isEmpty else {
            throw CredentialError(.usage, "--\(name) is required: \(what)")
        }
        return value
    }

    /// The broker.
    ///
    /// - Throws: ``ErrorCode/usage`` if no broker was named.
    func neededBroker() throws(CredentialError) -> String {
        guard let broker = values["broker"], !broker.isEmpty else {
            throw CredentialError(
                .usage, "--broker is required: the broker of the socket", hint: "credmgr broker list")
        }
        return broker
    }

    /// The directory with the socket of a broker on this machine.
    ///
    /// - Throws: ``ErrorCode/usage`` without `$XDG_RUNTIME_DIR`.
    func brokerFolder(_ broker: String) throws(CredentialError) -> String {
        guard let folder = set("XDG_RUNTIME_DIR"), folder.hasPrefix("/") else {
            throw CredentialError(
                .usage, "cannot name the broker's socket: XDG_RUNTIME_DIR is not set",
                hint: "export XDG_RUNTIME_DIR=/run/user/$(id -u)")
        }
        return "\(folder)/credmgr-brokers/\(broker)"
    }

    /// The account type.
    ///
    /// - Throws: ``ErrorCode/usage`` if no type was named and there is not exactly one.
    func neededType() throws(CredentialError) -> String {
        guard let type else { throw CredentialError(.usage, "--type is required", hint: "credmgr types") }
        return type
    }

    private func folder(_ name: String, _ standard: String) -> String {
        guard let value = environment[name], value.hasPrefix("/") else { return home + "/" + standard }
        return value
    }
}
