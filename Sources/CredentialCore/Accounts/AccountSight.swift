/// Whether a type sees an account: they belong to the same client of the same provider.
extension Account {
    /// Refuses a type that does not see this account, as it names another client or provider than the one signed in
    /// with.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount``, naming both.
    package func check(
        seenBy type: AccountType, _ registration: ClientIdentity, in group: KeychainGroup
    ) throws(CredentialError) {
        guard registration != self.registration else { return }
        throw self.registration.notSeen(id, by: type, registration, in: group)
    }
}

extension ClientIdentity {
    /// That an account of this registration does not belong to a type. The remedy is a sign-in under the type as it
    /// is now.
    package func notSeen(
        _ account: String, by type: AccountType, _ registration: ClientIdentity, in group: KeychainGroup,
        code: ErrorCode = .noSuchAccount
    ) -> CredentialError {
        let hint = LoginHint(type: type.name, group: group == type.keychainGroup ? nil : group).hint
        return CredentialError(
            code,
            """
            account type \(type.name) does not see account \(account): the account was signed in by the client \
            \(shown), not \(registration.shown)
            """, hint: hint)
    }

    /// Client and provider, for messages.
    private var shown: String {
        "\(UntrustedText.shown(clientID, limit: 120)) (\(UntrustedText.shown(provider, limit: 200)))"
    }
}
