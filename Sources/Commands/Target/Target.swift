import CommandLine
package import CredentialCore

/// The target of a command: an account of a type in a keychain group, and how it was found.
package struct Target: Sendable {
    /// The keychain group.
    package let group: KeychainGroup
    /// The type.
    package let type: AccountType
    /// The account.
    package let account: Account
    /// The rule that chose the account.
    package let rule: AccountSelection.Rule
    /// Whether the type was known first, so that accounts of its group only were chosen among.
    let isOfKnownType: Bool
}

/// The options that choose a target.
package struct TargetOptions: Sendable {
    /// `--type`.
    package var type: String?
    /// `--account`.
    package var account: String?
    /// The server that the token is for, if it is known, for the rules of `config.json`.
    package var destination: Destination?

    /// Makes options.
    package init(type: String? = nil, account: String? = nil, destination: Destination? = nil) {
        self.type = type
        self.account = account
        self.destination = destination
    }

    /// Takes `--type` and `--account`.
    init(_ arguments: Arguments) {
        type = arguments[SharedOption.type]
        account = arguments[SharedOption.account]
    }
}

/// Finds types, groups and accounts (docs/how-to/choosing-accounts.md).
package struct TargetResolver: Sendable {
    let session: CommandSession

    /// Makes a resolver.
    package init(_ session: CommandSession) { self.session = session }

    /// The type named by option, environment or rule; `nil` when no type is named.
    package func typeName(_ options: TargetOptions) throws(CredentialError) -> String? {
        if let name = try namedType(options) { return name }
        return rules(options).first?.type
    }

    /// The rule that names the type, if neither option nor environment does.
    func ruleOfType(_ options: TargetOptions) throws(CredentialError) -> SelectionRule? {
        guard try namedType(options) == nil, let rule = rules(options).first, rule.type != nil else { return nil }
        return rule
    }

    /// The type named by option or environment; `nil` when no type is named.
    func namedType(_ options: TargetOptions) throws(CredentialError) -> String? {
        let name = options.type ?? GlobalOptions.set("CREDMGR_TYPE", session.context.environment)
        return try name.map { (name) throws(CredentialError) in try Identifier.checked(name, kind: .accountType) }
    }

    /// A type's definition, checked by its adapter.
    package func type(named name: String) throws(CredentialError) -> AccountType {
        let type = try session.catalog.definition(of: name).type
        try session.context.adapters.adapter(of: type).check(type)
        return type
    }

    /// The definition of the type that a rule names; an error names the location of the rule.
    private func type(named name: String, by rule: SelectionRule) throws(CredentialError) -> AccountType {
        do throws(CredentialError) { return try type(named: name) } catch {
            guard let place = session.rulePlace(rule) else { throw error }
            throw CredentialError(
                error.code, "\(place): \(error)", hint: error.advice, details: error.details)
        }
    }

    /// The group of a type: the one asked for, else the type's own.
    package func group(of type: AccountType) -> KeychainGroup { session.options.group ?? type.keychainGroup }

    /// Returns the registration that a type's accounts belong to.
    package func registration(of type: AccountType) throws(CredentialError) -> ClientIdentity {
        try ClientIdentity(of: type, session.context.adapters)
    }

    /// The account meant, and its type.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``, ``ErrorCode/unknownType``,
    ///   ``ErrorCode/configuration``.
    package func target(_ options: TargetOptions) throws(CredentialError) -> Target {
        if let name = try namedType(options) { return try target(ofType: try type(named: name), options) }
        if let rule = rules(options).first, let name = rule.type {
            return try target(ofType: try type(named: name, by: rule), options)
        }
        return try target(options, rules(options).first)
    }

    /// The account of `type` that is meant.
    package func target(ofType type: AccountType, _ options: TargetOptions) throws(CredentialError) -> Target {
        try target(ofType: type, query: try query(options, rule(options, for: type)))
    }

    /// The account of `type` that a name is meant for.
    func target(ofType type: AccountType, query: AccountSelection.AccountQuery?) throws(CredentialError) -> Target {
        try target(ofType: type, in: group(of: type), query: query, isKnown: true)
    }

    private func target(
        ofType type: AccountType, in group: KeychainGroup, query: AccountSelection.AccountQuery?, isKnown: Bool
    ) throws(CredentialError) -> Target {
        let selection = try choose(
            among: AccountSelection.Candidates(
                in: [group], of: try registration(of: type), type: type.name,
                place: "account type \(type.name) in group \(group)",
                login: LoginHint(type: type.name, group: group == type.keychainGroup ? nil : group)
                    .hint,
                use: { Self.use($0, of: type, in: group) }),
            query: query)
        return Target(
            group: group, type: type, account: selection.account, rule: selection.rule, isOfKnownType: isKnown)
    }

    /// The account that is meant if no type is named, by `rule` if there is one.
    func target(_ options: TargetOptions, _ rule: SelectionRule?) throws(CredentialError) -> Target {
        let query = query(options, rule)
        let lookup = try GroupLookup(session, for: query)
        // Only one type can be meant, and it may have a default.
        if query == nil, let target = try target(ofOnlyTypeIn: lookup) { return target }
        let sight = TypeMembership(session, self)
        let selection = try choose(by: lookup, query: query) { [session] groups, asSeen in
            AccountSelection.Candidates(
                in: groups, asSeen: asSeen, place: lookup.place(of: groups) ?? "any type",
                login: session.loginHint(), objection: { sight.objection(to: $0, in: $1) })
        }
        return Target(
            group: selection.group, type: try type(named: selection.account.type), account: selection.account,
            rule: selection.rule, isOfKnownType: false)
    }

    /// Chooses if no type is named: by the accounts that this machine has seen first. It asks clusters only about
    /// the group of theirs that has the account, or if no account is found.
    func choose(
        by lookup: GroupLookup, query: AccountSelection.AccountQuery?,
        among candidates: ([KeychainGroup], _ asSeen: Bool) -> AccountSelection.Candidates
    ) throws(CredentialError) -> AccountSelection {
        for groups in lookup.lots {
            if query == nil { try lookFirst(into: groups) }
            do throws(CredentialError) {
                let found = try chooseAsSeen(in: groups, query: query, among: candidates(groups, true))
                guard try session.context.machine.sharing.isShared(found.group) else { return found }
                return try choose(among: candidates([found.group], false), query: query)
            } catch {
                // An account that has left a shared group since it was seen there may be in another group.
                guard error.code == .noSuchAccount else { throw error }
            }
        }
        return try choose(among: candidates(lookup.last, false), query: query)
    }

    /// Chooses by the accounts that this machine has seen. If several fit, one may have left the shared group that
    /// it was seen in, so it asks the clusters before it reports several. The accounts of a cluster that does not
    /// answer stay as they were seen.
    private func chooseAsSeen(
        in groups: [KeychainGroup], query: AccountSelection.AccountQuery?,
        among candidates: AccountSelection.Candidates
    ) throws(CredentialError) -> AccountSelection {
        do throws(CredentialError) {
            return try AccountSelection.choose(among: candidates, query: query, session.context.records)
        } catch {
            guard error.code == .ambiguousAccount else { throw error }
            let sharing = session.context.machine.sharing
            let isNews = groups.map { (try? sharing.catchUp($0, unlessWithin: 0)) == true }.contains(true)
            guard isNews else { throw error }
        }
        return try AccountSelection.choose(among: candidates, query: query, session.context.records)
    }

    /// Chooses; if no account is found, a first sign-in that its store has not saved may wait to be saved.
    func choose(
        among candidates: AccountSelection.Candidates, query: AccountSelection.AccountQuery?
    ) throws(CredentialError) -> AccountSelection {
        let records = session.context.records
        do throws(CredentialError) {
            return try AccountSelection.choose(among: candidates, query: query, records)
        } catch {
            guard error.code == .noSuchAccount else { throw error }
            let accounts = session.services(session.stores())
            let isNewsThere = candidates.groups.map { accounts.takeUpSignIns(in: $0) }.contains(true)
            guard isNewsThere else {
                try tellWaiting(candidates, query, accounts)
                // If a cluster could not be asked, it is unknown whether the account exists.
                throw candidates.groups.lazy.compactMap(session.context.machine.sharing.recentFailure).first
                    ?? error
            }
        }
        return try AccountSelection.choose(among: candidates, query: query, records)
    }

    /// One that is not saved yet is no account, but it is not absent either.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` if it is the one that is meant.
    private func tellWaiting(
        _ candidates: AccountSelection.Candidates, _ query: AccountSelection.AccountQuery?,
        _ accounts: AccountServices
    ) throws(CredentialError) {
        for group in candidates.groups {
            for account in try accounts.repository.accountsWaiting(in: group) {
                guard candidates.registration.map({ $0 == account.registration }) ?? true,
                    query.map({ AccountSelection.fits($0.name, account) }) ?? true
                else { continue }
                throw CredentialError(
                    .storeUnavailable, account.signInWaits,
                    hint: "to find the cause: credmgr doctor")
            }
        }
    }

    /// The command that makes an account the default of a type.
    static func use(_ id: String, of type: AccountType, in group: KeychainGroup) -> String {
        ShellQuoting.line(
            ["credmgr", "use", id, "--type", type.name]
                + (group == type.keychainGroup ? [] : ["--group", group.name]))
    }

    /// The account of the type that every account was signed in under, if it is one, in the groups of the lookup;
    /// not while it is unknown to which type an unreadable record belongs.
    private func target(ofOnlyTypeIn lookup: GroupLookup) throws(CredentialError) -> Target? {
        let sight = TypeMembership(session, self), records = session.context.records
        for (groups, asSeen) in lookup.lots.map({ ($0, true) }) + [(lookup.last, false)] {
            if asSeen { try lookFirst(into: groups) }
            var found: (group: KeychainGroup, type: String)?
            for group in groups {
                let index =
                    (asSeen ? try records.seenIndex(of: group, .none) : try records.index(of: group, .none))
                    .withUnreadable
                guard index.unreadable.isEmpty else { return nil }
                guard let first = index.first else { continue }
                guard index.areAll(ofType: first.type) else { return nil }
                if !sight.reaches(group, of: first.type) { continue }
                guard found == nil else { return nil }
                found = (group, first.type)
            }
            guard let (group, type) = found else { continue }
            do throws(CredentialError) {
                return try target(ofType: try self.type(named: type), in: group, query: nil, isKnown: false)
            } catch {
                // As in ``choose(by:query:among:)``.
                guard error.code == .noSuchAccount, asSeen,
                    try session.context.machine.sharing.isShared(group)
                else { throw error }
            }
        }
        return nil
    }

    /// Asks the clusters of groups that this host has never looked into. A cluster without known accounts may still
    /// have some: if no account is named, one of its accounts may be the one that is meant.
    ///
    /// - Throws: a passing error of a cluster. Any other error of a group does not keep another group's account
    ///   from being found.
    private func lookFirst(into groups: [KeychainGroup]) throws(CredentialError) {
        for group in groups {
            do throws(CredentialError) {
                try session.context.machine.sharing.catchUp(group, unlessWithin: .max)
            } catch {
                if error.allowsLocalCopy { throw error }
            }
        }
    }

    private func query(_ options: TargetOptions, _ rule: SelectionRule?) -> AccountSelection.AccountQuery? {
        if let name = options.account { return AccountSelection.AccountQuery(name, rule: .option) }
        if let name = GlobalOptions.set("CREDMGR_ACCOUNT", session.context.environment) {
            return AccountSelection.AccountQuery(name, rule: .environment)
        }
        return rule?.account.map { AccountSelection.AccountQuery($0, rule: .configuration) }
    }

    /// The rules of `config.json` that fit the folder and the server, in their order.
    func rules(_ options: TargetOptions) -> [SelectionRule] {
        rulesOfFolder.filter { rule in
            guard let place = rule.place else { return true }
            return options.destination.map { place.match($0) == .yes } ?? false
        }
    }

    /// The authority on the destinations of tokens.
    var authority: TokenDestinationPolicy {
        TokenDestinationPolicy(rules: rulesOfFolder, on: session.context.machine)
    }

    private var rulesOfFolder: [SelectionRule] {
        session.configuration.rules.filter { rule in
            session.context.workingDirectories.contains { rule.fits(workingDirectory: $0, home: home) }
        }
    }

    /// The first rule that fits and is about accounts that `type` sees: a rule of another registration does not
    /// apply here.
    func rule(_ options: TargetOptions, for type: AccountType) throws(CredentialError) -> SelectionRule? {
        let registration = try registration(of: type)
        return rules(options).first { rule in
            guard let name = rule.type, name != type.name else { return true }
            guard let other = try? self.type(named: name), group(of: other) == group(of: type) else { return false }
            return (try? self.registration(of: other)) == registration
        }
    }

    private var home: String { session.context.environment["HOME"] ?? "/" }
}

/// Finds an account by a name that the user gave.
struct AccountFinder: Sendable {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// The one account that `name` fits.
    ///
    /// - Parameters:
    ///   - type: only accounts that this type sees.
    ///   - command: the words around the name, if that is an argument of its own; otherwise the name is the value
    ///     of `--account`. Behind a `--` there are no options.
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``.
    func account(
        _ name: String, type typeName: String?, in command: (before: [String], after: [String])? = nil
    ) throws(CredentialError) -> (group: KeychainGroup, account: Account) {
        if let typeName {
            let resolver = TargetResolver(session)
            let target = try resolver.target(
                ofType: try resolver.type(named: typeName), query: query(name, in: command, type: typeName))
            return (target.group, target.account)
        }
        let selection = try selection(name, in: command)
        return (selection.group, selection.account)
    }

    private func query(
        _ name: String, in command: (before: [String], after: [String])?, type: String? = nil
    ) -> AccountSelection.AccountQuery {
        guard let command else { return AccountSelection.AccountQuery(name, rule: .option) }
        var options: [String] = []
        if let type { options += ["--type", type] }
        if let group = session.options.group { options += ["--group", group.name] }
        var before = ["credmgr"] + command.before, after = command.after
        if after.first == "--" { before += options } else { after += options }
        return AccountSelection.AccountQuery(name, rule: .option) { [before, after] id in
            ShellQuoting.line(before + [id] + after)
        }
    }

    /// The one account that `name` fits, of any type, and the names it was found among.
    ///
    /// - Throws: as ``account(_:type:)``.
    func selection(
        _ name: String, in command: (before: [String], after: [String])? = nil
    ) throws(CredentialError) -> AccountSelection {
        let query = query(name, in: command)
        let lookup = try GroupLookup(session, for: query)
        return try TargetResolver(session).choose(by: lookup, query: query) { groups, asSeen in
            AccountSelection.Candidates(
                in: groups, asSeen: asSeen, place: lookup.place(of: groups) ?? "any group",
                login: session.loginHint())
        }
    }
}
