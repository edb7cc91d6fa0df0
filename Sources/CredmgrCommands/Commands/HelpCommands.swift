import CredentialCore

/// `credmgr help`.
struct HelpCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        if arguments.flag("man") {
            return try session.print(ManualPage(.standard).source(version: Program.version))
        }
        try session.print(
            try HelpText(.standard, width: session.context.console.width).about(arguments.strings("command")))
    }
}

/// `credmgr completion`.
struct CompletionCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        guard let shell: Shell = try arguments.choice("shell") else {
            throw CredentialError(.usage, "name the shell: bash, zsh or fish")
        }
        try session.print(shell.completionScript)
    }
}

/// `credmgr __complete`, for the scripts of `completion`.
struct CompleteCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        try session.print(
            Completer(.standard) { Self.names($0, session) }.answer(arguments.strings("word")))
    }

    /// The names that can be completed. What cannot be read has no completions: there is nobody to tell.
    private static func names(_ kind: ValueSpec.Completion, _ session: Session) -> [String] {
        let registry = session.context.registry
        switch kind {
        case .accountType: return (try? session.catalog.entries().map(\.name)) ?? []
        case .group: return (try? registry.groups().map(\.name)) ?? []
        case .account:
            let groups = (try? registry.groups()) ?? []
            return groups.flatMap { (try? registry.read($0).accounts) ?? [] }.flatMap { account in
                [account.label, account.username].compactMap(\.self).filter { !$0.contains(" ") } + [account.id]
            }
        case .policy:
            return ((try? session.catalog.entries()) ?? []).flatMap { entry in
                (try? entry.type.get().policies.keys.sorted()) ?? []
            }
        default: return []
        }
    }
}
