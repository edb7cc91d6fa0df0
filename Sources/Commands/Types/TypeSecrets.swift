import CredentialCore
import OAuth

/// The secrets of a type's client, on their way from a file into a store.
struct TypeSecrets {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// The client secret in a file; `nil` for no file.
    func clientSecret(from path: String?) throws(CredentialError) -> Secret? {
        try path.map { (path) throws(CredentialError) in
            try session.secret(from: path, what: "client secret", option: "client-secret-file")
        }
    }

    /// The client's private key in a file. One that cannot sign is reported now, not at the first sign-in.
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
                for: ClientBindings(session.context.machine).item(kind, of: type),
                label: "credmgr: \(type.name) \(what)")
        }
        try write(clientSecret, .clientSecret, "client secret")
        try write(privateKey, .privateKey, "private key")
        choice.tell("the client secret or private key of the type", session)
    }
}
