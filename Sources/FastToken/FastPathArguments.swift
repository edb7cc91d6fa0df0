package import CredentialCore

/// The words of a plain call of `token`, `kubernetes`, `git-credential get` or `exec`.
///
/// Every unusual call, and every fault, is left to the parser of the command line; the options that are read here
/// mean the same there.
package struct FastPathArguments: Sendable {
    /// The words that decide which token is meant.
    package internal(set) var words = CallSignature()
    /// How long it must still be valid.
    package private(set) var freshness = Freshness()
    /// How to print it.
    package private(set) var format = TokenFormat.token
    /// The program that `exec` runs with the token, if the call prints no token.
    package private(set) var program: Program?
    private var given: [Option] = []

    /// The program that `exec` runs.
    package struct Program: Sendable, Hashable {
        /// The program as it was named, and its arguments.
        package var words: [String]
        /// How it gets the token.
        package var environment: TokenEnvironment
    }

    /// The options with a value that a plain call may have.
    package enum Option: String, CaseIterable {
        case group = "--group"
        case type = "--type"
        case account = "--account"
        case policy = "--policy"
        case scope = "--scope"
        case resource = "--resource"
        case audience = "--audience"
        case minValid = "--min-valid"
        case format = "--format"
        case variable = "--env"
        case fileVariable = "--file-env"
    }

    /// Those that `exec` has.
    package static let optionsOfExec = Option.allCases

    /// Those that a command has which prints.
    package static func options(for asker: CallSignature.Caller) -> [Option] {
        switch asker {
        case .caller: [.group, .type, .account, .policy, .scope, .resource, .audience, .minValid, .format]
        case .kubectl: [.group, .type, .account, .policy, .scope, .resource, .audience]
        case .git: [.group, .type, .account]
        }
    }

    /// Reads the words behind the program's name; `nil` for a call that is not plain.
    package init?(_ words: [String]) {
        var command: [String] = []
        var program: [String]?
        var environment = TokenEnvironment()
        var index = 0
        while index < words.count {
            let word = words[index]
            index += 1
            guard word.utf8.first == UInt8(ascii: "-") else {
                command.append(word)
                continue
            }
            switch word {
            case "--no-input", "--quiet", "-q": continue
            case "--":
                program = Array(words[index...])
                index = words.count
                continue
            default: break
            }
            let (name, attached) = Self.parts(of: word)
            var value = attached
            if value == nil, index < words.count {
                value = words[index]
                index += 1
                if value?.utf8.first == UInt8(ascii: "-") { return nil }
            }
            // Only options of every command precede the command.
            guard let option = Option(rawValue: name), !command.isEmpty || option == .group, let value,
                take(value, for: option, &environment)
            else { return nil }
        }
        if let program {
            guard command.count == 1, command[0] == "exec", !program.isEmpty else { return nil }
            self.program = Program(words: program, environment: environment)
            return
        }
        guard let asker = Self.asker(command) else { return nil }
        self.words.asker = asker
        let known = Self.options(for: asker)
        for option in given where !known.contains(option) { return nil }
    }

    /// Returns the caller of this command; git's message is not known yet.
    private static func asker(_ command: [String]) -> CallSignature.Caller? {
        switch command.count {
        case 1 where command[0] == "token": .caller
        case 1 where command[0] == "kubernetes": .kubectl
        case 2 where command[0] == "git-credential" && command[1] == "get": .git(message: [])
        default: nil
        }
    }

    private static func parts(of word: String) -> (name: String, value: String?) {
        guard let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else { return (word, nil) }
        return (String(word[..<equals]), String(word[word.utf8.index(after: equals)...]))
    }

    /// Takes an option's value; `false` for second values and bad ones.
    private mutating func take(
        _ value: String, for option: Option, _ environment: inout TokenEnvironment
    ) -> Bool {
        // An empty value is a mistake.
        if value.isEmpty { return false }
        defer { given.append(option) }
        switch option {
        case .group: return Self.put(value, &words.group)
        case .type: return Self.put(value, &words.type)
        case .account: return Self.put(value, &words.account)
        case .policy: return Self.put(value, &words.policy)
        case .resource: return Self.put(value, &words.resource)
        case .audience: return Self.put(value, &words.audience)
        case .scope:
            words.scope += value.split(separator: " ").map(String.init)
            return true
        case .minValid:
            guard !freshness.isDemanded, let seconds = DurationText.seconds(value) else { return false }
            freshness = Freshness(demanded: seconds, configured: nil)
            return true
        case .format:
            // A credential for Kubernetes depends on a variable more.
            guard !given.contains(.format), let named = TokenFormat(rawValue: value), named != .execCredential
            else {
                return false
            }
            format = named
            return true
        case .variable:
            guard !given.contains(.variable), ShellQuoting.isVariable(value) else { return false }
            environment.variable = value
            return true
        case .fileVariable:
            guard ShellQuoting.isVariable(value) else { return false }
            return Self.put(value, &environment.furtherFileVariable)
        }
    }

    private static func put(_ value: String, _ place: inout String?) -> Bool {
        if place != nil { return false }
        place = value
        return true
    }
}
