import CredentialCore

extension CredentialError {
    /// The same error for a program: if a call of this library does the same as the command of the hint, the hint
    /// names the call.
    var forPrograms: CredentialError {
        guard let hint, let call = ProgramHint.call(for: hint) else { return self }
        var error = self
        error.advice = LocalizedMessage(verbatim: call)
        return error
    }
}

/// The calls that replace commands in hints.
enum ProgramHint {
    /// The hint with its command replaced; `nil` if no call does the same, or there is no command in it.
    static func call(for hint: String) -> String? {
        guard let start = hint.firstRange(of: "credmgr ")?.lowerBound else { return nil }
        var words = words(of: hint[start...]).dropFirst()
        let lead = String(hint[..<start])
        switch words.popFirst() {
        case "login"?: return signIn(Array(words)).map { lead + $0 }
        case "token"? where words.last == "--take-over": return lead + "token(of: account, takesOver: true)"
        case "use"?: return lead + "setDefault(account)"
        case "types"? where words.first == "add": return lead + "configure(_:)"
        default: return nil
        }
    }

    private static func signIn(_ words: [String]) -> String? {
        if words.first == "--complete" { return "handleRedirect(url)" }
        var options: [String: String] = [:]
        for place in stride(from: 0, to: words.count - 1, by: 2) { options[words[place]] = words[place + 1] }
        let isKnown = ["--account", "--type", "--policy", "--scope", "--prompt", "--group", "--print-url"]
        var parameters: [(String, String)] = []
        for (option, name) in [("--acr-values", "acr_values"), ("--max-age", "max_age"), ("--claims", "claims")] {
            if let value = options.removeValue(forKey: option) { parameters.append((name, value)) }
        }
        // A sign-in to a type that its API has defined goes to the authorization server that the API names now.
        if options["--type"] != nil { options["--resource"] = nil }
        guard options.keys.allSatisfy(isKnown.contains) else { return nil }
        var arguments: [String] = []
        if let type = options["--type"] {
            arguments.append("toType: \(quoted(type))")
        } else {
            arguments.append("toType: account.type")
        }
        if options["--account"] != nil { arguments.append("as: account") }
        if let policy = options["--policy"] { arguments.append("policy: \(quoted(policy))") }
        if let scope = options["--scope"] {
            let list = scope.split(separator: " ").map { quoted(String($0)) }.joined(separator: ", ")
            arguments.append("scope: [\(list)]")
        }
        if !parameters.isEmpty {
            let list = parameters.map { "\(quoted($0)): \(quoted($1))" }.joined(separator: ", ")
            arguments.append("parameters: [\(list)]")
        }
        if options["--prompt"] == "login" { arguments.append("prompt: .always") }
        return "signIn(\(arguments.joined(separator: ", ")))"
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    /// The words of a command line as ``CredentialCore/ShellQuoting`` writes it.
    private static func words(of line: Substring) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        var isEscaped = false
        for character in line {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "'" {
                isQuoted.toggle()
                word = word ?? ""
            } else if !isQuoted, character == "\\" {
                isEscaped = true
            } else if !isQuoted, character == " " {
                if let complete = word { words.append(complete) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return words
    }
}
