/// Which account is meant, and by which rule, in the order of docs/how-to/choosing-accounts.md.
package struct AccountSelection: Sendable {
    /// The account.
    package let account: Account
    /// Its group.
    package let group: KeychainGroup
    /// The rule that chose it.
    package let rule: Rule
    /// The names of its group that it was chosen by.
    package let names: AccountIndex

    /// The rules, in the order they are tried.
    package enum Rule: String, Sendable {
        /// `--account`.
        case option = "--account"
        /// `CREDMGR_ACCOUNT`.
        case environment = "CREDMGR_ACCOUNT"
        /// A rule of `config.json`.
        case configuration = "a rule of config.json"
        /// The type's default, set by `credmgr use`.
        case defaultAccount = "the default of the type"
        /// The only account there is.
        case onlyAccount = "the only account"
    }

    /// A wish for an account and its source.
    package struct AccountQuery: Sendable {
        /// The id, username, subject or label.
        package let name: String
        /// The rule that it comes from.
        package let rule: Rule
        /// The command that has an ID in the name's place, if the name is an argument of its own.
        package let again: (@Sendable (String) -> String)?

        /// Makes a wish.
        package init(_ name: String, rule: Rule, again: (@Sendable (String) -> String)? = nil) {
            self.name = name
            self.rule = rule
            self.again = again
        }

        /// Whether it has the form of a whole id, which is one account's in all groups.
        package var isLikeID: Bool {
            name.utf8.count == 16
                && name.utf8.allSatisfy { byte in
                    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
                }
        }
    }

    /// The accounts to choose from.
    package struct Candidates: Sendable {
        /// The groups.
        package let groups: [KeychainGroup]
        /// Whether shared groups are looked into as this machine has seen them last, and no cluster is asked.
        package let asSeen: Bool
        /// Only the accounts of this registration; all for `nil`. Only one has a default.
        package let registration: ClientIdentity?
        /// The type whose registration that is, for messages; `nil` if no type is named.
        package let type: String?
        /// The place that they belong to, for messages: "account type B2C_Account".
        package let place: LocalizedMessage
        /// The command that signs in, for hints.
        package let login: LocalizedMessage
        /// The command that makes the account of an ID the default, for hints; `nil` if a default would not decide.
        package let use: @Sendable (String) -> String?
        /// Why an account does not count though it is in one of the groups; `nil` for one that counts.
        package let objection: @Sendable (AccountIndex.Entry, KeychainGroup) -> CredentialError?

        /// Names the candidates.
        package init(
            in groups: [KeychainGroup], asSeen: Bool = false, of registration: ClientIdentity? = nil,
            type: String? = nil, place: LocalizedMessage,
            login: LocalizedMessage, use: @escaping @Sendable (String) -> String? = { _ in nil },
            objection: @escaping @Sendable (AccountIndex.Entry, KeychainGroup) -> CredentialError? = { _, _ in nil }
        ) {
            self.groups = groups
            self.asSeen = asSeen
            self.registration = registration
            self.type = type
            self.place = place
            self.login = login
            self.use = use
            self.objection = objection
        }

        fileprivate func index(
            of group: KeychainGroup, _ records: any AccountRecordStore, _ check: IndexVerification
        ) throws(CredentialError) -> AccountIndex {
            asSeen ? try records.seenIndex(of: group, check) : try records.index(of: group, check)
        }
    }

    /// How far the names are believed at first. Without a registration, only an ID is one account's regardless of
    /// the names of others. For another name it has to be known anyway that the index names all accounts.
    private static func firstCheck(_ candidates: Candidates, _ query: AccountQuery?) -> IndexVerification {
        guard let query, candidates.registration == nil else { return .none }
        return query.isLikeID ? .none : .ids
    }

    /// Chooses by the names of the index. Before it reports no account, or several, the records have to confirm
    /// that, too.
    ///
    /// - Parameter wish: the account asked for, if any.
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount`` with the list as details; the errors
    ///   of ``AccountRecordStore/read(_:in:)``.
    package static func choose(
        among candidates: Candidates, query: AccountQuery?, _ records: any AccountRecordStore
    ) throws(CredentialError) -> AccountSelection {
        do throws(CredentialError) {
            let check = firstCheck(candidates, query)
            if let selection = try choose(among: candidates, query: query, records, check) { return selection }
        } catch {
            guard error.code == .noSuchAccount || error.code == .ambiguousAccount else { throw error }
        }
        // Names other than the id may have changed in a record that the index does not know of yet.
        if let selection = try choose(among: candidates, query: query, records, .everything) {
            return selection
        }
        throw CredentialError(.noSuchAccount, "no account of \(candidates.place)", hint: candidates.login)
    }

    /// - Returns: `nil` when the record of the chosen account is gone, or is of another registration than the index
    ///   says.
    private static func choose(
        among candidates: Candidates, query: AccountQuery?, _ records: any AccountRecordStore,
        _ check: IndexVerification,
        known: [(group: KeychainGroup, index: AccountIndex)] = []
    ) throws(CredentialError) -> AccountSelection? {
        var indexes = known
        for group in candidates.groups where known.isEmpty {
            indexes.append((group, try candidates.index(of: group, records, check)))
        }
        // An account whose record cannot be read is found by the same names as before.
        let named = indexes.map { (group: $0.group, index: $0.index.withUnreadable) }
        let (group, entry, rule): (KeychainGroup, AccountIndex.Entry, Rule)
        do throws(CredentialError) {
            (group, entry, rule) = try choose(among: candidates, query: query, named)
        } catch {
            // A record that cannot be read may be the one that is meant, if its names are unknown: then its own
            // error says more.
            if error.code == .noSuchAccount {
                try tellUnreadable(check == .everything ? nil : query, named, records)
            }
            // Which of several is the default is not known, either, if one might be of their type, or of another.
            if error.code == .ambiguousAccount, query == nil, candidates.registration == nil {
                try tellUnreadable(nil, named, records)
            }
            throw error
        }
        // That it is the only one is not known while a record with unknown names cannot be read or is missing.
        // Names that do not agree with the records prove no more: rather no token than another user's. A name that
        // one account has is that account's.
        let isCertain =
            query.map { $0.name == entry.id || candidates.registration != nil }
            ?? (rule != .onlyAccount || entry.madeDefaultAt != nil)
        if !isCertain {
            if check == .none {
                var confirmed: [(group: KeychainGroup, index: AccountIndex)] = []
                for (group, index) in indexes {
                    confirmed.append(
                        (
                            group,
                            candidates.asSeen
                                ? try records.seenIndex(of: group, .ids)
                                : try records.confirmed(index, of: group, .ids)
                        ))
                }
                if !confirmed.elementsEqual(indexes, by: { $0.index == $1.index }) {
                    return try choose(among: candidates, query: query, records, .ids, known: confirmed)
                }
            }
            let isBehind = if query == nil { try tellUnreadable(nil, named, records) } else { false }
            if isBehind, check != .everything {
                return try choose(among: candidates, query: query, records, .everything)
            }
        }
        guard let names = indexes.first(where: { $0.group == group })?.index else { return nil }
        let record =
            candidates.asSeen ? try records.lastSeen(entry.id, in: group) : try records.read(entry.id, in: group)
        // An index may be a copy, as from a backup, and be undamaged: its names of the account have to be those of
        // the record.
        guard let account = record?.account, account.registration == entry.registration,
            agrees(account, entry, query, check)
        else {
            if check == .everything, names.unreadable.contains(entry.id) {
                throw CredentialError.recordIsMissing(entry.id)
            }
            return nil
        }
        return AccountSelection(account: account, group: group, rule: rule, names: names)
    }

    /// Whether the record agrees with the index about an account; if the index has just been made from the records,
    /// whether it is the one that is meant still.
    private static func agrees(
        _ account: Account, _ entry: AccountIndex.Entry, _ query: AccountQuery?, _ check: IndexVerification
    ) -> Bool {
        guard check == .everything else { return AccountIndex.Entry(account) == entry }
        return query.map { fits($0.name, account) } ?? true
    }

    /// - Returns: whether one that could not be read can be by now: the index is behind.
    /// - Throws: the error of a record that cannot be read: of the one that is named, or if no account is, of any.
    @discardableResult
    private static func tellUnreadable(
        _ query: AccountQuery?, _ indexes: [(group: KeychainGroup, index: AccountIndex)],
        _ records: any AccountRecordStore
    ) throws(CredentialError) -> Bool {
        var isBehind = false
        for (group, index) in indexes {
            for id in index.unreadable where query.map({ $0.name == id }) ?? true {
                guard try records.read(id, in: group) != nil else { throw CredentialError.recordIsMissing(id) }
                isBehind = true
            }
        }
        return isBehind
    }

    private static func choose(
        among candidates: Candidates, query: AccountQuery?, _ indexes: [(group: KeychainGroup, index: AccountIndex)]
    ) throws(CredentialError) -> (KeychainGroup, AccountIndex.Entry, Rule) {
        let registration = candidates.registration
        if let query {
            let (fitting, objection) = unobjected(
                indexes.flatMap { group, index in
                    index.matches(for: query.name, of: registration).map { (group, $0) }
                }, candidates)
            let name = UntrustedText.shown(query.name, limit: 80)
            guard let (group, entry) = best(fitting, query.name) else {
                if let objection { throw objection }
                let former = indexes.flatMap { $0.index.matches(for: query.name, of: nil) }
                if former.contains(where: { $0.type == candidates.type }) { throw none(candidates, indexes) }
                let all = indexes.flatMap { $0.index.entries(of: registration) }
                throw CredentialError(
                    .noSuchAccount, "no account '\(name)' of \(candidates.place)",
                    hint: all.isEmpty ? candidates.login : "credmgr accounts", details: all.map(line))
            }
            let rivals = fitting.filter { strength(query.name, $0.1) == strength(query.name, entry) }
            if rivals.count > 1 {
                throw ambiguous(
                    "'\(name)' fits \(rivals.count) accounts of \(candidates.place)", rivals.map(\.1),
                    hint: query.again.map { "name the account by its id, such as: \($0(entry.id))" }
                        ?? byID(entry.id, query.rule))
            }
            return (group, entry, query.rule)
        }
        let counts = indexes.map { $0.index.count(of: registration, atMost: 2) }
        let total = counts.reduce(0, +)
        if total > 1, let registration {
            for (group, index) in indexes {
                if let chosen = index.chosen(of: registration) { return (group, chosen, .defaultAccount) }
            }
        }
        let (all, objection) = unobjected(
            indexes.flatMap { group, index in index.entries(of: registration).map { (group, $0) } }, candidates)
        guard let (group, entry) = all.first else {
            throw objection ?? none(candidates, indexes)
        }
        if all.count > 1 {
            // With several types a default of one of them would still leave the type open.
            throw ambiguous(
                "\(candidates.place) has \(all.count) accounts and no default", all.map(\.1),
                hint: candidates.use(entry.id).map {
                    "use --account, or choose a default account, such as: \($0)"
                }
                    ?? ofTypes(all.map(\.1))
                    ?? "use --account, or choose an account for this terminal, such as: "
                    + "\(byID(entry.id, .environment))"
            )
        }
        return (group, entry, .onlyAccount)
    }

    /// The option that names a type, if accounts of several types match: first that of a type with one account.
    private static func ofTypes(_ entries: [AccountIndex.Entry]) -> LocalizedMessage? {
        let counts = entries.reduce(into: [String: Int]()) { $0[$1.type, default: 0] += 1 }
        guard counts.count > 1,
            let type = entries.first(where: { counts[$0.type] == 1 })?.type ?? entries.first?.type
        else { return nil }
        return "use --type, or choose a type for this terminal, such as: export CREDMGR_TYPE=\(type)"
    }

    /// Those without an objection; and the objection to the first of the others.
    private static func unobjected(
        _ entries: [(KeychainGroup, AccountIndex.Entry)], _ candidates: Candidates
    ) -> (entries: [(KeychainGroup, AccountIndex.Entry)], objection: CredentialError?) {
        guard candidates.registration == nil else { return (entries, nil) }
        var objection: CredentialError?
        let rest = entries.filter { group, entry in
            guard let error = candidates.objection(entry, group) else { return true }
            objection = objection ?? error
            return false
        }
        return (rest, objection)
    }

    /// That there is no account; if some were signed in under the type when it named another provider, those.
    private static func none(
        _ candidates: Candidates, _ indexes: [(group: KeychainGroup, index: AccountIndex)]
    ) -> CredentialError {
        let former = indexes.flatMap { $0.index.entries(of: nil).filter { $0.type == candidates.type } }
        guard let provider = former.first?.registration.shownProvider else {
            return otherEndpoints(candidates, indexes)
                ?? CredentialError(.noSuchAccount, "no account of \(candidates.place)", hint: candidates.login)
        }
        return CredentialError(
            .noSuchAccount,
            """
            no account of \(candidates.place): its accounts were signed in with a different provider or client, \
            \(UntrustedText.shown(provider, limit: 200))
            """, hint: candidates.login, details: former.map(line))
    }

    /// The error if accounts of this issuer and client exist, but under a type with other endpoints; else `nil`.
    private static func otherEndpoints(
        _ candidates: Candidates, _ indexes: [(group: KeychainGroup, index: AccountIndex)]
    ) -> CredentialError? {
        guard let registration = candidates.registration else { return nil }
        let found = indexes.flatMap { _, index in
            index.entries.filter {
                $0.registration.clientID == registration.clientID
                    && $0.registration.shownProvider == registration.shownProvider
            }
        }
        guard let first = found.first else { return nil }
        return CredentialError(
            .noSuchAccount,
            """
            no account of \(candidates.place): accounts of the same provider and client were signed in under \
            \(UntrustedText.shown(first.type, limit: 60)), with other endpoints
            """, hint: candidates.login, details: found.map(line))
    }

    /// An ID takes precedence over a name, and a name over the beginning of an ID, in any group.
    private static func best(
        _ fitting: [(KeychainGroup, AccountIndex.Entry)], _ name: String
    ) -> (KeychainGroup, AccountIndex.Entry)? {
        fitting.min { strength(name, $0.1) < strength(name, $1.1) }
    }

    private static func strength(_ name: String, _ entry: AccountIndex.Entry) -> Int {
        if entry.id == name { return 0 }
        return entry.label == name || entry.username == name || entry.subject == name ? 1 : 2
    }

    /// Whether a name fits an account: its id, the beginning of that, its label, username or subject.
    package static func fits(_ name: String, _ account: Account) -> Bool {
        AccountIndex([account]).matches(for: name, of: nil).first != nil
    }

    /// The fewest characters of an ID that identify it, if they are unique.
    static let shortestPrefix = 4

    /// How an account is named if its name also fits others.
    private static func byID(_ id: String, _ rule: Rule) -> LocalizedMessage {
        switch rule {
        case .option: "name the account by its id, such as: --account \(id)"
        case .configuration:
            "name the account by its id in the rule of config.json, such as: \"account\": \"\(id)\""
        case .environment, .defaultAccount, .onlyAccount: "export CREDMGR_ACCOUNT=\(id)"
        }
    }

    private static func ambiguous(
        _ message: LocalizedMessage, _ entries: [AccountIndex.Entry], hint: LocalizedMessage
    ) -> CredentialError {
        CredentialError(.ambiguousAccount, message, hint: hint, details: entries.map(line))
    }

    private static func line(_ entry: AccountIndex.Entry) -> String {
        "\(entry.id)  \(UntrustedText.shown(entry.type, limit: 60))  \(UntrustedText.shown(entry.shownName))"
    }
}
