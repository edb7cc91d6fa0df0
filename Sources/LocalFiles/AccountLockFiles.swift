package import CredentialCore
import LinuxPlatform

/// The locks of the accounts: `locks/ACCOUNT.lock` beside the group's registry.
///
/// They lie where the group's data lies, so that all processes that share the data share the locks, whatever
/// their runtime folder is. A lock file is never removed: somebody may be waiting for it.
package struct AccountLockFiles: AccountLocks {
    private let folders: GroupFolders

    /// Locks the accounts of the groups in `folders`.
    package init(_ folders: GroupFolders) { self.folders = folders }

    /// The lock if nobody holds it now.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` when locks do not work there.
    package func tryLock(_ account: String, in group: KeychainGroup) throws(CredentialError) -> (any HeldLock)? {
        try take(account, in: group, seconds: 0)
    }

    /// The lock, waiting for it at most `seconds`.
    ///
    /// - Throws: ``ErrorCode/lockTimeout``; ``ErrorCode/storeUnavailable``.
    package func lock(
        _ account: String, in group: KeychainGroup, seconds: Int
    ) throws(CredentialError) -> any HeldLock {
        if let lock = try take(account, in: group, seconds: seconds) { return lock }
        throw CredentialError(
            .lockTimeout,
            "another process has held the lock of account \(ForeignText.shown(account)) for \(seconds) s",
            hint: "try again; 'credmgr doctor' tells whether something hangs")
    }

    private func take(
        _ account: String, in group: KeychainGroup, seconds: Int
    ) throws(CredentialError) -> FileLock? {
        let folder: PrivateDirectory
        do {
            folder = try folders.create(.locks, of: group)
        } catch {
            throw FileLock.unusable(error)
        }
        return try FileLock.take(account + ".lock", in: folder, seconds: seconds)
    }
}
