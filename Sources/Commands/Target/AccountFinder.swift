import CredentialCore

/// Finds an account by a name that the user gave, in the group asked for or in all.
struct AccountFinder: Sendable {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// The one account that `name` fits.
    ///
    /// - Parameter type: only accounts that this type sees.
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``.
    func account(
        _ name: String, type typeName: String?
    ) throws(CredentialError) -> (group: KeychainGroup, account: Account) {
        if let typeName {
            let resolver = TargetResolver(session)
            let target = try resolver.target(
                ofType: try resolver.type(named: typeName), TargetOptions(type: typeName, account: name))
            return (target.group, target.account)
        }
        let selection = try TargetResolver(session).choose(
            among: AccountSelection.Candidates(
                in: try session.groups(), place: session.options.group.map { "group \($0)" } ?? "any group",
                login: session.loginHint()),
            wish: AccountSelection.Wish(name, rule: .option))
        return (selection.group, selection.account)
    }
}
