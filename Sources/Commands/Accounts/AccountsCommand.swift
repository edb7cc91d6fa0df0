import CommandLine
import CredentialCore

/// `credmgr accounts`: from the records' facts alone, so it works while the keyring is locked.
struct AccountsCommand: Command {
    static let spec = CommandSpec(
        ["accounts"], aliases: [["accounts", "list"], ["accounts", "ls"]], "list the accounts that are signed in",
        details: """
            Lists the accounts of the group, or of all groups if you name no group, with their status, their \
            default and the store of their secrets. It works while the keyring is locked. A terminal shows the \
            group and the store only if they differ, and only the beginning of each ID.
            """,
        options: [SharedOption.type, wide, SharedOption.json])

    private static let wide = Option.flag("wide", "show every column and full IDs, also on a terminal")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let type = try arguments[SharedOption.type].map { (name) throws(CredentialError) in
            try TargetResolver(session).type(named: name)
        }
        let registration = try type.map { (type) throws(CredentialError) in
            try TargetResolver(session).registration(of: type)
        }
        var rows: [AccountPresentation] = []
        var missing: [String: Bool] = [:]
        var all: [Account] = []
        var isAnyLeftOut = false
        for (group, registry, isWhole) in try session.registries(
            of: type,
            leftOut: {
                isAnyLeftOut = true
                session.notices.warning($1.text)
            })
        {
            all += registry.accounts
            let defaults = DefaultAccounts(registry, isWhole: isWhole)
            let undecryptable = session.undecryptable(in: group)
            for var account in registry.accounts where registration == nil || account.registration == registration {
                if undecryptable.contains(account.id) { account.noteUndecryptable() }
                // A definition that cannot be read exists, and `doctor` reports its fault.
                let isMissing = missing[account.type] ?? ((try? session.catalog.isDefined(account.type)) == false)
                missing[account.type] = isMissing
                rows.append(
                    AccountPresentation(
                        account, group: group, isDefault: defaults.contains(account), isTypeMissing: isMissing))
            }
        }
        if arguments.wantsJSON { return try session.print(AccountPresentation.json(rows)) }
        let known = all
        if rows.isEmpty {
            // An account that cannot be read is signed in.
            if !isAnyLeftOut { session.notices.note("no account is signed in") }
        } else {
            try session.print(
                AccountTable(rows, shortIDs: ShortIDs(known), now: session.context.clock.now),
                isWide: arguments[Self.wide])
        }
        for row in rows { if let note = row.ending(now: session.context.clock.now) { session.notices.note(note) } }
    }
}

extension CommandSession {
    /// Prints a list of accounts: on a terminal by its width, else with all that there is.
    func print(_ table: AccountTable, isWide: Bool) throws(CredentialError) {
        guard context.console.resultIsTerminal else { return try print(table.whole) }
        try print(
            table.text(
                AccountTable.Form(
                    width: context.console.width, hasColour: coloursResult, isWide: isWide,
                    isList: !TerminalCapabilities.repaints(context.environment)),
                in: context.console.translations))
    }

    /// Whether the result is shown in colours.
    var coloursResult: Bool {
        ErrorRenderer.colourIsWanted(
            isTerminal: context.console.resultIsTerminal, environment: context.environment)
    }

    /// The accounts of a group that have only a sign-in in the journal that no key opens any more. If the journal
    /// is empty, as nearly always, no store is opened for that; an error here is not reported.
    func undecryptable(in group: KeychainGroup) -> Set<String> {
        guard let waiting = try? context.journal.accounts(in: group), !waiting.isEmpty else { return [] }
        let repository = services(stores(mayPrompt: false)).repository
        return Set(((try? repository.undecryptableSignIns(in: group)) ?? []).map(\.account.id))
    }
}

extension Account {
    /// Shows that the account has to sign in again, which its record does not say.
    mutating func noteUndecryptable() { status = .needsLogin(reason: TokenSetRepository.undecryptableReason) }
}
