import StrictJSON

/// `hosts.yml` of GitHub's `gh`, as the program writes it or the user edits it, and the file of `hub`, its
/// forerunner. It has a host at the left; below it `user` and `oauth_token`, or below `users` a user each with
/// `oauth_token`.
enum GitHubHosts {
    /// The program, for messages.
    private static let program = "gh"

    /// The tokens in a text; `nil` for one that names no host with a user or a token.
    static func read(_ text: String) -> ImportedFile? { read(YAMLMappings.read(text)) }

    /// The tokens in an object, whose members are those of the file; `nil` for one without a token.
    static func read(_ object: JSONObject) -> ImportedFile? {
        read(YAMLMappings.nodes(of: object)).flatMap { $0.signIns.isEmpty ? nil : $0 }
    }

    private static func read(_ hosts: [YAMLMappings.Node]) -> ImportedFile? {
        var file = ImportedFile(), isOne = false
        for host in hosts {
            guard let users = host["users"] ?? host["user"] ?? host["oauth_token"] ?? host["git_protocol"],
                host.value == nil
            else {
                // The name of a host, with content that is not understood.
                if host.isOdd, host.children.isEmpty, isHost(host.key) {
                    isOne = true
                    file.lacks.append(unreadable(host.line))
                }
                continue
            }
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
        var users = (host["users"]?.children ?? []).map { (name: $0.key, token: written(in: $0)) }
        if let list = host["users"], list.isOdd || list.value != nil { users.append(("", .odd(list.line))) }
        // The active user's token is there twice; if it is not, its user may be known.
        let active = host["user"]?.value, token = written(in: host)
        if token != .absent {
            if let index = users.firstIndex(where: { $0.name == active }), users[index].token == .absent {
                users[index].token = token
            } else if !users.contains(where: { $0.token == token }) {
                users.append((active ?? "", token))
            }
        } else if users.isEmpty {
            users = [(active ?? "", .absent)]
        }
        for user in users {
            let name = user.name.isEmpty ? nil : user.name
            switch user.token {
            case .absent: file.lacks.append(inKeyring(name, at: host.key))
            case .odd(let line): file.lacks.append(unreadable(line))
            case .word(let token):
                file.signIns.append(
                    ImportedSignIn(
                        program: program, token: .access(Secret(token)), host: host.key, username: name))
            }
        }
    }

    /// The token of a host or a user.
    private enum Token: Equatable {
        /// The file has no token.
        case absent
        /// Its text.
        case word(String)
        /// The line has content that is no token.
        case odd(Int)
    }

    private static func written(in node: YAMLMappings.Node) -> Token {
        guard let content = node["oauth_token"] else {
            // The content may be elsewhere in the file, by an alias.
            let elsewhere = node["<<"] ?? (node.isOdd || node.value != nil ? node : nil)
            return elsewhere.map { Token.odd($0.line) } ?? .absent
        }
        guard !content.isOdd, content.children.isEmpty else { return .odd(content.line) }
        guard let word = content.value, !word.isEmpty else { return .absent }
        let isToken =
            word.utf8.count >= shortestToken && word.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            && word.contains { $0.isLetter || $0.isNumber }
        return isToken ? .word(word) : .odd(content.line)
    }

    /// The fewest characters that a token has.
    private static let shortestToken = 4

    private static func isHost(_ key: String) -> Bool {
        key.contains(".") && key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-".contains($0)) }
    }

    private static func unreadable(_ line: Int) -> CredentialError {
        CredentialImporters.lack("line \(line) of hosts.yml has no token that credmgr can read")
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
