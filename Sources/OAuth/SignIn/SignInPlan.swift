package import CredentialCore

/// Every check of a sign-in that is possible before the user is asked: the command and the library make one each
/// from their arguments.
package struct SignInPlan: Sendable {
    /// The adapter of the provider.
    package let adapter: any CredentialAdapter
    /// The request of the sign-in.
    package var request: SignInRequest
    /// The group that the account is kept in.
    package let group: KeychainGroup
    /// The store of a new account.
    package let store: StoreChoice
    /// The user who has to sign in; `nil` if any user may.
    package let person: ExpectedIdentity?
    /// The extra parameters of this sign-in alone, which ``request`` has in its type.
    package let parameters: [String: String]
    /// Whether it makes a new account even for a known person.
    package let forceNew: Bool
    /// Whether it is for another person than those who have signed in.
    package let wantsAnother: Bool
    /// Whether it ends every other sign-in of the account's policy, though one can do more.
    package let replaces: Bool
    /// Whether the caller has not chosen a flow: then a sign-in on a machine without a browser may choose another
    /// one.
    package let isFlowOpen: Bool
    /// Whether the caller has named the user that the provider shall offer first: else that was found out, and is
    /// found out again.
    package let isLoginHintGiven: Bool

    /// Makes a plan.
    package init(
        adapter: any CredentialAdapter, request: SignInRequest, group: KeychainGroup, store: StoreChoice,
        person: ExpectedIdentity?, parameters: [String: String], forceNew: Bool, wantsAnother: Bool = false,
        replaces: Bool = false, isFlowOpen: Bool = false, isLoginHintGiven: Bool = false
    ) {
        self.adapter = adapter
        self.request = request
        self.group = group
        self.store = store
        self.person = person
        self.parameters = parameters
        self.forceNew = forceNew
        self.wantsAnother = wantsAnother
        self.replaces = replaces
        self.isFlowOpen = isFlowOpen
        self.isLoginHintGiven = isLoginHintGiven
    }

    /// The command that begins this sign-in again, with all that it was asked for: one of another flow, or for
    /// another person, would fail or do something else.
    package var command: LoginHint { command(prompt: request.prompt) }

    /// The command that begins this sign-in again after a different user came back from the browser, whose session
    /// would bring the same user once more.
    package var commandForAnother: LoginHint {
        command(prompt: request.flow == .code ? "login" : request.prompt)
    }

    private func command(prompt: String?) -> LoginHint {
        var command = LoginHint(
            type: request.type.name,
            policy: request.policy == (try? adapter.policy(nil, of: request.type)) ? "" : request.policy,
            scope: request.scope == request.type.scope ? [] : request.scope,
            group: group == request.type.keychainGroup ? nil : group)
        if let person {
            command.account = person.accountID
            if person.type == command.type { command.type = nil }
        }
        let words = options(prompt: prompt)
        command.more = words.isEmpty ? nil : ShellQuoting.line(words)
        return command
    }

    /// The options of this sign-in that ``LoginHint`` has no place of its own for.
    private func options(prompt: String?) -> [String] {
        var words: [String] = []
        if request.flow != request.type.signInFlow { words += ["--flow", request.flow.rawValue] }
        if let resource = request.resource, resource != request.type.resource { words += ["--resource", resource] }
        if wantsAnother { words.append("--new") }
        if forceNew { words.append("--duplicate") }
        if replaces { words.append("--replace") }
        if let prompt { words += ["--prompt", prompt] }
        if isLoginHintGiven, let hint = request.loginHint { words += ["--login-hint", hint] }
        // If no user is named, the password flow uses the login hint.
        let isNamed =
            request.flow == .jwtBearer || request.flow == .password && request.username != request.loginHint
        if isNamed, let username = request.username { words += ["--username", username] }
        for (name, value) in parameters.sorted(by: { $0.key < $1.key }) {
            words += ["--param", "\(name)=\(value)"]
        }
        return words
    }

    /// The one user that a sign-in can only be about. This is the user that another client of the same provider has
    /// signed in, as the browser's session is likely theirs, and of several the default. For a policy other than
    /// the one that signs in, it is this client's user.
    package static func knownUser(
        for request: SignInRequest, _ adapter: any CredentialAdapter, among index: AccountIndex
    ) throws(CredentialError) -> String? {
        let registration = ClientIdentity(
            provider: try adapter.provider(of: request.type), clientID: request.type.clientID)
        let isKnown = index.count(of: registration, atMost: 1) > 0
        let isPolicyRun = try request.policy != adapter.policy(nil, of: request.type)
        guard !isKnown || isPolicyRun else { return nil }
        let candidates =
            isKnown
            ? index.entries(of: registration)
            : index.entries.filter { $0.registration.provider == registration.provider }
        let names = Set(candidates.map(\.username))
        if names.count == 1 { return names.first ?? nil }
        guard !isKnown else { return nil }
        let defaults = Set(
            Set(candidates.map(\.registration)).compactMap { index.defaultEntry(of: $0) }.map(\.username))
        return defaults.count == 1 ? defaults.first ?? nil : nil
    }

    /// Reads the client's secrets that are there without running a program: a missing secret is reported before the
    /// user signs in in vain.
    ///
    /// - Throws: as ``ClientSecrets/clientSecret(of:)``.
    package func checkSecrets(_ secrets: any ClientSecrets) throws(CredentialError) {
        func isReadAtOnce(_ source: ClientSecretSource?) -> Bool {
            switch source {
            case .store?, .environment?, .file?: true
            case .command?, .literal?, nil: false
            }
        }
        if isReadAtOnce(request.type.clientSecret) { _ = try secrets.clientSecret(of: request.type) }
        if isReadAtOnce(request.type.privateKey) { _ = try secrets.privateKey(of: request.type) }
    }

    /// The scopes that a sign-in requests if the caller names no others: the type's, or those of the account's last
    /// sign-in if they were more. So signing in again does not narrow it.
    package static func scope(
        of account: Account?, in group: KeychainGroup, _ type: AccountType, _ policy: String,
        services: AccountServices
    ) -> [String] {
        guard let account, type.adapter == "oauth2" else { return type.scope }
        // A token set that cannot be read gives no scopes; another step finds out whether the store opens.
        let set = try? services.repository.read(account, in: group, isLocked: false)
        guard let state = set?.grants[policy]?.adapterState, let asked = GrantMetadata.requestedScope(in: state),
            Set(type.scope).isSubset(of: asked)
        else { return type.scope }
        return asked
    }

    // MARK: The end

    /// Saves the result of the sign-in.
    ///
    /// - Throws: as ``SignInService/keep(_:of:registration:policy:in:store:forceNew:replaces:for:again:)``.
    package func keep(
        _ result: SignInResult, by services: AccountServices
    ) throws(CredentialError) -> SignInService.Outcome {
        try services.signIn.keep(
            result, of: request.type,
            registration: ClientIdentity(
                provider: try adapter.provider(of: request.type), clientID: request.type.clientID),
            policy: request.policy, in: group, store: store.kind, forceNew: forceNew,
            replaces: replaces, for: person, again: commandForAnother)
    }

    /// Revokes the sign-ins that this one was to replace, if the provider has revocation.
    ///
    /// - Returns: messages for the user: why a grant was not revoked.
    package func revokeReplaced(
        _ outcome: SignInService.Outcome, by services: AccountServices
    ) -> [LocalizedMessage] {
        guard replaces else { return [] }
        return outcome.removed.compactMap { grant in
            do throws(CredentialError) {
                try adapter.revoke(
                    RevocationRequest(grant: grant.toSend, accessTokens: []), of: request.type,
                    in: services.adapterContext(of: request.type))
                return nil
            } catch {
                return "cannot revoke the previous grant at the provider: \(error)"
            }
        }
    }

    /// Returns the title that a browser shows for a sign-in that is kept.
    package func title(of outcome: SignInService.Outcome) -> LocalizedMessage {
        let name = UntrustedText.shown(outcome.account.username ?? outcome.account.shownName)
        return "credmgr: \(name) is signed in to \(request.type.name)"
    }

    /// The title that a browser shows for a failed sign-in.
    package var failureTitle: LocalizedMessage { "credmgr: not signed in to \(request.type.name)" }

    /// Tells every process of the group that the sign-in failed.
    package func tell(_ error: CredentialError, on machine: MachinePorts) {
        machine.events.append(
            AccountEvent(
                kind: .loginFailed, time: machine.clock.now, group: group, type: request.type.name,
                account: person?.accountID, policy: request.policy.isEmpty ? nil : request.policy,
                reason: error.message))
    }
}
