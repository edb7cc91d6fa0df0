import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr rules`.
struct RulesCommand: Command {
    static let spec = CommandSpec(
        ["rules"], aliases: [["rules", "list"], ["rules", "ls"]], "list the rules that choose accounts",
        details: """
            Lists the rules of config.json. Each rule selects an account for a directory or a server. The first \
            rule that matches applies.
            """,
        options: [SharedOption.json])

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let rules = session.configuration.rules
        if arguments.wantsJSON {
            return try session.print(.array(rules.indices.map { json(of: rules[$0], number: $0 + 1, session) }))
        }
        guard !rules.isEmpty else {
            return session.notices.note(
                "no rule is defined; to define a rule for this directory: credmgr use --here")
        }
        var table = Table(["NUMBER", "DIRECTORY", "SERVER", "TYPE", "ACCOUNT", "HERE"], whole: ["NUMBER", "HERE"])
        for (index, rule) in rules.enumerated() {
            let here: LocalizedMessage = rule.isHere(session) ? "yes" : "no"
            table.add([
                LocalizedMessage(verbatim: String(index + 1)), LocalizedMessage(verbatim: rule.directory ?? "-"),
                LocalizedMessage(verbatim: rule.place?.description ?? "-"),
                LocalizedMessage(verbatim: rule.type ?? "-"),
                LocalizedMessage(verbatim: rule.account ?? "-"), here,
            ])
        }
        try session.print(table)
    }

    private func json(of rule: SelectionRule, number: Int, _ session: CommandSession) -> JSONValue {
        [
            "number": .integer(Int64(number)),
            "directory": JSONValue(rule.directory),
            "host": JSONValue(rule.hostAndPort),
            "path": JSONValue(rule.place?.path),
            "type": JSONValue(rule.type),
            "account": JSONValue(rule.account),
            "username": JSONValue(rule.username),
            "here": .bool(rule.isHere(session)),
            "file": .string(session.context.configurationFile),
            "line": JSONValue(session.rulePlace(rule)?.line.map(Int64.init)),
        ]
    }
}

extension SelectionRule {
    /// The host as the rule names it, with the port.
    var hostAndPort: String? {
        place.map { place in
            let path = place.path.map { "/" + $0 } ?? ""
            return String(place.description.dropLast(path.count))
        }
    }

    /// Whether the directory of this call is one that the rule is for.
    func isHere(_ session: CommandSession) -> Bool {
        let home = session.context.environment["HOME"] ?? "/"
        return session.context.workingDirectories.contains { fits(workingDirectory: $0, home: home) }
    }
}

/// The options for the place and type of a rule.
private enum RuleOption {
    static let directory = Option.value(
        "directory", .any("DIRECTORY"), "the directory with all below it, or a pattern with '*'")
    /// The directory that was given, as a rule writes it.
    static func pattern(_ arguments: Arguments, _ session: CommandSession) throws(CredentialError) -> String? {
        guard let text = arguments[directory] else { return nil }
        return try session.ruleDirectory(text)
    }

    static let host = Option.value("host", .any("HOST"), "the server: a host name, or host:port")
    static let path = Option.value("path", .any("PATH"), "the path on the server that the rule is for")
}

/// `credmgr rules add`.
struct RulesAddCommand: Command {
    static let spec = CommandSpec(
        ["rules", "add"], "add a rule that chooses an account",
        details: """
            Writes a rule to config.json that selects this type or account for a directory or a server. It \
            replaces a rule for the same place. The new rule comes before less specific rules. A rule with a host \
            also lets credmgr send tokens of the account to that server.
            """,
        options: [
            RuleOption.directory, RuleOption.host, RuleOption.path, SharedOption.type, SharedOption.account,
            username,
        ],
        examples: [
            .init("one account for a directory", "credmgr rules add --directory ~/work --account ada@example.com"),
            .init("one account for a server", "credmgr rules add --host git.example.com --type Work"),
        ], exitStatuses: [3])

    private static let username = Option.value(
        "username", .any("NAME"), "the user name that the server requires with a token")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        guard arguments[RuleOption.directory] != nil || arguments[RuleOption.host] != nil else {
            throw CredentialError(.usage, "--directory or --host is required", hint: "credmgr rules add --help")
        }
        var type = arguments[SharedOption.type], name: String?
        if let type { _ = try TargetResolver(session).type(named: type) }
        if let wanted = arguments[SharedOption.account] {
            let (group, account) = try AccountFinder(session).account(wanted, type: type)
            let known = type ?? account.type
            type = known
            name = try session.ruleName(of: account, in: group, type: known)
        }
        guard type != nil else {
            throw CredentialError(.usage, "--type or --account is required", hint: "credmgr rules add --help")
        }
        let new = try NewRule([
            ("directory", try RuleOption.pattern(arguments, session)), ("host", arguments[RuleOption.host]),
            ("path", arguments[RuleOption.path]), ("type", type), ("account", name),
            ("username", arguments[Self.username]),
        ])
        let file = UntrustedText.shown(session.context.configurationFile)
        if let replaced = try session.write(new) {
            session.notices.note("replaced in \(file): \(UntrustedText.shown(replaced)) by \(new.text)")
        } else {
            session.notices.note("added to \(file): \(new.text)")
        }
    }
}

/// `credmgr rules remove`.
struct RulesRemoveCommand: Command {
    static let spec = CommandSpec(
        ["rules", "remove"], aliases: [["rules", "rm"]], "remove a rule that chooses an account",
        details: """
            Removes one rule of config.json. Name the rule by its number in 'credmgr rules', or by its directory \
            or server.
            """,
        parameters: [number],
        options: [RuleOption.directory, RuleOption.host, RuleOption.path, SharedOption.type],
        examples: [.init("remove the second rule", "credmgr rules remove 2")])

    private static let number = Parameter.optional("number", .any("NUMBER"), "the number of the rule")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let directory = try RuleOption.pattern(arguments, session), host = arguments[RuleOption.host]
        let path = arguments[RuleOption.path], type = arguments[SharedOption.type], number = arguments[Self.number]
        guard number != nil || directory != nil || host != nil || type != nil else {
            throw CredentialError(.usage, "\(Self.number.spec.value.placeholder) is missing", hint: "credmgr rules")
        }
        let (index, file) = try RuleFile.change(session) { (file) throws(CredentialError) in
            let index = try Self.index(in: file.rules) { index, rule in
                (number.map { $0 == String(index + 1) } ?? true)
                    && (directory.map { $0 == rule.directory } ?? true)
                    && (host.map { DestinationPattern($0, path: path) == rule.place } ?? true)
                    && (type.map { $0 == rule.type } ?? true)
            }
            guard let text = file.removing(index) else {
                throw CredentialError(
                    .configuration, "the rules of \(UntrustedText.shown(file.path)) cannot be found")
            }
            return (text, (index, file.path))
        }
        session.notices.note("removed rule \(index + 1) from \(UntrustedText.shown(file))")
    }

    /// The number, from 0, of the one rule that fits.
    ///
    /// - Throws: ``ErrorCode/usage`` if no rule fits, or several do.
    private static func index(
        in rules: [SelectionRule], where fits: (Int, SelectionRule) -> Bool
    ) throws(CredentialError) -> Int {
        let found = rules.indices.filter { fits($0, rules[$0]) }
        guard let index = found.first else {
            throw CredentialError(.usage, "there is no such rule", hint: "credmgr rules")
        }
        guard found.count == 1 else {
            throw CredentialError(
                .usage, "\(found.count) rules match; name one by its number", hint: "credmgr rules")
        }
        return index
    }
}
