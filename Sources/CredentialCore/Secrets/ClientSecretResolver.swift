/// Reads the secrets of a type's client from the places that its definition names.
package struct ClientSecretResolver: ClientSecrets {
    private let stores: any SecretStores
    private let secrets: SecretReader
    private let bindings: ClientBindings
    private let vouch: IdentityVouching?

    /// Has the type of a name vouch, at another authorization server, for its person.
    package typealias IdentityVouching =
        @Sendable (_ provider: String, AccountType, IdentityAssertionRequest) throws(CredentialError) -> Secret

    /// Makes a resolver.
    ///
    /// - Parameters:
    ///   - stores: the stores.
    ///   - secrets: reads the secrets that are kept outside the stores.
    ///   - bindings: tells which stored secret is a client's.
    ///   - vouch: has one type vouch for another; `nil` if that is not possible.
    package init(
        stores: any SecretStores, secrets: SecretReader, bindings: ClientBindings, vouch: IdentityVouching? = nil
    ) {
        self.stores = stores
        self.secrets = secrets
        self.bindings = bindings
        self.vouch = vouch
    }

    package func clientSecret(of type: AccountType) throws(CredentialError) -> Secret? {
        try type.clientSecret.flatMap { (source) throws(CredentialError) in
            try resolve(source, of: type, kind: .clientSecret, key: "client_secret")
        }
    }

    package func privateKey(of type: AccountType) throws(CredentialError) -> Secret? {
        try type.privateKey.flatMap { (source) throws(CredentialError) in
            try resolve(source, of: type, kind: .privateKey, key: "private_key")
        }
    }

    package func identityToken(of type: AccountType) throws(CredentialError) -> Secret? {
        try type.identityToken?.secret.flatMap { (source) throws(CredentialError) in
            // A platform may let others read the file that it projects into a container, which is no secret of
            // ours.
            try resolve(source, of: type, kind: .clientSecret, key: "identity_token", mayBeShared: true)
        }
    }

    package func identityTokenRequest(
        of type: AccountType
    ) throws(CredentialError) -> IdentityTokenRequest? {
        guard let source = type.identityToken, let platform = source.platform else { return nil }
        let name = Self.name("identity_token", type)
        try bindings.check(type, name)
        func variable(_ variable: String) throws(CredentialError) -> Secret {
            try secrets.read(
                .environment(variable),
                for: SecretRequest(name, isText: true, isOneLine: true, hint: platform.hint))
        }
        let place = try variable(platform.addressVariable).reveal()
        return try IdentityTokenRequest(source, at: place, token: variable(platform.tokenVariable))
    }

    package func identityAssertion(
        of type: AccountType, _ request: IdentityAssertionRequest
    ) throws(CredentialError) -> Secret? {
        guard let provider = type.identityProvider else { return nil }
        guard let vouch else {
            throw CredentialError(
                .unsupported,
                "account type \(type.name): this program cannot use '\(provider)' as its identity "
                    + "provider",
                hint: "credmgr token --type \(ShellQuoting.word(type.name))")
        }
        return try vouch(provider, type, request)
    }

    private func resolve(
        _ source: ClientSecretSource, of type: AccountType, kind: SecretItem.Kind, key: String,
        mayBeShared: Bool = false
    ) throws(CredentialError) -> Secret? {
        let outside: SecretSource
        switch source {
        case .literal(let secret): return secret.isEmpty ? nil : secret
        case .store: return try stored(type, kind, key)
        case .environment(let name): outside = .environment(name)
        case .file(let path): outside = .file(path)
        case .command(let words): outside = .command(words)
        }
        let name = Self.name(key, type)
        try bindings.check(type, name)
        // A private key has many lines. All else is sent to the server that the definition names.
        let secret = try secrets.read(
            outside,
            for: SecretRequest(name, isText: true, isOneLine: kind != .privateKey, mayBeShared: mayBeShared))
        guard kind != .privateKey || PrivateKeyForm.isOne(secret.reveal()) else {
            throw CredentialError(.configuration, "\(name) must be a private key in PEM form or a JWK")
        }
        return secret
    }

    private func stored(
        _ type: AccountType, _ kind: SecretItem.Kind, _ key: String
    ) throws(CredentialError) -> Secret? {
        let item = try bindings.item(kind, of: type)
        var failure: CredentialError?
        // A store that failed is not asked a second time: a keyring would show its window again.
        var answering: [StoreKind] = []
        for store in StoreKind.allCases {
            do throws(CredentialError) {
                if let bytes = try stores.store(store).read(item) {
                    return Secret(String(decoding: bytes, as: UTF8.self))
                }
                answering.append(store)
            } catch { failure = failure ?? error }
        }
        let isOfAnother: Bool
        switch try earlier(type, kind, item, in: answering) {
        case .own(let secret): return secret
        case .ofAnother: isOfAnother = true
        case nil: isOfAnother = false
        }
        if let failure, !isOfAnother { throw failure }
        throw CredentialError(
            .configuration,
            isOfAnother
                ? "\(Self.name(key, type)): the stored secret belongs to another client"
                : "\(Self.name(key, type)): not found in the store",
            hint: kind == .clientSecret
                ? "credmgr types set \(type.name) --client-secret-file -"
                : "credmgr types set \(type.name) --private-key-file -")
    }

    private enum Earlier {
        case own(Secret)
        case ofAnother
    }

    /// The secret that credmgr stored under the type's name before; if it is the client's, it is moved to the
    /// client's place.
    private func earlier(
        _ type: AccountType, _ kind: SecretItem.Kind, _ item: SecretItem, in places: [StoreKind]
    ) throws(CredentialError) -> Earlier? {
        let earlier = ClientBindings.earlierItem(kind, of: type)
        for place in places {
            guard let store = try? stores.store(place), let bytes = try? store.read(earlier) else { continue }
            guard try bindings.ownsEarlier(type) else { return .ofAnother }
            // A secret that cannot be moved now is still used, and the next command moves it.
            if (try? store.write(bytes, for: item, label: "credmgr: \(type.name) \(kind.rawValue)")) != nil {
                try? store.remove(earlier)
            }
            return .own(Secret(String(decoding: bytes, as: UTF8.self)))
        }
        return nil
    }

    private static func name(_ key: String, _ type: AccountType) -> LocalizedMessage {
        "the \(key) of account type \(type.name)"
    }
}
