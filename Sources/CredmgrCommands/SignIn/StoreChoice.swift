import CredentialCore

/// Chooses the store of a new account: contract §7.
struct StoreChoice: Sendable {
    let session: Session

    /// The store named by option, environment or configuration; else the Secret Service if it answers, else the
    /// encrypted file, which is said.
    ///
    /// - Throws: the named store's own error when it cannot be used; ``ErrorCode/storeLocked`` when the Secret
    ///   Service is there but locked: putting the account elsewhere would surprise later.
    func choose(_ stores: any SecretStores) throws(CredentialError) -> StoreKind {
        if let kind = session.options.store ?? (session.options.namesStore ? nil : session.configuration.store) {
            try stores.store(kind).probe()
            return kind
        }
        do throws(CredentialError) {
            try stores.store(.secretService).probe()
            return .secretService
        } catch {
            guard error.code == .storeUnavailable || error.code == .internalFault else { throw error }
            try stores.store(.file).probe()
            session.notices.note("secrets are kept in the encrypted file: \(error.message)")
            return .file
        }
    }
}
