import CommandLine
import CredentialCore

/// `credmgr use`.
struct UseCommand: Command {
    static let spec = CommandSpec(
        ["use"], "make an account the default of its type, or of a directory",
        details: """
            Makes an account the default of its type. With --here, a rule of config.json makes it the default of \
            the current directory and its subdirectories. Without ACCOUNT, a terminal shows the accounts to choose \
            from.
            """,
        parameters: [account],
        options: [SharedOption.type, here],
        examples: [.init("another account in this directory", "credmgr use ada@example.com --here")],
        exitStatuses: [3])

    private static let account = Parameter.optional(
        "account", .account, "its ID or an ID prefix, username, subject or label")
    private static let here = Option.flag("here", "write a rule for the current directory instead")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let isHere = arguments[Self.here]
        let (group, account) =
            if let name = arguments[Self.account] {
                try AccountFinder(session).account(
                    name, type: arguments[SharedOption.type], in: (["use"], isHere ? ["--here"] : []))
            } else {
                try pick(session)
            }
        let type = arguments[SharedOption.type] ?? account.type
        if isHere { return try writeRule(for: account, in: group, type: type, session) }
        try session.services(session.stores(mayPrompt: false)).choice.choose(account, in: group)
        session.context.events.append(
            AccountEvent(
                kind: .accountUpdated, time: session.context.clock.now, group: group, type: type,
                account: account.id))
        session.notices.note("\(account.id) (\(UntrustedText.shown(account.shownName))) is the default of \(type)")
    }

    private func writeRule(
        for account: Account, in group: KeychainGroup, type: String, _ session: CommandSession
    ) throws(CredentialError) {
        let directory = try session.ruleDirectory()
        try session.write(
            try NewRule([
                ("directory", directory), ("type", type),
                ("account", try session.ruleName(of: account, in: group, type: type)),
            ]))
        session.notices.note(
            "\(account.id) (\(UntrustedText.shown(account.shownName))) is used in \(UntrustedText.shown(directory))"
        )
        for variable in ["CREDMGR_ACCOUNT", "CREDMGR_TYPE"]
        where GlobalOptions.set(variable, session.context.environment) != nil {
            session.notices.warning("\(variable) is set here and takes precedence over the rule")
        }
    }

    private func pick(_ session: CommandSession) throws(CredentialError) -> (group: KeychainGroup, account: Account)
    {
        guard session.mayAsk else {
            throw CredentialError(
                .usage, "\(Self.account.spec.value.placeholder) is missing", hint: "credmgr accounts")
        }
        let type = try arguments[SharedOption.type].map { (name) throws(CredentialError) in
            try TargetResolver(session).type(named: name)
        }
        let accounts = try session.accounts(of: type) { session.notices.warning($1.text) }
        guard let only = accounts.first else {
            throw CredentialError(.noSuchAccount, "no account is signed in", hint: session.loginHint())
        }
        if accounts.count == 1 { return only }
        // The type is part of the name: two types may have accounts of one user.
        let items = accounts.map { group, account in
            let place = group == .standard ? account.type : "\(account.type), \(group)"
            return Picker.Item(name: UntrustedText.shown("\(account.pickedName) (\(place))"))
        }
        return accounts[try session.pick("Which account?", among: items)]
    }
}

extension Account {
    /// How a list of a few words names it: a label does not hide the user name.
    var pickedName: String {
        guard let label, let username else { return shownName }
        return "\(label), \(username)"
    }
}
