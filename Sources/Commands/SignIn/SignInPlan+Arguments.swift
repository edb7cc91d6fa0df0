import CommandLine
import CredentialCore
import OAuth

extension SignInPlan {
    /// Makes a plan of the arguments of `login`.
    ///
    /// - Throws: ``ErrorCode/usage``, ``ErrorCode/configuration``, ``ErrorCode/noSuchAccount``; the errors of the
    ///   store.
    init(
        _ arguments: Arguments, _ target: SignInTarget, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) {
        var type = try Self.type(arguments, target, session)
        let flow = arguments[LoginCommand.flow] ?? type.signInFlow
        let parameters = try Self.parameters(arguments, flow)
        type.authorizeParameters.merge(parameters) { $1 }
        let adapter = try session.context.adapters.adapter(of: type)
        if !parameters.isEmpty { try adapter.check(type) }
        let policy = try adapter.policy(arguments[SharedOption.policy], of: type)
        var scope = arguments[SharedOption.scope]
        if scope.isEmpty {
            scope = Self.scope(
                of: target.account, in: target.group, type, policy, services: session.services(stores))
        }
        var request = SignInRequest(
            type: type, flow: flow, policy: policy, scope: scope,
            redirectURI: type.redirectURI ?? adapter.defaultRedirectURI)
        request.resource = Self.resource(arguments, for: type)
        request.audience = type.audience
        request.prompt = arguments[LoginCommand.prompt]
        request.loginHint = arguments[LoginCommand.loginHint]
        if request.loginHint == nil {
            if let account = target.account {
                request.loginHint = account.username
            } else if !arguments[LoginCommand.new], !arguments[LoginCommand.duplicate] {
                request.loginHint = try Self.knownUser(
                    for: request, adapter, among: try session.context.records.index(of: target.group, .none))
            }
        }
        // A type may have a prompt of its own.
        request.wantsAnother = arguments[LoginCommand.new] && type.authorizeParameters["prompt"] == nil
        if let account = target.account, !arguments[LoginCommand.replace] {
            try Self.checkScope(of: request, for: account, in: target.group, adapter, session, stores)
        }
        if flow == .jwtBearer { request.username = arguments[LoginCommand.username] }
        if flow == .password { try Self.addPassword(to: &request, arguments, session) }
        let store = try Self.openStore(arguments, target, session, stores)
        self.init(
            adapter: adapter, request: request, group: target.group, store: store,
            person: target.account.map(ExpectedIdentity.init), parameters: parameters,
            forceNew: arguments[LoginCommand.duplicate], wantsAnother: arguments[LoginCommand.new],
            replaces: arguments[LoginCommand.replace],
            isFlowOpen: arguments[LoginCommand.flow] == nil && type.flow == nil && parameters.isEmpty
                && arguments[LoginCommand.prompt] == nil,
            isLoginHintGiven: arguments[LoginCommand.loginHint] != nil)
    }

    /// Refuses a sign-in of a shared group before its page opens if it leaves out a scope that the account's grant
    /// has: the group would not take its result.
    ///
    /// Only a scope that was requested and granted under the same name counts. The provider may know others under
    /// several names.
    private static func checkScope(
        of request: SignInRequest, for account: Account, in group: KeychainGroup, _ adapter: any CredentialAdapter,
        _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) {
        let type = request.type, now = session.context.clock.now
        // Google grants the scopes of earlier sign-ins, too, if it is asked to.
        guard account.store == .etcd, type.authorizeParameters["include_granted_scopes"] == nil else { return }
        // A record that cannot be read is the fault of another step.
        let set = try? session.services(stores).repository.read(account, in: group, isLocked: false)
        guard let standing = set?.grants[request.policy], standing.isRefreshable,
            standing.refreshExpiresAt.map({ $0 > now }) ?? true,
            let asked = GrantMetadata.requestedScope(in: standing.adapterState)
        else { return }
        var new = Grant(flow: request.flow, obtainedAt: now)
        new.scope = adapter.effectiveScope(request.scope, of: type)
        let lacking = standing.scope.filter { asked.contains($0) && !new.includes([$0]) }
        guard !lacking.isEmpty else { return }
        var login = LoginHint(
            for: account, in: group, as: type, policy: request.policy,
            scope: request.scope == type.scope ? [] : request.scope)
        var both = login
        login.more = "--replace"
        both.scope = request.scope + asked.filter { !request.scope.contains($0) }
        let shown = UntrustedText.shown(lacking.joined(separator: " "))
        var error = CredentialError(
            .usage,
            "keeps the sign-in of \(standing.shownDay) with scope \(standing.shownScope): a shared group has one "
                + "grant for each account, and the new one would lack \(shown)",
            hint: "to end it: \(login)")
        error.additionalHints.append("to sign in for both: \(both)")
        throw error
    }

    /// The store of the sign-in, which is checked to be open before a user signs in in vain.
    private static func openStore(
        _ arguments: Arguments, _ target: SignInTarget, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) -> StoreChoice {
        do throws(CredentialError) {
            let store = try session.services(stores).storeOfSignIn(for: target.account) {
                () throws(CredentialError) in try StoreChoice(session, stores)
            }
            // Any item will do; to ask for all would take long if there are thousands.
            _ = try stores.store(store.kind).read(
                SecretItem(group: target.group, owner: target.type.name, kind: .clientSecret))
            return store
        } catch {
            guard error.code == .storeLocked, target.account == nil, session.options.store == nil else {
                throw error
            }
            var error = error, login = LoginHint(type: target.type.name)
            login.group = target.group == target.type.keychainGroup ? nil : target.group
            login.more = "--store file"
            error.additionalHints.append("to store the tokens in the encrypted file: \(login)")
            throw error
        }
    }

    /// The type of the target, as its API has it now.
    private static func type(
        _ arguments: Arguments, _ target: SignInTarget, _ session: CommandSession
    ) throws(CredentialError) -> AccountType {
        if target.isNewType { return target.type }
        let type = try ResourceTypeDiscovery(session.definitions).current(
            target.type, for: arguments[LoginCommand.resource], clientID: arguments[LoginCommand.clientID])
        guard let account = target.account, type != target.type,
            try TargetResolver(session).registration(of: type) != account.registration
        else { return type }
        throw CredentialError(
            .signInRequired,
            "the API has moved to another authorization server, which does not know account \(account.id)",
            hint: LoginHint(type: type.name, group: type.keychainGroup == target.group ? nil : target.group)
                .hint)
    }

    /// The parameters of `--param`.
    private static func parameters(
        _ arguments: Arguments, _ flow: SignInFlow
    ) throws(CredentialError) -> [String: String] {
        var parameters: [String: String] = [:]
        let demanded = StepUp(
            acrValues: arguments[LoginCommand.acrValues], maximumAge: arguments[LoginCommand.maximumAge],
            claims: arguments[LoginCommand.claims]
        ).parameters.sorted { $0.key < $1.key }
        for (name, value) in arguments[LoginCommand.param] + demanded.map({ (name: $0.key, value: $0.value) }) {
            guard parameters.updateValue(value, forKey: name) == nil else {
                throw CredentialError(.usage, "--param sets '\(UntrustedText.shown(name, limit: 60))' twice")
            }
        }
        guard parameters.isEmpty || flow == .code else {
            throw CredentialError(
                .usage, "--param requires a page in the browser, which --flow \(flow.rawValue) does not have")
        }
        try ReservedParameters.check(signIn: parameters)
        return parameters
    }

    /// The resource indicator: the type's own if it is for the resource asked for.
    private static func resource(_ arguments: Arguments, for type: AccountType) -> String? {
        guard let text = arguments[LoginCommand.resource], let address = URI(text),
            !ResourceTypeDiscovery.covers(type, address)
        else { return type.resource }
        return text
    }

    private static func addPassword(
        to request: inout SignInRequest, _ arguments: Arguments, _ session: CommandSession
    ) throws(CredentialError) {
        guard let username = arguments[LoginCommand.username] ?? request.loginHint else {
            throw CredentialError(.usage, "the password flow needs --username")
        }
        request.username = username
        if let file = arguments[LoginCommand.passwordFile] {
            request.password = try session.secret(from: file, what: "password", option: "password-file")
        } else if session.mayAsk {
            request.password = try session.context.console.ask(
                "Password of \(UntrustedText.shown(username)): ", isSecret: true)
        } else if let line = try session.context.console.readInputLine(), !line.isEmpty {
            request.password = Secret(line)
        } else {
            throw CredentialError(
                .usage,
                "without a terminal, the password flow requires --password-file or a line of standard input")
        }
    }
}
