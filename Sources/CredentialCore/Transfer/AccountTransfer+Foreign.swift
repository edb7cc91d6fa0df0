extension AccountTransfer {
    /// Takes over sign-ins that other programs keep. One that fails does not keep the others back. Warns of the
    /// data that the file lacks for more.
    ///
    /// - Parameters:
    ///   - typeName: the account type; `nil` for the only one that they can be of.
    ///   - store: the store that accounts are put into.
    ///   - taken: called with each account that is taken over.
    /// - Returns: why the others were not taken over.
    package func take(
        _ found: ImportedFile, ofType typeName: String?, into store: StoreKind,
        taken: (Account) throws(CredentialError) -> Void
    ) -> [CredentialError] {
        var failures: [CredentialError] = [], sharer: String?
        for lack in found.lacks { warn(lack.advice.map { "\(lack.text); \($0)" } ?? lack.text) }
        let known: TokenHolders
        do throws(CredentialError) { known = try accounts.repository.tokenHolders() } catch { return [error] }
        var holders = known
        for signIn in found.signIns {
            do throws(CredentialError) {
                let (account, group) = try take(signIn, typeName, store, holders)
                holders.add(account, in: group)
                try taken(account)
                if signIn.isSharedFurther { sharer = signIn.program }
            } catch { failures.append(error) }
        }
        if let sharer {
            warn(
                "\(sharer) still uses the same refresh token: if the provider rotates refresh tokens, a refresh of "
                    + "one ends the other; remove the account there, or sign in here again")
        }
        return failures
    }

    private func take(
        _ signIn: ImportedSignIn, _ typeName: String?, _ store: StoreKind, _ holders: TokenHolders
    ) throws(CredentialError) -> (account: Account, group: KeychainGroup) {
        let type = try type(for: signIn, typeName)
        try checkPlace(of: type, signIn)
        var refreshToken: Secret?
        if case .refresh(let token) = signIn.token { refreshToken = token }
        if let refreshToken, accounts.machine.usedTokens.contains(refreshToken) {
            throw CredentialError(
                .signInRequired,
                "the account of \(signIn.program): its refresh token was already used: the file is older than this "
                    + "machine has seen", hint: LoginHint(type: type.name).hint)
        }
        // The same account may be renewed; another one would end with the next refresh of either.
        if let holder = refreshToken.flatMap({ holders[$0] }) {
            let isRenewed =
                holder.account.registration == (try registration(of: type))
                && holder.group == group ?? type.keychainGroup
            if !isRenewed { throw hasCopy("the account of \(signIn.program)", of: type, holder) }
        }
        let adapter = try adapters.adapter(of: type)
        let policy = try adapter.policy(signIn.policy, of: type)
        var request = SignInRequest(
            type: type, flow: .code, policy: policy, scope: type.scope, redirectURI: adapter.defaultRedirectURI)
        request.username = signIn.username
        let group = self.group ?? type.keychainGroup
        let result = try accounts.signIn.withReservedSpace(in: group, of: store) { () throws(CredentialError) in
            try adapter.adopt(signIn.token, request, in: accounts.adapterContext(of: type))
        }
        let outcome = try accounts.signIn.keep(
            result, of: type, registration: try registration(of: type), policy: policy, in: group,
            store: store, forceNew: false)
        accounts.repository.recordUsed(
            refreshToken, replacedBy: result.tokens.grant.refreshToken, grant: nil,
            until: result.tokens.grant.refreshExpiresAt)
        for warning in outcome.warnings { warn(warning) }
        return (outcome.account, group)
    }

    /// The type of the same client: a refresh token is good with no other, and is not shown to another's provider.
    private func type(for signIn: ImportedSignIn, _ typeName: String?) throws(CredentialError) -> AccountType {
        if let typeName {
            let type = try definition(typeName)
            guard fits(type, signIn) else {
                if let error = namesake(type, of: signIn, code: .configuration) { throw error }
                let client = signIn.clientID.map { "client \(UntrustedText.shown($0))" }
                let owner = client ?? signIn.host.map { "host \(UntrustedText.shown($0))" } ?? "another client"
                throw CredentialError(
                    .configuration,
                    "the account of \(signIn.program) is for \(owner), which does not match account type "
                        + "\(typeName)")
            }
            return type
        }
        let types = try catalog.entries().compactMap { try? $0.type.get() }
        let names = types.filter { fits($0, signIn) }.map(\.name)
        guard let name = names.first, names.count == 1 else {
            let namesakes = names.isEmpty ? types : []
            let error = namesakes.lazy.compactMap { namesake($0, of: signIn, code: .unknownType) }.first
            if let error { throw error }
            let what = signIn.clientID.map { "the client id \(UntrustedText.shown($0))" }
            let wanted = what ?? "the host \(UntrustedText.shown(signIn.host ?? "of the file"))"
            throw CredentialError(
                names.isEmpty ? .unknownType : .ambiguousAccount,
                names.isEmpty
                    ? "no account type found for \(wanted)"
                    : "several account types match \(wanted): \(names.joined(separator: ", "))",
                hint: names.isEmpty ? "define one: credmgr types add --help" : "choose one with --type")
        }
        return try definition(name)
    }

    /// Returns the error for a type that has the client ID of a sign-in it does not fit: the client ID of another
    /// provider's client.
    private func namesake(_ type: AccountType, of signIn: ImportedSignIn, code: ErrorCode) -> CredentialError? {
        guard type.clientID == signIn.clientID, let owner = signIn.issuer ?? signIn.host,
            let provider = type.issuer ?? (try? registration(of: type))?.shownProvider
        else { return nil }
        return CredentialError(
            code,
            "the account of \(signIn.program) is for \(UntrustedText.shown(owner)), but account type \(type.name) "
                + "with the same client ID is for \(UntrustedText.shown(provider))",
            hint: "define one: credmgr types add --help")
    }

    /// The token is shown to the endpoint that says who it is of: one of the host that it came from, or below it.
    private func checkPlace(of type: AccountType, _ signIn: ImportedSignIn) throws(CredentialError) {
        guard let host = signIn.host?.lowercased(), signIn.clientID == nil, signIn.issuer == nil,
            let endpoint = type.endpoints[.userInfo], let address = URI(endpoint),
            address.host != host, !address.host.hasSuffix("." + host)
        else { return }
        throw CredentialError(
            .configuration,
            "the account of \(signIn.program) is for \(UntrustedText.shown(host)), but account type \(type.name) "
                + "would send its token to \(address.host)",
            hint: "correct userinfo_endpoint and api_base: credmgr types show \(type.name)")
    }

    private func fits(_ type: AccountType, _ signIn: ImportedSignIn) -> Bool {
        if let clientID = signIn.clientID, clientID != type.clientID { return false }
        if let issuer = signIn.issuer {
            return Self.plain(issuer) == type.issuer.map(Self.plain)
        }
        guard let host = signIn.host else { return signIn.clientID != nil }
        if signIn.isHostBinding {
            guard let place = tokenPlace(of: type) else { return false }
            return MSALCache.hosts(of: host).contains(place.host)
        }
        if signIn.clientID != nil { return true }
        let addresses = [type.issuer, type.authority].compactMap(\.self) + type.endpoints.values
        return addresses.contains { URI($0)?.host == host.lowercased() }
    }

    /// The address that a refresh token of the type is sent to, as far as the definition tells: the host is that of
    /// the provider itself.
    private func tokenPlace(of type: AccountType) -> URI? {
        if let written = type.endpoints[.token] ?? type.authority ?? type.issuer { return URI(written) }
        // If the type names only a tenant, the adapter's provider gives the address.
        guard let provider = try? registration(of: type).provider, let start = provider.firstRange(of: "https://")
        else { return nil }
        return URI(String(provider[start.lowerBound...]))
    }

    private static func plain(_ issuer: String) -> Substring {
        issuer.hasSuffix("/") ? issuer.dropLast() : issuer[...]
    }
}
