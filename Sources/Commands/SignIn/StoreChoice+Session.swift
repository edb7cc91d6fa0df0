import CredentialCore

extension StoreChoice {
    /// The store named by option, environment or configuration, else the one to be had.
    ///
    /// - Throws: as ``AccountServices/storeOfNewAccounts(_:)``.
    init(_ session: CommandSession, _ stores: any SecretStores) throws(CredentialError) {
        self = try session.services(stores).storeOfNewAccounts(
            session.options.store ?? (session.options.namesStore ? nil : session.configuration.store))
    }

    /// Reports the store in which an entry was saved, if that is not the expected one.
    func tell(_ what: LocalizedMessage, _ session: CommandSession) {
        if let reason {
            session.notices.note("\(what) is stored in the encrypted file: \(reason)")
        }
    }
}
