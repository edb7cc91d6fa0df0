/// The words of `credmgr relay`.
package struct RelayArguments: Sendable, Hashable {
    /// A file that gets an entry's token.
    package struct TokenFile: Sendable, Hashable {
        /// The broker's entry.
        package var entry: String
        /// The file's path.
        package var path: String

        /// Names a file.
        package init(entry: String, path: String) {
            self.entry = entry
            self.path = path
        }
    }

    /// The name of the command.
    package static let word = "relay"
    /// The socket without `--socket` and `CREDMGR_SOCK`.
    package static let usualSocket = "/run/credmgr/sock"

    /// The socket; `nil` for that of the environment.
    package var socket: String?
    /// The port on 127.0.0.1; 0 for any free one.
    package var port: UInt16
    /// The files with tokens.
    package var files: [TokenFile]
    /// The command and its arguments; at least one word.
    package var command: [String]

    /// Names everything.
    package init(socket: String? = nil, port: UInt16 = 0, files: [TokenFile] = [], command: [String]) {
        self.socket = socket
        self.port = port
        self.files = files
        self.command = command
    }

    /// Reads the words behind the program's name.
    ///
    /// - Returns: `nil` for words that the parser of all commands has to look at, such as `--help` and mistakes.
    package init?(_ words: [String]) {
        guard words.first == Self.word else { return nil }
        self.init(command: [])
        var index = 1
        while index < words.count {
            let word = words[index]
            index += 1
            switch word {
            case "--":
                command = Array(words[index...])
                if command.isEmpty { return nil }
                return
            case "--quiet", "-q", "--no-input": continue
            default: break
            }
            guard let (name, value) = Self.option(word, words, &index), take(name, value) else { return nil }
        }
        return nil
    }

    /// Reads `ENTRY=PATH`.
    package static func file(_ text: String) -> TokenFile? {
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let entry = String(text[..<equals]), path = String(text[text.utf8.index(after: equals)...])
        return entry.isEmpty || path.isEmpty ? nil : TokenFile(entry: entry, path: path)
    }

    private mutating func take(_ name: String, _ value: String) -> Bool {
        switch name {
        case "--socket":
            if socket != nil || value.isEmpty { return false }
            socket = value
        case "--port":
            guard port == 0, let number = UInt16(value), number > 0 else { return false }
            port = number
        case "--file":
            guard let file = Self.file(value) else { return false }
            files.append(file)
        default: return false
        }
        return true
    }

    private static func option(
        _ word: String, _ words: [String], _ index: inout Int
    ) -> (name: String, value: String)? {
        if let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) {
            return (String(word[..<equals]), String(word[word.utf8.index(after: equals)...]))
        }
        guard index < words.count, words[index].utf8.first != UInt8(ascii: "-") else { return nil }
        index += 1
        return (word, words[index - 1])
    }
}
