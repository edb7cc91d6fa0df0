package import CredentialCore

/// Reads the secrets of a type's client from where its definition says they are.
package struct ClientSecretResolver: ClientSecrets {
    private let stores: any SecretStores
    private let context: CommandContext

    /// Makes a resolver.
    package init(stores: any SecretStores, context: CommandContext) {
        self.stores = stores
        self.context = context
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

    private func resolve(
        _ source: ClientSecretSource, of type: AccountType, kind: SecretItem.Kind, key: String
    ) throws(CredentialError) -> Secret? {
        let text: String
        switch source {
        case .literal(let secret): return secret.isEmpty ? nil : secret
        case .store: return try stored(type, kind, key)
        case .environment(let name):
            guard let value = context.environment[name] else {
                throw missing(type, key, "the variable \(ForeignText.shown(name, limit: 80)) is not set")
            }
            text = value
        case .file(let path):
            guard let file = try context.typeFiles.read(path) else {
                throw missing(type, key, "there is no file \(ForeignText.shown(path))")
            }
            guard file.isPrivate else {
                throw missing(
                    type, key, "others can read the file \(ForeignText.shown(path))", hint: "chmod 600 \(path)")
            }
            text = String(decoding: file.bytes, as: UTF8.self)
        case .command(let words):
            let result = try context.programs.run(words, seconds: 10)
            guard result.exitStatus == 0 else {
                throw missing(
                    type, key, "the command \(ForeignText.shown(words.first ?? "")) ended with \(result.exitStatus)"
                )
            }
            text = String(decoding: result.output, as: UTF8.self)
        }
        // A private key has many lines; only what ends a file is not part of the secret.
        var secret = text[...]
        while let last = secret.last, last.isNewline { secret.removeLast() }
        guard !secret.isEmpty else { throw missing(type, key, "it is empty") }
        return Secret(String(secret))
    }

    private func stored(
        _ type: AccountType, _ kind: SecretItem.Kind, _ key: String
    ) throws(CredentialError) -> Secret? {
        let item = SecretItem(group: type.keychainGroup, owner: type.name, kind: kind)
        var failure: CredentialError?
        for store in StoreKind.allCases {
            do throws(CredentialError) {
                if let bytes = try stores.store(store).read(item) {
                    return Secret(String(decoding: bytes, as: UTF8.self))
                }
            } catch { failure = failure ?? error }
        }
        throw failure
            ?? missing(
                type, key, "the store does not hold it",
                hint: "credmgr types add \(type.name) --force --client-secret-file -")
    }

    private func missing(
        _ type: AccountType, _ key: String, _ reason: String, hint: String? = nil
    ) -> CredentialError {
        CredentialError(.configuration, "the \(key) of account type \(type.name): \(reason)", hint: hint)
    }
}
