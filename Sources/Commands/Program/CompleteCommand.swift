import CommandLine
import CredentialCore

/// `credmgr __complete`, for the scripts of `completion`.
struct CompleteCommand: Command {
    static let spec = CommandSpec(
        ["__complete"], role: .hidden, "print completions, for the scripts of 'completion'",
        parameters: [word])

    private static let word = Parameter.variadic(
        "word", .any("WORD"), "the words before the cursor; the last word may be incomplete")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let socket = SocketClient(session)
        try session.print(
            Completer(.standard, in: session.context.console.translations) { kind in
                if let socket { Self.names(kind, at: socket) } else { Self.names(kind, session) }
            }
            .answer(arguments[Self.word]))
    }

    /// The names of a broker's entries. At its socket the names of this machine are not read.
    private static func names(_ kind: ValueSpec.Completion, at socket: SocketClient) -> [Completer.Suggestion] {
        switch kind {
        case .accountType: return ((try? socket.entries()) ?? []).map { Completer.Suggestion($0.type) }
        case .account:
            return ((try? socket.entries()) ?? []).flatMap { [$0.username, $0.accountID].compactMap(\.self) }
                .filter { !$0.contains(" ") }.map { Completer.Suggestion($0) }
        default: return []
        }
    }

    /// The names that can be completed. Names that cannot be read have no completions: there is no user to warn.
    private static func names(_ kind: ValueSpec.Completion, _ session: CommandSession) -> [Completer.Suggestion] {
        let records = session.context.records
        switch kind {
        case .accountType: return ((try? session.catalog.entries()) ?? []).map { Completer.Suggestion($0.name) }
        case .group: return ((try? records.groups()) ?? []).map { Completer.Suggestion($0.name) }
        case .account:
            let groups = (try? records.groups()) ?? []
            // Completion after Tab does not wait for a cluster.
            return groups.flatMap { (try? records.seenIndex(of: $0, .none).entries) ?? [] }.flatMap { account in
                [account.label, account.username].compactMap(\.self).filter { !$0.contains(" ") }
                    .map { Completer.Suggestion($0) }
                    + [
                        Completer.Suggestion(
                            account.id, "\(UntrustedText.shown(account.shownName)) (\(account.type))")
                    ]
            }
        case .policy:
            return ((try? session.catalog.entries()) ?? []).flatMap { entry in
                ((try? entry.type.get().policies.keys.sorted()) ?? []).map { Completer.Suggestion($0) }
            }
        default: return []
        }
    }
}
