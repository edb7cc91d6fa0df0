import CredentialCore
import OAuth

/// What is secret of a type's client, on its way from a file into a store.
struct TypeSecrets {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// The client secret in a file; `nil` for no file.
    func clientSecret(from path: String?) throws(CredentialError) -> Secret? {
        try path.map { (path) throws(CredentialError) in
            try session.secret(from: path, what: "client secret", option: "client-secret-file")
        }
    }

    /// The client's private key in a file. One that cannot sign is told now, not at the first sign-in.
    func privateKey(from path: String?) throws(CredentialError) -> Secret? {
        guard let path else { return nil }
        let key = try session.secret(from: path, what: "private key", option: "private-key-file", isText: true)
        let trial = ClientAssertion(issuer: "trial", subject: "trial", audience: "trial")
        _ = try trial.signed(with: key, in: session.services(session.stores(mayPrompt: false)).adapterContext)
        return key
    }

    /// Puts them into the store of new secrets.
    func keep(clientSecret: Secret?, privateKey: Secret?, of type: AccountType) throws(CredentialError) {
        guard clientSecret != nil || privateKey != nil else { return }
        let stores = session.stores()
        let choice = try StoreChoice(session, stores)
        func write(_ secret: Secret?, _ kind: SecretItem.Kind, _ what: String) throws(CredentialError) {
            guard let secret else { return }
            try stores.store(choice.kind).write(
                Array(secret.reveal().utf8),
                for: SecretItem(group: type.keychainGroup, owner: type.name, kind: kind),
                label: "credmgr: \(type.name) \(what)")
        }
        try write(clientSecret, .clientSecret, "client secret")
        try write(privateKey, .privateKey, "private key")
        choice.tell("what is secret of the type", session)
    }

    /// Takes what a store keeps for a definition that is gone, and that in its place wants no more, out of whichever store has it,
    /// and says where that cannot be done.
    func forget(of type: AccountType, replacedBy new: AccountType? = nil) {
        let stores = session.stores(mayPrompt: false)
        let parts = [
            (type.clientSecret, new?.clientSecret, SecretItem.Kind.clientSecret),
            (type.privateKey, new?.privateKey, .privateKey),
        ]
        for (source, other, kind) in parts where source == .store && other != .store {
            let item = SecretItem(group: type.keychainGroup, owner: type.name, kind: kind)
            var wasThere = false
            var failure: (store: StoreKind, error: CredentialError)?
            for store in [StoreKind.file, .secretService] where !wasThere {
                do throws(CredentialError) {
                    wasThere = try stores.store(store).read(item) != nil
                    if wasThere { try stores.store(store).remove(item) }
                } catch { failure = (store, error) }
            }
            guard let failure, !wasThere || failure.store == .file else { continue }
            session.notices.warning(
                "what is secret of the type \(type.name) may still be in the \(failure.store.shownName): \(failure.error)"
            )
        }
    }
}
