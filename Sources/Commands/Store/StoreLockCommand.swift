import CommandLine
import CredentialCore

/// `credmgr store lock`.
struct StoreLockCommand: Command {
    static let spec = CommandSpec(
        ["store", "lock"], "forget the key of the encrypted file and all cached tokens",
        details: """
            credmgr does not lock the desktop's keyring, because other programs use it.
            """,
        exitStatuses: [5])

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let stores = session.stores(mayPrompt: false)
        // The cached tokens are removed under any settings: an earlier call may have kept some.
        session.context.tokenCache.removeTokens()
        session.notices.note("dropped the access tokens that were cached")
        try session.each(of: try StoreGroups.withTypes(session)) { (group) throws(CredentialError) in
            let store = try stores.store(.file)
            guard try store.protection(of: group) != nil else { return }
            if try store.lock(group) {
                session.notices.note("the encrypted file of group \(group) is locked")
            } else {
                session.notices.note(
                    "cannot lock the encrypted file of group \(group): it has a key file")
                session.notices.detail("to put a passphrase in its place: credmgr store rekey")
            }
        }
    }
}
