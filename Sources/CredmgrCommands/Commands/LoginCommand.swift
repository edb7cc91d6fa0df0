import CredentialCore
import OAuth
import StrictJSON

/// `credmgr login`.
struct LoginCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        if arguments.flag("print-url"), arguments.string("complete") != nil {
            throw CredentialError(.usage, "--print-url and --complete are two halves: one call each")
        }
        if let url = arguments.string("complete") {
            try complete(url == "-" ? try line(session) : url, session)
        } else if arguments.flag("print-url") {
            try printURL(session)
        } else {
            try signIn(session)
        }
    }

    // MARK: In one go

    private func signIn(_ session: Session) throws(CredentialError) {
        let stores = session.stores()
        let plan = try plan(session, stores)
        var driver = SignInDriver(
            session: session, adapter: plan.adapter, adapterContext: session.adapterContext(stores),
            opensBrowser: !arguments.flag("no-browser"))
        do throws(CredentialError) {
            let result = try driver.run(plan.request)
            try finish(result, plan.request, plan.group, plan.store, arguments.flag("new"), session, stores)
        } catch {
            // What is wrong with the call or the type before anybody was asked for anything is no failed sign-in.
            if driver.hasAsked || error.code.exitStatus != 2 { tell(error, plan.request, plan.group, session) }
            throw error
        }
    }

    // MARK: In two halves

    private func printURL(_ session: Session) throws(CredentialError) {
        let stores = session.stores()
        let plan = try plan(session, stores)
        guard plan.request.flow == .code else {
            throw CredentialError(.usage, "--print-url goes with --flow code")
        }
        let step = try plan.adapter.begin(plan.request, in: session.adapterContext(stores))
        guard case .interaction(.openURL(let address, let state), let pending) = step else {
            throw CredentialError(
                .unsupported, "this sign-in does not begin with a page to open",
                hint: "credmgr login --type \(plan.request.type.name)")
        }
        let shelf = PendingSignIn.Shelf(store: try stores.store(plan.store.kind), context: session.context)
        try shelf.keep(
            PendingSignIn(
                request: plan.request, group: plan.group, store: plan.store, forceNew: arguments.flag("new"),
                pending: pending, createdAt: session.context.clock.now),
            state: state)
        try session.print("\(address)\n")
    }

    private func complete(_ redirected: String, _ session: Session) throws(CredentialError) {
        let stores = session.stores()
        guard let state = RedirectState.value(in: redirected) else {
            throw CredentialError(
                .usage, "the redirected URL has no state, so no pending sign-in can be found by it",
                hint: "give the whole address that the browser ended at")
        }
        let signIn = try take(state, redirected, session, stores)
        let adapter = try session.context.adapters.adapter(of: signIn.request.type)
        do throws(CredentialError) {
            let step = try adapter.resume(
                signIn.request, pending: signIn.pending, with: .redirect(redirected),
                in: session.adapterContext(stores))
            guard case .done(let result) = step else { throw try goOn(step, with: signIn, session, stores) }
            try finish(result, signIn.request, signIn.group, signIn.store, signIn.forceNew, session, stores)
        } catch {
            tell(error, signIn.request, signIn.group, session)
            throw error
        }
    }

    /// Keeps a sign-in pending that has a further page, and says what to do.
    private func goOn(
        _ step: SignInStep, with signIn: PendingSignIn, _ session: Session, _ stores: any SecretStores
    ) throws(CredentialError) -> CredentialError {
        guard case .interaction(.openURL(let address, let state), let pending) = step else {
            return CredentialError(
                .unsupported, "the provider wants more than a page",
                hint: "credmgr login --type \(signIn.request.type.name)")
        }
        var signIn = signIn
        signIn.pending = pending
        signIn.createdAt = session.context.clock.now
        let shelf = PendingSignIn.Shelf(store: try stores.store(signIn.store.kind), context: session.context)
        try shelf.keep(signIn, state: state)
        session.notices.say("The sign-in has a further page. Open this address:")
        session.notices.say("  \(address)")
        return CredentialError(
            .signInRequired, "the sign-in is not finished: it has a further page",
            hint: "credmgr login --complete URL, with the address the browser ends at")
    }

    /// The pending sign-in, from whichever store keeps it.
    private func take(
        _ state: String, _ answer: String, _ session: Session, _ stores: any SecretStores
    ) throws(CredentialError) -> PendingSignIn {
        var failure: CredentialError?
        let hint = "begin again: credmgr login --type TYPE --print-url"
        for kind in session.options.store.map({ [$0] }) ?? StoreKind.allCases {
            let shelf = PendingSignIn.Shelf(store: try stores.store(kind), context: session.context)
            do throws(CredentialError) {
                if let signIn = try shelf.take(state: state, answer: answer, catalog: session.catalog) {
                    return signIn
                }
            } catch {
                // A store that is not there counts only if the sign-in was put into it.
                let isMissing = error.code == .storeUnavailable || error.code == .internalFault
                let isKeptThere = try shelf.isMarked(state: state)
                if !isMissing || isKeptThere || session.options.store != nil { failure = failure ?? error }
            }
        }
        if let failure {
            throw CredentialError(
                failure.code, "the sign-in that waits for this redirect was not found: \(failure.message)",
                hint: failure.hint ?? hint, details: failure.details)
        }
        throw CredentialError(
            .denied,
            "no sign-in is waiting for this redirect: it was used already, is older than 15 minutes, or "
                + "was not begun here", hint: hint)
    }

    private func line(_ session: Session) throws(CredentialError) -> String {
        guard let line = try session.context.console.readInputLine(), !line.isEmpty else {
            throw CredentialError(.usage, "no redirected URL on standard input")
        }
        return line
    }

    // MARK: Parts

    private struct Plan {
        let adapter: any CredentialAdapter
        let request: SignInRequest
        let group: KeychainGroup
        let store: StoreChoice
    }

    /// Everything that can be wrong before a person is asked for anything.
    private func plan(_ session: Session, _ stores: any SecretStores) throws(CredentialError) -> Plan {
        let resolver = TargetResolver(session)
        let type = try type(session, resolver)
        let adapter = try session.context.adapters.adapter(of: type)
        let group = resolver.group(of: type)
        let flow = try arguments.choice("flow", as: SignInFlow.self) ?? type.flow ?? .code
        let scope = arguments.strings("scope").flatMap { $0.split(separator: " ").map(String.init) }
        var request = SignInRequest(
            type: type, flow: flow, policy: try adapter.policy(arguments.string("policy"), of: type),
            scope: scope.isEmpty ? type.scope : scope,
            redirectURI: type.redirectURI ?? adapter.defaultRedirectURI)
        request.resource = try resource(for: type)
        request.audience = type.audience
        request.prompt = arguments.string("prompt")
        request.loginHint = arguments.string("login-hint")
        if request.loginHint == nil { request.loginHint = try knownUser(of: type, group, resolver, session) }
        if flow == .jwtBearer { request.username = arguments.string("username") }
        if flow == .password { try addPassword(to: &request, session) }
        let store = try StoreChoice(session, stores)
        // One that stays locked is found out before a person signs in for nothing. Any item will do; to ask for all would
        // take long where there are thousands.
        _ = try stores.store(store.kind).read(SecretItem(group: group, owner: type.name, kind: .clientSecret))
        return Plan(adapter: adapter, request: request, group: group, store: store)
    }

    private func type(_ session: Session, _ resolver: TargetResolver) throws(CredentialError) -> AccountType {
        let options = TargetOptions(type: arguments.string("type"))
        if let resource = arguments.string("resource") {
            return try ResourceTypes(session).type(
                for: resource, named: options.type, clientID: arguments.string("client-id"))
        }
        guard arguments.string("client-id") == nil else {
            throw CredentialError(.usage, "--client-id goes with --resource")
        }
        guard let name = try resolver.typeName(options) else {
            throw CredentialError(
                .usage, "--type is missing", hint: session.loginHint)
        }
        return try resolver.type(named: name)
    }

    /// The resource indicator: the type's own where it is for the resource asked for.
    private func resource(for type: AccountType) throws(CredentialError) -> String? {
        guard let text = arguments.string("resource"), let address = WebAddress(text),
            !ResourceTypes.covers(type, address)
        else { return type.resource }
        return text
    }

    /// The user that another client of the same provider has signed in, if there is exactly one: the browser's
    /// session is likely theirs.
    private func knownUser(
        of type: AccountType, _ group: KeychainGroup, _ resolver: TargetResolver, _ session: Session
    ) throws(CredentialError) -> String? {
        let registration = try resolver.registration(of: type)
        let accounts = try session.context.registry.read(group).accounts
        guard !accounts.contains(where: { $0.registration == registration }) else { return nil }
        let names = Set(
            accounts.filter { $0.registration.provider == registration.provider }.compactMap(\.username))
        return names.count == 1 ? names.first : nil
    }

    private func addPassword(to request: inout SignInRequest, _ session: Session) throws(CredentialError) {
        guard let username = arguments.string("username") ?? arguments.string("login-hint") else {
            throw CredentialError(.usage, "the password flow needs --username")
        }
        request.username = username
        if let file = arguments.string("password-file") {
            request.password = try session.secret(from: file, what: "password")
        } else if session.mayAsk {
            request.password = try session.context.console.ask(
                "Password of \(ForeignText.shown(username)): ", isSecret: true)
        } else {
            throw CredentialError(.usage, "the password flow needs --password-file where nobody can be asked")
        }
    }

    private func finish(
        _ result: SignInResult, _ request: SignInRequest, _ group: KeychainGroup, _ store: StoreChoice,
        _ forceNew: Bool, _ session: Session, _ stores: any SecretStores
    ) throws(CredentialError) {
        let registration = try TargetResolver(session).registration(of: request.type)
        let outcome = try session.signInService(stores).keep(
            result, of: request.type, registration: registration, policy: request.policy, in: group,
            store: store.kind, forceNew: forceNew)
        if outcome.account.store == store.kind {
            store.tell("the sign-in", session)
        } else if session.options.store == store.kind {
            session.notices.note(
                "the account stays in the \(outcome.account.store.shownName); to move it: "
                    + "credmgr store migrate --to \(store.kind.rawValue)")
        }
        for warning in outcome.warnings { session.notices.warning(warning) }
        if outcome.isNew { try tellChoice(of: request.type, registration, group, session) }
        try session.print("\(outcome.account.id)\t\(ForeignText.shown(outcome.account.shownName))\n")
        if arguments.flag("show-claims") || request.type.showClaims, let idToken = result.tokens.grant.idToken {
            for line in ClaimsPresentation.lines(of: try CompactToken(idToken.reveal()).claims) {
                session.notices.say(line)
            }
        }
    }

    /// Where one account was enough to go by its type, a new one ends that: it is told before a script finds out.
    private func tellChoice(
        of type: AccountType, _ registration: Registration, _ group: KeychainGroup, _ session: Session
    ) throws(CredentialError) {
        let registry = try session.context.registry.read(group)
        let accounts = registry.accounts(of: registration)
        guard accounts.count > 1, !accounts.contains(where: { $0.id == registry.defaults[type.name] }) else {
            return
        }
        session.notices.note(
            "account type \(type.name) has \(accounts.count) accounts and no default: "
                + "credmgr use ACCOUNT --type \(type.name) makes one")
    }

    private func tell(
        _ error: CredentialError, _ request: SignInRequest, _ group: KeychainGroup, _ session: Session
    ) {
        session.context.events.append(
            AccountEvent(
                kind: .loginFailed, time: session.context.clock.now, group: group, type: request.type.name,
                account: nil, policy: request.policy.isEmpty ? nil : request.policy, reason: error.message))
    }
}
