import StrictJSON

/// Takes sign-ins over from files and puts them into one: the work of `accounts import`, `accounts export` and a
/// program.
package struct AccountTransfer: Sendable {
    /// The account services that it uses.
    package let accounts: AccountServices
    let group: KeychainGroup?
    let definition: @Sendable (_ name: String) throws(CredentialError) -> AccountType
    let note: @Sendable (LocalizedMessage) -> Void

    /// Prepares one.
    ///
    /// - Parameters:
    ///   - group: the group that accounts go to; `nil` for their own.
    ///   - definition: gives the type of a name.
    ///   - note: takes messages that the user may want to know.
    package init(
        _ accounts: AccountServices, group: KeychainGroup?,
        definition: @escaping @Sendable (_ name: String) throws(CredentialError) -> AccountType,
        note: @escaping @Sendable (LocalizedMessage) -> Void
    ) {
        self.accounts = accounts
        self.group = group
        self.definition = definition
        self.note = note
    }

    var catalog: AccountTypeCatalog { accounts.machine.catalog }
    var adapters: AdapterRegistry { accounts.machine.adapters }

    func warn(_ text: LocalizedMessage) { accounts.policy.warn(text) }

    func registration(of type: AccountType) throws(CredentialError) -> ClientIdentity {
        try ClientIdentity(of: type, adapters)
    }

    // MARK: Out

    /// Sign-ins with their types and the types' secrets. Those that have ended are left out, and named; so are
    /// those of shared groups, whose refresh tokens the hosts of the group go on using: one more user of them would
    /// end the sign-in.
    ///
    /// - Parameters:
    ///   - chosen: the accounts.
    ///   - missing: takes why an account is left out whose token set is damaged; an error that it throws ends this.
    /// - Throws: ``ErrorCode/noSuchAccount`` if no account is left; ``ErrorCode/usage`` if that is because all are
    ///   of shared groups; the errors of the stores and of `missing`. If no other account is left, it throws the
    ///   error of a damaged token set.
    package func archive(
        of chosen: [(group: KeychainGroup, account: Account)],
        missing: (CredentialError) throws(CredentialError) -> Void
    ) throws(CredentialError) -> AccountExport {
        var archive = AccountExport()
        let local = chosen.filter { $0.account.store != .etcd }
        if let (group, _) = chosen.first(where: { $0.account.store == .etcd }), local.isEmpty {
            throw CredentialError(
                .usage,
                "cannot export the shared group \(group): its hosts still use the refresh tokens, and a refresh by "
                    + "another machine would end the grants",
                hint: "add the other machine to the group; on that machine: credmgr groups join --help")
        }
        for (group, account) in chosen where account.store == .etcd {
            warn(
                "\(UntrustedText.shown(account.shownName)) (\(account.id)) is left out: the shared group \(group) "
                    + "still uses its refresh token; add the other machine to the group instead")
        }
        var damage: CredentialError?
        for (group, account) in local {
            let set: TokenSet?
            do throws(CredentialError) {
                set = try accounts.repository.read(account, in: group, isLocked: false)
            } catch {
                guard error.code == .storeDamaged else { throw error }
                damage = error
                try missing(
                    CredentialError(
                        error.code, "account \(account.id) of group \(group) is left out: \(error)",
                        hint: error.advice, details: error.details))
                continue
            }
            guard let set, set.allGrants.contains(where: { $0.grant.lostReason == nil }) else {
                warn(
                    "\(UntrustedText.shown(account.shownName)) (\(account.id)) must sign in again and is left out"
                )
                continue
            }
            archive.accounts.append(AccountExport.Entry(group: group, tokenSet: set))
            try add(account.type, to: &archive)
        }
        guard !archive.accounts.isEmpty else {
            throw damage
                ?? CredentialError(.noSuchAccount, "no account to export", hint: "credmgr accounts")
        }
        return archive
    }

    /// Adds a type and the secrets of it that a store keeps.
    private func add(_ name: String, to archive: inout AccountExport) throws(CredentialError) {
        guard !archive.types.contains(where: { $0.name == name }) else { return }
        let type: AccountType
        do throws(CredentialError) { type = try definition(name) } catch {
            warn("account type \(name) is not exported: \(error)")
            return
        }
        archive.types.append((name, type.json))
        let secrets = accounts.adapterContext.clientSecrets
        if type.clientSecret == .store, let text = try secrets.clientSecret(of: type) {
            let item = SecretItem(group: type.keychainGroup, owner: name, kind: .clientSecret)
            archive.secrets.append(AccountExport.TypeSecret(item: item, text: text))
        }
        if type.privateKey == .store, let text = try secrets.privateKey(of: type) {
            let item = SecretItem(group: type.keychainGroup, owner: name, kind: .privateKey)
            archive.secrets.append(AccountExport.TypeSecret(item: item, text: text))
        }
    }

    /// An archive as it is written to a file, under a passphrase.
    ///
    /// - Throws: as ``EncryptedExport/seal(_:passphrase:random:_:)``.
    package func sealed(_ archive: AccountExport, passphrase: Secret) throws(CredentialError) -> [UInt8] {
        if PassphraseRules.isWeak(passphrase) {
            warn(
                "the passphrase has fewer than \(PassphraseRules.shortest) characters: attackers with the file can "
                    + "guess it"
            )
        }
        let document = try EncryptedExport.seal(
            archive, passphrase: passphrase, random: accounts.machine.random, accounts.machine.cryptography)
        return JSONValue.object(document).bytes(.indented) + [UInt8(ascii: "\n")]
    }
}
