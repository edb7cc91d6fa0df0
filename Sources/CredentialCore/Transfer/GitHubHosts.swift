/// `hosts.yml` of GitHub's `gh`, as the program writes it or the user edits it, and the file of `hub`, its
/// forerunner. It has a host at the left; below it `user` and `oauth_token`, or below `users` a user each with
/// `oauth_token`.
enum GitHubHosts {
    /// The program, for messages.
    private static let program = "gh"

    /// The tokens in a text; `nil` for one that names no host with a user or a token.
    static func read(_ text: String) -> ImportedFile? {
        var file = ImportedFile(), isOne = false
        for host in YAMLMappings.read(text) {
            guard let users = host["users"] ?? host["user"] ?? host["oauth_token"] ?? host["git_protocol"],
                host.value == nil
            else { continue }
            isOne = true
            read(host, hasUsers: users.key != "git_protocol", into: &file)
        }
        return isOne ? file : nil
    }

    private static func read(_ host: YAMLMappings.Node, hasUsers: Bool, into file: inout ImportedFile) {
        guard hasUsers else {
            return file.lacks.append(
                CredentialImporters.lack(
                    "\(UntrustedText.shown(host.key)) in hosts.yml has neither a user nor an oauth_token",
                    hint: "sign in with gh first: gh auth login --hostname \(UntrustedText.shown(host.key))"))
        }
        var users = (host["users"]?.children ?? []).map { (name: $0.key, token: $0["oauth_token"]?.value) }
        // The active user's token is there twice; if it is not, its user may be known.
        let active = host["user"]?.value
        let token = host["oauth_token"]?.value
        if let token {
            if let index = users.firstIndex(where: { $0.name == active }), users[index].token == nil {
                users[index].token = token
            } else if !users.contains(where: { $0.token == token }) {
                users.append((active ?? "", token))
            }
        } else if users.isEmpty {
            users = [(active ?? "", nil)]
        }
        for user in users {
            let name = user.name.isEmpty ? nil : user.name
            guard let token = user.token else {
                file.lacks.append(inKeyring(name, at: host.key))
                continue
            }
            file.signIns.append(
                ImportedSignIn(
                    program: program, token: .access(Secret(token)), host: host.key, username: name))
        }
    }

    /// `gh` keeps tokens in the desktop's keyring if there is one, and names the user alone in its file.
    private static func inKeyring(_ user: String?, at host: String) -> CredentialError {
        let whose: LocalizedMessage = user.map { "the token of \(UntrustedText.shown($0))" } ?? "the token"
        let option = user.map { " --user \(ShellQuoting.word(UntrustedText.shown($0)))" } ?? ""
        let command = "gh auth token --hostname \(ShellQuoting.word(UntrustedText.shown(host)))\(option)"
        return CredentialImporters.lack(
            "\(whose) for \(UntrustedText.shown(host)) is not in hosts.yml: gh keeps it in the keyring",
            hint: "add the output of this command to the file after 'oauth_token:': \(command)")
    }
}

/// Mappings of plain and quoted words in YAML, a line each, nested by their blanks, with comments. It is no reader
/// of YAML: it ignores any other text.
enum YAMLMappings {
    /// A key, and its content behind it or below it.
    struct Node {
        /// The key.
        let key: String
        /// The word behind it; `nil` without a word, and for `null`.
        var value: String?
        /// The mapping below it.
        var children: [Node] = []

        /// The first key of a name below it.
        subscript(key: String) -> Node? { children.first { $0.key == key } }
    }

    private struct Line {
        let indent: Int
        let key: String
        let value: String?
    }

    /// The keys at the left.
    static func read(_ text: String) -> [Node] {
        var lines = text.split(whereSeparator: \.isNewline).compactMap(line)[...]
        return nodes(in: &lines, from: 0)
    }

    private static func nodes(in lines: inout ArraySlice<Line>, from indent: Int) -> [Node] {
        var found: [Node] = []
        while let line = lines.first, line.indent >= indent {
            lines.removeFirst()
            var node = Node(key: line.key, value: line.value)
            if line.value == nil { node.children = nodes(in: &lines, from: line.indent + 1) }
            found.append(node)
        }
        return found
    }

    private static func line(_ text: Substring) -> Line? {
        var rest = text.drop { $0 == " " }
        var indent = text.count - rest.count
        // A list of mappings is read as if it were one: the file of hub has a list of one user for each host.
        while rest.hasPrefix("- ") {
            let inner = rest.dropFirst(2).drop { $0 == " " }
            indent += max(1, rest.count - inner.count)
            rest = inner
        }
        guard let key = word(&rest, endsAtColon: true), !key.isEmpty else { return nil }
        rest = rest.drop { $0 == " " || $0 == "\t" }
        guard rest.first == ":" else { return nil }
        rest = rest.dropFirst()
        guard rest.first.map({ $0 == " " || $0 == "\t" }) ?? true else { return nil }
        rest = rest.drop { $0 == " " || $0 == "\t" }
        let isQuoted = rest.first == "'" || rest.first == "\""
        let value = word(&rest, endsAtColon: false)
        let isNull = !isQuoted && ["", "~", "null", "Null", "NULL", "{}"].contains(value ?? "")
        return Line(indent: indent, key: key, value: isNull ? nil : value)
    }

    /// The quoted or plain word in front: a plain one ends at a comment, a key before its colon.
    private static func word(_ rest: inout Substring, endsAtColon: Bool) -> String? {
        if let quote = rest.first, quote == "'" || quote == "\"" { return quoted(&rest, by: quote) }
        var end = rest.startIndex
        while end < rest.endIndex {
            let character = rest[end], next = rest.index(after: end)
            let isBlankAhead = next == rest.endIndex || rest[next] == " " || rest[next] == "\t"
            if endsAtColon, character == ":", isBlankAhead { break }
            if character == "#", end == rest.startIndex || " \t".contains(rest[rest.index(before: end)]) { break }
            end = next
        }
        let word = rest[..<end]
        rest = rest[end...]
        return String(word.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }

    /// The word between quotes (YAML 1.2 §7.3.1, §7.3.2), of the escapes those of the quote and the backslash.
    private static func quoted(_ rest: inout Substring, by quote: Character) -> String? {
        rest = rest.dropFirst()
        var word = ""
        while let character = rest.popFirst() {
            if character == quote {
                guard quote == "'", rest.first == "'" else { return word }
                rest = rest.dropFirst()
            } else if character == "\\", quote == "\"" {
                guard let escaped = rest.popFirst(), "\"\\/".contains(escaped) else { return nil }
                word.append(escaped)
                continue
            }
            word.append(character)
        }
        return nil
    }
}
