import CredentialCore

/// The store of something new: contract §7.
struct StoreChoice: Sendable {
    /// Where it goes.
    let kind: StoreKind
    /// Why that is not the Secret Service, where nobody asked for another; to be told once something is kept.
    let reason: String?

    /// A choice that was made before.
    init(kind: StoreKind, reason: String?) {
        self.kind = kind
        self.reason = reason
    }

    /// The store named by option, environment or configuration; else the Secret Service if it answers, else the
    /// encrypted file.
    ///
    /// - Throws: the named store's own error when it cannot be used; ``ErrorCode/storeLocked`` when the Secret
    ///   Service is there but locked: putting the account elsewhere would surprise later.
    init(_ session: Session, _ stores: any SecretStores) throws(CredentialError) {
        if let kind = session.options.store ?? (session.options.namesStore ? nil : session.configuration.store) {
            try stores.store(kind).probe()
            self.init(kind: kind, reason: nil)
            return
        }
        do throws(CredentialError) {
            try stores.store(.secretService).probe()
            self.init(kind: .secretService, reason: nil)
        } catch {
            guard error.code == .storeUnavailable || error.code == .internalFault else { throw error }
            try stores.store(.file).probe()
            self.init(kind: .file, reason: error.message)
        }
    }

    /// Says where something was kept, if that is not the place to expect.
    func tell(_ what: String, _ session: Session) {
        if let reason {
            session.notices.note("\(what) is kept in the encrypted file: \(reason)")
        }
    }
}
