import CredentialCore

extension CommandTable {
    /// The errors in the table itself, as sentences; a test checks that the list is empty.
    package var problems: [String] {
        let named = commands.flatMap { [$0.path] + $0.aliases }
        var problems = Self.repeated(named.map { $0.joined(separator: " ") }).map { "command '\($0)' given twice" }
        for command in commands {
            problems += faults(of: command).map { "\(command.name): \($0)" }
        }
        return problems
    }

    private func faults(of command: CommandSpec) -> [String] {
        var problems: [String] = []
        let options = options(of: command)
        let names = options.map(\.name) + command.parameters.map(\.name)
        problems += Self.repeated(names).map { "name '\($0)' given twice" }
        problems += Self.repeated(options.compactMap(\.short).map(String.init)).map { "letter '\($0)' given twice" }
        if command.path.isEmpty { problems.append("has no name") }
        for length in 1..<max(1, command.path.count) where self.command(Array(command.path.prefix(length))) == nil {
            problems.append("'\(command.path.prefix(length).joined(separator: " "))' is not in the table")
        }
        if command.role == .namespace, !command.parameters.isEmpty || children(of: command.path).isEmpty {
            problems.append("a namespace has commands below it and no parameters")
        }
        if !command.parameters.isEmpty, !children(of: command.path).isEmpty {
            problems.append("a parameter and a command below it cannot be told apart")
        }
        problems += order(of: command.parameters)
        problems += texts(of: command)
        problems += inherited(by: command)
        let unknown = command.exitStatuses.filter { status in !self.exitStatuses.contains { $0.status == status } }
        problems += unknown.map { "exit status \($0) is not in the table of exit statuses" }
        return problems
    }

    /// Optional parameters come behind required ones, and a variadic one comes last.
    private func order(of parameters: [ParameterSpec]) -> [String] {
        var problems: [String] = []
        if parameters.dropLast().contains(where: { $0.arity == .variadic }) {
            problems.append("a variadic parameter is not the last")
        }
        if let optional = parameters.firstIndex(where: { $0.arity != .required }),
            parameters[optional...].contains(where: { $0.arity == .required })
        {
            problems.append("a required parameter follows an optional one")
        }
        return problems
    }

    private func texts(of command: CommandSpec) -> [String] {
        let summaries =
            [command.summary] + command.options.map(\.summary) + command.parameters.map(\.summary)
            + command.examples.map(\.purpose)
        return summaries.map(\.description).filter { $0.isEmpty || $0.hasSuffix(".") || $0.contains("\n") }
            .map { "summary '\($0)' is empty, has a full stop or is not one line" }
    }

    /// An option read before the rest of the command's words is known must have the same shape below.
    private func inherited(by command: CommandSpec) -> [String] {
        command.path.indices.dropFirst().compactMap { self.command(Array(command.path.prefix($0))) }
            .flatMap(\.options)
            .filter { above in
                command.options.contains { $0.name == above.name && ($0.value == nil) != (above.value == nil) }
            }
            .map { "option '\($0.name)' takes a value in one place and none in another" }
    }

    private static func repeated(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { !seen.insert($0).inserted }
    }
}
