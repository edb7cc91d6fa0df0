extension AccountTransfer {
    /// Takes over the accounts that another machine exported. Data that is here already stays unchanged.
    ///
    /// - Parameters:
    ///   - store: the store that accounts are put into.
    ///   - taken: called with each account that is taken over.
    /// - Returns: why others are useless now: an account that has to sign in again does not keep the others back.
    /// - Throws: ``ErrorCode/configuration`` for a type that cannot be used here; the errors of the stores; the
    ///   errors of `taken`.
    package func take(
        _ archive: AccountExport, into store: StoreKind, taken: (Account) throws(CredentialError) -> Void
    ) throws(CredentialError) -> [CredentialError] {
        var new: [(name: String, type: AccountType)] = []
        for (name, definition) in archive.types where try !isKnown(name) {
            let type = try AccountType(
                name: name, json: definition, isPrivateFile: true, place: "the exported file")
            try adapters.adapter(of: type).check(type)
            if let key = type.keysOfThisMachine.first {
                throw CredentialError(
                    .configuration,
                    "the exported file cannot define account type \(name): \(key) names something of this machine",
                    hint: "define the type first, with 'credmgr types import' or 'credmgr types add'")
            }
            new.append((name, type))
        }
        for (name, type) in new {
            let path = try accounts.ownDefinitions.put(type, force: false, by: .imported)
            for secret in archive.secrets where secret.item.owner == name {
                let item = try ClientBindings(accounts.machine).item(secret.item.kind, of: type)
                // Another type of the client has it here: the present secret stays as it is.
                guard !accounts.ownDefinitions.isKept(item) else { continue }
                try accounts.stores.store(store).write(
                    Array(secret.text.reveal().utf8), for: item,
                    label: "credmgr: \(name) \(secret.item.kind.rawValue)")
            }
            note("account type \(name) is defined in \(path)")
        }
        var failures: [CredentialError] = []
        var holders = try accounts.repository.tokenHolders()
        for entry in Self.defaultsFirst(archive.accounts) {
            do throws(CredentialError) {
                if let (account, group) = try take(entry, of: archive, into: store, holders) {
                    holders.add(account, in: group)
                    try taken(account)
                }
            } catch {
                guard error.code == .signInRequired else { throw error }
                failures.append(error)
            }
        }
        return failures
    }

    /// The defaults of their registrations before the others: the first account of a registration is its default
    /// here, too.
    private static func defaultsFirst(_ entries: [AccountExport.Entry]) -> [AccountExport.Entry] {
        func madeDefaultAt(_ entry: AccountExport.Entry) -> Int64? {
            entry.tokenSet.account.madeDefaultAt?.epochSeconds
        }
        let chosen = entries.filter { madeDefaultAt($0) != nil }
        return chosen.sorted { madeDefaultAt($0) ?? 0 > madeDefaultAt($1) ?? 0 }
            + entries.filter { madeDefaultAt($0) == nil }
    }

    /// The grants that a group can have of an account: one that hosts share has one for each policy, the newest.
    private func fitting(
        _ grants: [(policy: String, grant: Grant)], in group: KeychainGroup, _ shown: LocalizedMessage
    ) throws(CredentialError) -> [(policy: String, grant: Grant)] {
        guard try accounts.machine.sharing.isShared(group) else { return grants }
        // They come in the order of their sign-ins.
        let newest = Dictionary(grants.indices.map { (grants[$0].policy, $0) }) { $1 }
        for place in grants.indices where newest[grants[place].policy] != place {
            warn(
                "\(shown): its grant with the scopes \(grants[place].grant.scope.joined(separator: " ")) is left "
                    + "out: a shared group has only one grant for each account")
        }
        return grants.indices.filter { newest[grants[$0].policy] == $0 }.map { grants[$0] }
    }

    /// Whether a file defines a type, or the program that asks.
    private func isKnown(_ name: String) throws(CredentialError) -> Bool {
        if try catalog.isDefined(name) { return true }
        return (try? definition(name)) != nil
    }

    /// The registration of an account of an archive. One that an earlier credmgr exported names it in the earlier
    /// form: then the archive's own definition identifies it, or the one of this machine if the archive has no
    /// definition.
    private func registrationSent(
        _ account: Account, _ archive: AccountExport, as here: ClientIdentity
    ) throws(CredentialError) -> ClientIdentity {
        guard let definition = archive.types.first(where: { $0.name == account.type })?.definition else {
            return account.registration.current { here }
        }
        let type = try AccountType(
            name: account.type, json: definition, isPrivateFile: true, place: "the exported file")
        return account.registration.current { try? registration(of: type) }
    }

    private func take(
        _ sent: AccountExport.Entry, of archive: AccountExport, into store: StoreKind, _ holders: TokenHolders
    ) throws(CredentialError) -> (account: Account, group: KeychainGroup)? {
        let account = sent.tokenSet.account
        let group = self.group ?? sent.group
        let shown: LocalizedMessage = "\(UntrustedText.shown(account.shownName)) of account type \(account.type)"
        let type = try definition(account.type)
        let registration = try registration(of: type)
        guard registration == (try registrationSent(account, archive, as: registration)) else {
            warn("\(shown) is left out: on this machine, the type has another client")
            return nil
        }
        let records = accounts.machine.records
        let entry = try records.index(of: group, .ids).entries(of: registration, subject: account.subject).first
        let known = try entry.flatMap { (entry) throws(CredentialError) in try records.account(entry.id, in: group)
        }
        if let known, known.status == .active {
            note("\(shown) is already signed in on this machine and stays unchanged")
            return nil
        }
        var kept: SignInService.Outcome?
        let grants = sent.tokenSet.allGrants.filter { $0.grant.lostReason == nil }
        let usable = grants.filter { !accounts.repository.isUsed($0.grant) }
        if usable.count < grants.count {
            let message: LocalizedMessage =
                "\(shown): its refresh token was already used: the file is older than this machine has seen"
            guard !usable.isEmpty else {
                var login = LoginHint(type: type.name, group: group == type.keychainGroup ? nil : group)
                if let known { login = LoginHint(for: known, in: group) }
                throw CredentialError(.signInRequired, message, hint: login.hint)
            }
            warn("\(message); credmgr imports its other policies")
        }
        let taken = try fitting(usable, in: group, shown)
        for (_, grant) in taken {
            if let holder = grant.toSend.refreshToken.flatMap({ holders[$0] }), holder.account.id != known?.id {
                throw hasCopy(shown, of: type, holder)
            }
        }
        for (policy, grant) in taken {
            let identity = Identity(
                issuer: account.issuer, subject: account.subject, username: account.username,
                displayName: account.displayName)
            let token = sent.tokenSet.accessTokens.last { $0.key.policy == policy && grant.includes($0.scope) }
            kept = try accounts.signIn.keep(
                SignInResult(identity: identity, tokens: IssuedTokens(accessToken: token, grant: grant)), of: type,
                registration: registration, policy: policy, in: group, store: store, forceNew: false)
        }
        guard let kept else { return nil }
        for warning in kept.warnings { warn(warning) }
        if let label = account.label {
            try records.update(kept.account.id, in: group) { $0.label = label }
        }
        return (kept.account, group)
    }

    /// The error for a refresh token that another account of this machine has: the second of the two to be
    /// refreshed would send a used one.
    func hasCopy(
        _ shown: LocalizedMessage, of type: AccountType, _ holder: (account: Account, group: KeychainGroup)
    ) -> CredentialError {
        let group = self.group ?? type.keychainGroup
        return CredentialError(
            .signInRequired,
            "\(shown): account \(holder.account.id) of group \(holder.group) already uses the same refresh token",
            hint: LoginHint(type: type.name, group: group == type.keychainGroup ? nil : group).hint)
    }
}
