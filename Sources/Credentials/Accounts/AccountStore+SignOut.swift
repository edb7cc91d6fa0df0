public import CredentialCore

extension AccountStore {
    /// Forgets an account on this machine, or one policy of it.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - name: the account type it is asked for under; the account's own for `nil`.
    ///   - policy: only this policy's sign-in, by alias or name; the account goes with its last one.
    ///   - revoking: whether the provider is asked to revoke the tokens first. If the provider has no revocation,
    ///     the call throws ``CredentialCore/ErrorCode/unsupported``, and no account is forgotten.
    /// - Throws: ``CredentialCore/ErrorCode/noSuchAccount`` for one that was forgotten already; the errors of
    ///   provider and store. Then the account is as it was.
    public func signOut(
        _ account: Account, ofType name: String? = nil, policy: String? = nil, revoking: Bool = false
    ) async throws(CredentialError) {
        try await blocking { [self] () throws(CredentialError) in
            try forget(account, ofType: name, policy: policy, revoking: revoking)
        }
    }

    /// Forgets all accounts that a type sees; all of the group, or of all groups, for `nil`.
    ///
    /// - Throws: as ``signOut(_:ofType:policy:revoking:)``, for the first that cannot be forgotten; the others are.
    public func signOutAll(ofType name: String? = nil, revoking: Bool = false) async throws(CredentialError) {
        try await blocking { [self] () throws(CredentialError) in
            let all = if let name { try accounts(ofType: name) } else { try accounts() }
            var failure: CredentialError?
            for account in all {
                do throws(CredentialError) {
                    try forget(account, ofType: name, policy: nil, revoking: revoking)
                } catch {
                    // Another process has forgotten it meanwhile, which is the wanted result.
                    if error.code != .noSuchAccount { failure = failure ?? error }
                }
            }
            if let failure { throw failure }
        }
    }

    /// The page that ends the provider's session in the browser; `nil` if the provider has no such page. To be
    /// asked for before the account is forgotten, as the page may want its id token.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/temporary``; the errors of the store.
    public func endSessionURL(
        of account: Account, ofType name: String? = nil, policy: String? = nil
    ) async throws(CredentialError) -> String? {
        try await blocking { [self] () throws(CredentialError) in
            let type = try type(name, of: account)
            let adapter = try parts.machine.adapters.adapter(of: type)
            let policy = try adapter.policy(policy, of: type)
            let accounts = parts.accounts
            let group = try group(of: account, under: type)
            let set = try accounts.repository.read(account, in: group, isLocked: false)
            // The page gets the ID token.
            if let page = type.endpoints[.endSession] {
                try parts.machine.trust.check(account, by: type.name, for: page)
            }
            return try adapter.endSessionAddress(
                set?.grants[policy], policy: policy, of: type, in: accounts.adapterContext(of: type))?.description
        }
    }

    private func forget(
        _ account: Account, ofType name: String?, policy: String?, revoking: Bool
    ) throws(CredentialError) {
        // If no definition of the type exists any more, the account can still be forgotten here.
        let isNeeded = revoking || policy != nil || name != nil
        let type = isNeeded ? try self.type(name, of: account) : try? self.type(name, of: account)
        let adapter = try type.map { (type) throws(CredentialError) in try parts.machine.adapters.adapter(of: type)
        }
        let accounts = parts.accounts
        var canonical: String?
        if let policy, let type { canonical = try adapter?.policy(policy, of: type) }
        try accounts.signOut.forget(account, policy: canonical, in: try group(of: account, under: type)) {
            (grants) throws(CredentialError) in
            guard revoking, let adapter, let type else { return }
            for (_, grant) in grants {
                try adapter.revoke(grant, of: type, in: accounts.adapterContext(of: type))
            }
        }
    }
}
