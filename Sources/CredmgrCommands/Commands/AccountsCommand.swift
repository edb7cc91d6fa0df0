import CredentialCore

/// `credmgr accounts`: from the registry alone, so it works while the keyring is locked.
struct AccountsCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let resolver = TargetResolver(session)
        let typeName = arguments.string("type")
        let type = try typeName.map { (name) throws(CredentialError) in try resolver.type(named: name) }
        var rows: [AccountPresentation] = []
        let groups = if let type { [resolver.group(of: type)] } else { try session.groups() }
        let registration = try type.map { (type) throws(CredentialError) in try resolver.registration(of: type) }
        for group in groups {
            let registry = try session.context.registry.read(group)
            let defaults = DefaultAccounts(registry)
            for account in registry.accounts where registration == nil || account.registration == registration {
                let isDefault = defaults.contains(account, of: type?.name ?? account.type)
                rows.append(AccountPresentation(account, group: group, isDefault: isDefault))
            }
        }
        if arguments.wantsJSON { return try session.print(AccountPresentation.json(rows)) }
        if rows.isEmpty {
            session.notices.note("no account is signed in")
        } else {
            try session.print(AccountPresentation.table(rows, now: session.context.clock.now))
        }
    }
}

/// `credmgr use`.
struct UseCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let (group, account) = try AccountFinder(session).account(
            try arguments.required("account"), type: arguments.string("type"))
        let type = arguments.string("type") ?? account.type
        try session.context.registry.update(group) { (registry) throws(CredentialError) in
            registry.defaults[type] = account.id
        }
        session.context.events.append(
            AccountEvent(
                kind: .accountUpdated, time: session.context.clock.now, group: group, type: type,
                account: account.id))
        session.notices.note("\(account.id) (\(ForeignText.shown(account.shownName))) is the default of \(type)")
    }
}

/// `credmgr label`.
struct LabelCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let (group, account) = try AccountFinder(session).account(try arguments.required("account"), type: nil)
        let text = try arguments.required("text")
        guard ForeignText.shown(text, limit: 200) == text else {
            throw CredentialError(.usage, "a label has at most 200 characters, none of them invisible")
        }
        try session.context.registry.update(group) { (registry) throws(CredentialError) in
            let others = registry.accounts.filter { $0.id != account.id }
            guard text.isEmpty || AccountSelection.matches(for: text, among: others).isEmpty else {
                throw CredentialError(.usage, "another account of group \(group) goes by that name already")
            }
            registry[id: account.id]?.label = text.isEmpty ? nil : text
            registry[id: account.id]?.updatedAt = session.context.clock.now
        }
        session.context.events.append(
            AccountEvent(
                kind: .accountUpdated, time: session.context.clock.now, group: group, type: account.type,
                account: account.id))
    }
}

/// `credmgr which`.
struct WhichCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let target = try TargetResolver(session).target(TargetOptions(type: arguments.string("type")))
        var line = "\(target.account.id)\t\(target.type.name)\t\(ForeignText.shown(target.account.shownName))"
        if arguments.flag("explain") { line += "\tby \(target.rule.rawValue)" }
        try session.print(line + "\n")
    }
}

/// The accounts that `token` would take where nothing names one.
private struct DefaultAccounts {
    private let chosen: [String: String]
    private var counts: [Registration: Int] = [:]

    init(_ registry: AccountRegistry) {
        chosen = registry.defaults
        for account in registry.accounts { counts[account.registration, default: 0] += 1 }
    }

    /// Whether an account is the default of the type, or the only account of its registration.
    func contains(_ account: Account, of type: String) -> Bool {
        if let id = chosen[type] { return id == account.id }
        return counts[account.registration] == 1
    }
}
