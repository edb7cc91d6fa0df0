package import CredentialCore
package import StrictJSON

/// A sign-in that waits for its redirect, in any process that receives it; it holds the code verifier, without
/// which a stolen code is useless (RFC 7636).
package struct PendingSignIn: Sendable {
    /// How long it is kept, in seconds.
    package static let lifetime: Int64 = 900

    /// The requested sign-in.
    package var plan: SignInPlan
    /// The state that the adapter gets back.
    package var pending: JSONObject
    /// When it began.
    package var createdAt: Timestamp

    /// Makes one.
    package init(plan: SignInPlan, pending: JSONObject, createdAt: Timestamp) {
        self.plan = plan
        self.pending = pending
        self.createdAt = createdAt
    }
}

/// The sign-ins that wait, kept in the secret stores and found by `state`: one that a program began is finished by
/// `credmgr login --complete`, and the other way round.
package struct PendingSignIns: Sendable {
    private let machine: MachinePorts
    private let stores: any SecretStores

    /// Those of the machine.
    package init(_ machine: MachinePorts, _ stores: any SecretStores) {
        self.machine = machine
        self.stores = stores
    }

    /// Keeps a sign-in and drops some of those that have run out.
    ///
    /// - Throws: the errors of the store.
    package func keep(_ signIn: PendingSignIn, state: String) throws(CredentialError) {
        let store = try stores.store(signIn.plan.store.kind)
        try dropExpired(in: store)
        let item = try item(state)
        if store.kind == .secretService { try machine.journal.write([1], for: Self.mark(item), in: item.group) }
        try store.write(JSONValue.object(signIn.json).bytes(), for: item, label: "credmgr: pending sign-in")
    }

    /// Takes the sign-in that a redirected URL belongs to; it can be taken once. A redirect that does not fit, by
    /// its redirect URI, its content or its sender, leaves it waiting.
    ///
    /// - Parameter wished: the store of new accounts, if one is named: a sign-in of a known account waits in that
    ///   account's store.
    /// - Throws: ``ErrorCode/usage`` for a URL without a state; ``ErrorCode/denied`` if no sign-in waits for it;
    ///   ``ErrorCode/validationFailed`` if the URL is no response to it; the errors of its adapter's check; the
    ///   errors of the store.
    package func take(
        _ redirected: String, from wished: StoreKind? = nil, in context: AdapterContext
    ) throws(CredentialError) -> PendingSignIn {
        guard let state = RedirectState.value(in: redirected) else {
            throw CredentialError(
                .usage, "cannot find the pending sign-in: the redirect URL has no state",
                hint: "pass the whole redirect URL from the browser")
        }
        let (signIn, kind) = try find(state, in: wished)
        try check(redirected, signIn, context)
        try drop(state: state, from: kind)
        return signIn
    }

    /// The sign-in that waits with a state, and the store that has it.
    private func find(
        _ state: String, in wished: StoreKind?
    ) throws(CredentialError) -> (PendingSignIn, StoreKind) {
        var failure: CredentialError?
        let type = (try? machine.catalog.entries())?.first?.name
        let hint: LocalizedMessage? = type.map { "begin again: \(LoginHint(type: $0)) --print-url" }
        for kind in StoreKind.allCases.sorted(by: { $0 == wished && $1 != wished }) {
            if let wished, kind != wished, kind == .secretService, try !isMarked(state: state) { continue }
            do throws(CredentialError) {
                if let signIn = try read(state: state, from: try stores.store(kind)) { return (signIn, kind) }
            } catch {
                // A store that is not there counts only if the sign-in was put into it.
                let isMissing = error.code == .storeUnavailable || error.code == .internalFault
                let isKeptThere = try isMarked(state: state)
                if isKeptThere || kind == wished || wished == nil && !isMissing { failure = failure ?? error }
            }
        }
        if let failure {
            throw CredentialError(
                failure.code, "cannot find the pending sign-in for this redirect URL: \(failure)",
                hint: failure.advice ?? hint, details: failure.details)
        }
        throw CredentialError(
            .denied,
            "no pending sign-in for this redirect URL: already completed, older than 15 minutes, or not started on "
                + "this host", hint: hint)
    }

    /// Forgets a sign-in.
    ///
    /// - Throws: the errors of the store.
    package func drop(state: String, from kind: StoreKind) throws(CredentialError) {
        try remove(try item(state), from: try stores.store(kind))
    }

    /// Whether a sign-in for `state` was put into the Secret Service here and has not been taken: known even when
    /// that cannot be asked. Without the mark a redirect is a stranger's, or is used a second time.
    private func isMarked(state: String) throws(CredentialError) -> Bool {
        let item = try item(state)
        return try machine.journal.read(Self.mark(item), in: item.group) != nil
    }

    private static func mark(_ item: SecretItem) -> String { "pending-" + item.owner }

    private func remove(_ item: SecretItem, from store: any SecretStore) throws(CredentialError) {
        try store.remove(item)
        try machine.journal.remove(Self.mark(item), in: item.group)
    }

    /// - Returns: `nil` when there is no such sign-in, or it has expired.
    private func read(state: String, from store: any SecretStore) throws(CredentialError) -> PendingSignIn? {
        let item = try item(state)
        guard let bytes = try store.read(item) else { return nil }
        let signIn = try PendingSignIn(bytes, machine)
        if machine.clock.now.seconds(since: signIn.createdAt) <= PendingSignIn.lifetime { return signIn }
        try remove(item, from: store)
        return nil
    }

    /// Refuses a URL that is no response to a sign-in, while that still waits.
    private func check(
        _ answer: String, _ signIn: PendingSignIn, _ context: AdapterContext
    ) throws(CredentialError) {
        let request = signIn.plan.request
        if let address = URI(answer) {
            guard let expected = URI(request.redirectURI), RedirectURI.matches(address, expected) else {
                throw CredentialError(
                    .validationFailed, "this URL does not match the redirect URI of the sign-in",
                    hint: "pass the whole redirect URL from the browser; the sign-in is still pending")
            }
        }
        try signIn.plan.adapter.check(answer: answer, to: request, pending: signIn.pending, in: context)
    }

    /// Drops some of those that have run out: however many there are, a new one is kept in time. Each look into
    /// the file store reads all of it; more than one for each new one is enough.
    private func dropExpired(in store: any SecretStore) throws(CredentialError) {
        let items: [SecretItem]
        do throws(CredentialError) {
            items = try store.items(of: .standard, kind: .pendingSignIn)
        } catch {
            // To list hundreds may take a keyring too long.
            if error.code == .storeUnavailable { return }
            throw error
        }
        for item in items.prefix(4) {
            guard let bytes = try store.read(item), let object = try? JSONValue.parse(bytes).object,
                let created = object["created_at"]?.integer
            else { continue }
            if machine.clock.now.seconds(since: Timestamp(epochSeconds: created)) > PendingSignIn.lifetime {
                try remove(item, from: store)
            }
        }
    }

    /// Named by a digest: the store keeps names in clear.
    private func item(_ state: String) throws(CredentialError) -> SecretItem {
        let digest = try machine.cryptography.sha256(Array(state.utf8))
        return SecretItem(
            group: .standard, owner: Base64URL.encode(Array(digest.prefix(16))), kind: .pendingSignIn)
    }
}

extension PendingSignIn {
    /// The definition of the type is in it: a program may have configured one that no file knows.
    fileprivate var json: JSONObject {
        var object = JSONObject()
        let request = plan.request
        var parameters = JSONObject()
        for (name, value) in plan.parameters { parameters[name] = .string(value) }
        object["type"] = .string(request.type.name)
        object["definition"] = .object(request.type.json)
        object["flow"] = .string(request.flow.rawValue)
        object["policy"] = .string(request.policy)
        object["scope"] = JSONValue(request.scope)
        object["redirect_uri"] = .string(request.redirectURI)
        object["resource"] = request.resource.map(JSONValue.string)
        object["audience"] = request.audience.map(JSONValue.string)
        object["login_hint"] = request.loginHint.map(JSONValue.string)
        object["login_hint_given"] = .bool(plan.isLoginHintGiven)
        object["prompt"] = request.prompt.map(JSONValue.string)
        object["group"] = .string(plan.group.name)
        object["store"] = .string(plan.store.kind.rawValue)
        object["store_reason"] = plan.store.reason?.json
        object["force_new"] = .bool(plan.forceNew)
        if plan.wantsAnother { object["wants_another"] = true }
        if plan.replaces { object["replaces"] = true }
        object["parameters"] = .object(parameters)
        object["person"] = (plan.person?.json).map(JSONValue.object)
        object["pending"] = .object(pending)
        object["created_at"] = .integer(createdAt.epochSeconds)
        return object
    }

    private static var unreadable: CredentialError {
        CredentialError(.storeDamaged, "the pending sign-in cannot be read", hint: "start it again")
    }

    fileprivate init(_ bytes: [UInt8], _ machine: MachinePorts) throws(CredentialError) {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object, let type = object["type"]?.string,
            let flow = object["flow"]?.string.flatMap(SignInFlow.init(rawValue:)),
            let policy = object["policy"]?.string, let scope = object["scope"]?.array?.compactMap(\.string),
            let redirectURI = object["redirect_uri"]?.string, let group = object["group"]?.string,
            let store = object["store"]?.string.flatMap(StoreKind.init(rawValue:)),
            let pending = object["pending"]?.object, let createdAt = object["created_at"]?.integer,
            let definition = object["definition"]?.object
        else { throw Self.unreadable }
        // Without the person that it is for anybody's would do.
        let person = try object["person"].map { (value) throws(CredentialError) -> ExpectedIdentity in
            guard let person = value.object.flatMap(ExpectedIdentity.init) else { throw Self.unreadable }
            return person
        }
        let defined = try AccountType(
            name: type, json: definition, isPrivateFile: true, place: "the pending sign-in")
        var parameters: [String: String] = [:]
        for (name, value) in object["parameters"]?.object?.members ?? [] { parameters[name] = value.string }
        var request = SignInRequest(
            type: defined, flow: flow, policy: policy, scope: scope,
            redirectURI: redirectURI)
        request.resource = object["resource"]?.string
        request.audience = object["audience"]?.string
        request.loginHint = object["login_hint"]?.string
        request.prompt = object["prompt"]?.string
        self.init(
            plan: SignInPlan(
                adapter: try machine.adapters.adapter(of: defined), request: request,
                group: try KeychainGroup(group),
                store: StoreChoice(
                    kind: store, reason: object["store_reason"].flatMap(LocalizedMessage.init(json:))),
                person: person, parameters: parameters,
                forceNew: object["force_new"] == true, wantsAnother: object["wants_another"] == true,
                replaces: object["replaces"] == true,
                isLoginHintGiven: object["login_hint_given"] == true),
            pending: pending, createdAt: Timestamp(epochSeconds: createdAt))
    }
}

/// The `state` of a redirect, by which a pending sign-in is found before anything else of it is believed.
package enum RedirectState {
    /// The state in a redirected URL.
    package static func value(in redirected: String) -> String? { AuthorizationResponse.state(in: redirected) }

    /// Whether a redirected URL carries `state`.
    package static func isPresent(_ state: String, in redirected: String) -> Bool {
        value(in: redirected).map { ConstantTime.equal($0, state) } ?? false
    }
}
