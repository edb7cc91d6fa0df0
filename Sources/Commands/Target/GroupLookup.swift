import CredentialCore
import Synchronization

/// In which groups an account is looked for that no type is named for (decision 18).
struct GroupLookup: Sendable {
    /// The group that is named: by option or environment, else by `config.json`.
    private let named: KeychainGroup?
    /// The groups that are looked through one lot after the other, as this machine has seen them last, until one
    /// has the account.
    let lots: [[KeychainGroup]]
    /// The groups that are looked through if no other group has the account; of these clusters are asked.
    let last: [KeychainGroup]

    /// Finds the groups to search for the account that is wished for.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    init(_ session: CommandSession, for query: AccountSelection.AccountQuery?) throws(CredentialError) {
        named = session.namedGroup
        // An ID is one account's in all groups; but if the command line names a group, that group applies.
        let isAnyGroups = session.options.group == nil && query?.isLikeID == true
        if let named, !isAnyGroups {
            (lots, last) = ([], [named])
            return
        }
        let all = try session.context.records.groups()
        lots = isAnyGroups ? [all] : [[.standard], all]
        last = named.map { [$0] } ?? all
    }

    /// Returns the groups that were searched, for messages; `nil` for every group.
    func place(of groups: [KeychainGroup]) -> LocalizedMessage? {
        if groups == [named] || groups == [.standard] && lots.first == groups { return "group \(groups[0])" }
        return nil
    }
}

/// Whether the types that accounts were signed in under see them still. Each definition is read once.
final class TypeMembership: Sendable {
    private struct View: Hashable {
        let type: String
        let registration: ClientIdentity
        let group: KeychainGroup
    }

    private let session: CommandSession
    private let resolver: TargetResolver
    private let known = Mutex<[View: Bool]>([:])

    init(_ session: CommandSession, _ resolver: TargetResolver) {
        self.session = session
        self.resolver = resolver
    }

    /// Why an account does not belong to its type any more. It is `nil` for one that does, and if the type cannot
    /// be used: that is reported if the account is chosen.
    func objection(to entry: AccountIndex.Entry, in group: KeychainGroup) -> CredentialError? {
        let view = View(type: entry.type, registration: entry.registration, group: group)
        if known.withLock({ $0[view] }) == true { return nil }
        let objection = objection(to: entry.id, view)
        if objection == nil { known.withLock { $0[view] = true } }
        return objection
    }

    private func objection(to id: String, _ view: View) -> CredentialError? {
        guard let type = try? resolver.type(named: view.type),
            let registration = try? resolver.registration(of: type)
        else { return nil }
        if !reaches(view.group, type) {
            return CredentialError(
                .noSuchAccount,
                """
                account \(id) is in group \(view.group), but account type \(type.name) sees only group \
                \(type.keychainGroup)
                """,
                hint: "name the group of the account: --group \(view.group)")
        }
        return registration == view.registration
            ? nil : view.registration.notSeen(id, by: type, registration, in: view.group)
    }

    /// Whether the accounts that a group has of a type are among those that are looked for without a type.
    func reaches(_ group: KeychainGroup, of type: String) -> Bool {
        (try? resolver.type(named: type)).map { reaches(group, $0) } ?? true
    }

    /// If no group is named, a type that names one sees no account of the others; a type without a group belongs to
    /// the group in which the user has signed in to it.
    private func reaches(_ group: KeychainGroup, _ type: AccountType) -> Bool {
        session.namedGroup != nil || type.keychainGroup == .standard || type.keychainGroup == group
    }
}
