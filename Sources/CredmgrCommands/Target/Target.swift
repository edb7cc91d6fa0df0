package import CredentialCore

/// What a command is about: an account of a type in a keychain group, and how it was found.
package struct Target: Sendable {
    /// The keychain group.
    package let group: KeychainGroup
    /// The type.
    package let type: AccountType
    /// The account.
    package let account: Account
    /// The rule that chose the account.
    package let rule: AccountSelection.Rule
}

/// The options that choose a target.
package struct TargetOptions: Sendable {
    /// `--type`.
    package var type: String?
    /// `--account`.
    package var account: String?
    /// The host that a helper was asked for, for the rules of `config.json`.
    package var host: String?

    /// Makes options.
    package init(type: String? = nil, account: String? = nil, host: String? = nil) {
        self.type = type
        self.account = account
        self.host = host
    }

    /// Takes `--type` and `--account`.
    init(_ arguments: ParsedArguments) {
        type = arguments.string("type")
        account = arguments.string("account")
    }
}

/// Finds types, groups and accounts by contract §5.
package struct TargetResolver: Sendable {
    private let session: Session

    /// Makes a resolver.
    package init(_ session: Session) { self.session = session }

    /// The type named by option, environment or rule; `nil` when none is.
    package func typeName(_ options: TargetOptions) throws(CredentialError) -> String? {
        if let name = try namedType(options) { return name }
        return rules(options).first?.type
    }

    /// The type named by option or environment; `nil` when none is.
    func namedType(_ options: TargetOptions) throws(CredentialError) -> String? {
        let name = options.type ?? GlobalOptions.set("CREDMGR_TYPE", session.context.environment)
        return try name.map { (name) throws(CredentialError) in try Name.checked(name, kind: "account type") }
    }

    /// A type's definition, checked by its adapter.
    package func type(named name: String) throws(CredentialError) -> AccountType {
        let type = try session.catalog.definition(of: name).type
        try session.context.adapters.adapter(of: type).check(type)
        return type
    }

    /// The group of a type: the one asked for, else the type's own.
    package func group(of type: AccountType) -> KeychainGroup { session.options.group ?? type.keychainGroup }

    /// What a type's accounts belong to.
    package func registration(of type: AccountType) throws(CredentialError) -> Registration {
        Registration(
            provider: try session.context.adapters.adapter(of: type).provider(of: type), clientID: type.clientID)
    }

    /// The account meant, and its type.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``, ``ErrorCode/unknownType``,
    ///   ``ErrorCode/configuration``.
    package func target(_ options: TargetOptions) throws(CredentialError) -> Target {
        if let name = try typeName(options) { return try target(ofType: try type(named: name), options) }
        return try target(options, rules(options).first)
    }

    /// The account of `type` that is meant.
    package func target(ofType type: AccountType, _ options: TargetOptions) throws(CredentialError) -> Target {
        try target(ofType: type, in: group(of: type), wish: wish(options, rule(options, for: type)))
    }

    private func target(
        ofType type: AccountType, in group: KeychainGroup, wish: AccountSelection.Wish?
    ) throws(CredentialError) -> Target {
        let registry = try session.context.registry.read(group)
        let selection = try AccountSelection.choose(
            among: registry.accounts(of: try registration(of: type)), wish: wish,
            defaultID: registry.defaults[type.name], place: "account type \(type.name) in group \(group)",
            login: "credmgr login --type \(type.name)", use: "credmgr use ACCOUNT --type \(type.name)")
        return Target(group: group, type: type, account: selection.account, rule: selection.rule)
    }

    /// The groups to look in when no type names one: the one asked for, else the configured default, else all.
    package func groups() throws(CredentialError) -> [KeychainGroup] {
        if let group = session.options.group ?? session.configuration.defaultGroup { return [group] }
        return try session.context.registry.groups()
    }

    /// The account that is meant where no type is named, by `rule` if there is one.
    func target(_ options: TargetOptions, _ rule: AccountRule?) throws(CredentialError) -> Target {
        var candidates: [(group: KeychainGroup, account: Account)] = []
        for group in try groups() {
            candidates += try session.context.registry.read(group).accounts.map { (group, $0) }
        }
        let wish = wish(options, rule)
        if wish == nil, let first = candidates.first,
            candidates.allSatisfy({ $0.group == first.group && $0.account.type == first.account.type })
        {
            // Only one type can be meant, and it may have a default.
            return try target(ofType: try type(named: first.account.type), in: first.group, wish: nil)
        }
        let selection = try AccountSelection.choose(
            among: candidates.map(\.account), wish: wish, defaultID: nil,
            place: session.options.group.map { "group \($0)" } ?? "any type", login: "credmgr login --type TYPE")
        guard let found = candidates.first(where: { $0.account.id == selection.account.id }) else {
            throw CredentialError(.internalFault, "the chosen account is not among the candidates")
        }
        return Target(
            group: found.group, type: try type(named: found.account.type), account: found.account,
            rule: selection.rule)
    }

    private func wish(_ options: TargetOptions, _ rule: AccountRule?) -> AccountSelection.Wish? {
        if let name = options.account { return AccountSelection.Wish(name, rule: .option) }
        if let name = GlobalOptions.set("CREDMGR_ACCOUNT", session.context.environment) {
            return AccountSelection.Wish(name, rule: .environment)
        }
        return rule?.account.map { AccountSelection.Wish($0, rule: .configuration) }
    }

    /// The rules of `config.json` that fit the folder and the host, in their order.
    func rules(_ options: TargetOptions) -> [AccountRule] {
        session.configuration.rules.filter { rule in
            session.context.workingDirectories.contains {
                rule.fits(workingDirectory: $0, host: options.host, home: home)
            }
        }
    }

    /// The first rule that fits and is about accounts that `type` sees: that of another registration says nothing here.
    func rule(_ options: TargetOptions, for type: AccountType) throws(CredentialError) -> AccountRule? {
        let registration = try registration(of: type)
        return rules(options).first { rule in
            guard let name = rule.type, name != type.name else { return true }
            guard let other = try? self.type(named: name), group(of: other) == group(of: type) else { return false }
            return (try? self.registration(of: other)) == registration
        }
    }

    private var home: String { session.context.environment["HOME"] ?? "/" }
}
