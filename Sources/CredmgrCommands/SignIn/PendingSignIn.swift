import CredentialCore
import OAuth
import StrictJSON

/// A sign-in between `login --print-url` and `login --complete`, kept in the secret store: it holds the code
/// verifier, without which a stolen code is worth nothing (RFC 7636).
struct PendingSignIn: Sendable {
    /// How long it is kept, in seconds.
    static let lifetime: Int64 = 900

    var request: SignInRequest
    var group: KeychainGroup
    var store: StoreChoice
    var forceNew: Bool
    var pending: JSONObject
    var createdAt: Instant

    /// The sign-ins that wait in a store, found by `state`.
    struct Shelf {
        let store: any SecretStore
        let context: CommandContext

        /// Keeps a sign-in and drops those that have run out.
        func keep(_ signIn: PendingSignIn, state: String) throws(CredentialError) {
            try dropExpired()
            let item = try item(state)
            if store.kind == .secretService { try context.journal.write([1], for: Self.mark(item), in: item.group) }
            try store.write(JSONValue.object(signIn.json).bytes(), for: item, label: "credmgr: pending sign-in")
        }

        /// Whether a sign-in for `state` was put into the Secret Service here and has not been taken: known even
        /// when that cannot be asked. Without the mark a redirect is a stranger's, or is used a second time.
        func isMarked(state: String) throws(CredentialError) -> Bool {
            let item = try item(state)
            return try context.journal.read(Self.mark(item), in: item.group) != nil
        }

        private static func mark(_ item: SecretItem) -> String { "pending-" + item.owner }

        private func remove(_ item: SecretItem) throws(CredentialError) {
            try store.remove(item)
            try context.journal.remove(Self.mark(item), in: item.group)
        }

        /// Takes the sign-in that belongs to `state`; it can be taken once.
        ///
        /// - Returns: `nil` when there is none, or it has run out.
        func take(
            state: String, answer: String, catalog: AccountTypeCatalog
        ) throws(CredentialError) -> PendingSignIn? {
            let item = try item(state)
            guard let bytes = try store.read(item) else { return nil }
            let signIn = try PendingSignIn(bytes, catalog)
            // A redirect that was meant for somebody else does not use the sign-in up.
            try Self.check(answer, redirectURI: signIn.request.redirectURI)
            try remove(item)
            return context.clock.now.seconds(since: signIn.createdAt) <= PendingSignIn.lifetime ? signIn : nil
        }

        private static func check(_ answer: String, redirectURI: String) throws(CredentialError) {
            guard let address = WebAddress(answer), let expected = WebAddress(redirectURI), address.isWeb else {
                return
            }
            guard !RedirectURI.matches(address, expected) else { return }
            throw CredentialError(
                .validationFailed, "this address is not for the redirect URI of the sign-in",
                hint: "give the whole address that the browser ended at; the sign-in still waits for it")
        }

        /// Drops some of those that have run out: however many there are, a new one is kept in time. Each look into
        /// the file store reads all of it; more than one for each new one is enough.
        private func dropExpired() throws(CredentialError) {
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
                if context.clock.now.seconds(since: Instant(epochSeconds: created)) > PendingSignIn.lifetime {
                    try remove(item)
                }
            }
        }

        /// Named by a digest: the store keeps names in clear.
        private func item(_ state: String) throws(CredentialError) -> SecretItem {
            let digest = try context.cryptography.sha256(Array(state.utf8))
            return SecretItem(
                group: .standard, owner: Base64URL.encode(Array(digest.prefix(16))), kind: .pendingSignIn)
        }
    }

    private var json: JSONObject {
        var object = JSONObject()
        object["type"] = .string(request.type.name)
        object["flow"] = .string(request.flow.rawValue)
        object["policy"] = .string(request.policy)
        object["scope"] = JSONValue(request.scope)
        object["redirect_uri"] = .string(request.redirectURI)
        object["resource"] = request.resource.map(JSONValue.string)
        object["audience"] = request.audience.map(JSONValue.string)
        object["login_hint"] = request.loginHint.map(JSONValue.string)
        object["prompt"] = request.prompt.map(JSONValue.string)
        object["group"] = .string(group.name)
        object["store"] = .string(store.kind.rawValue)
        object["store_reason"] = store.reason.map(JSONValue.string)
        object["force_new"] = .bool(forceNew)
        object["pending"] = .object(pending)
        object["created_at"] = .integer(createdAt.epochSeconds)
        return object
    }

    init(
        request: SignInRequest, group: KeychainGroup, store: StoreChoice, forceNew: Bool, pending: JSONObject,
        createdAt: Instant
    ) {
        self.request = request
        self.group = group
        self.store = store
        self.forceNew = forceNew
        self.pending = pending
        self.createdAt = createdAt
    }

    private init(_ bytes: [UInt8], _ catalog: AccountTypeCatalog) throws(CredentialError) {
        guard let object = try? JSONValue.parse(bytes).object, let type = object["type"]?.string,
            let flow = object["flow"]?.string.flatMap(SignInFlow.init(rawValue:)),
            let policy = object["policy"]?.string, let scope = object["scope"]?.array?.compactMap(\.string),
            let redirectURI = object["redirect_uri"]?.string, let group = object["group"]?.string,
            let store = object["store"]?.string.flatMap(StoreKind.init(rawValue:)),
            let pending = object["pending"]?.object, let createdAt = object["created_at"]?.integer
        else { throw CredentialError(.storeDamaged, "the pending sign-in cannot be read", hint: "start it again") }
        request = SignInRequest(
            type: try catalog.definition(of: type).type, flow: flow, policy: policy, scope: scope,
            redirectURI: redirectURI)
        request.resource = object["resource"]?.string
        request.audience = object["audience"]?.string
        request.loginHint = object["login_hint"]?.string
        request.prompt = object["prompt"]?.string
        self.group = try KeychainGroup(group)
        self.store = StoreChoice(kind: store, reason: object["store_reason"]?.string)
        forceNew = object["force_new"] == true
        self.pending = pending
        self.createdAt = Instant(epochSeconds: createdAt)
    }
}
