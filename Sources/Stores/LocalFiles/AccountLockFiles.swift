package import CredentialCore
import Platform

/// The locks of the accounts: `locks/ACCOUNT.lock` beside the accounts of the group.
///
/// They lie beside the group's data, so that all processes that share the data share the locks, with any runtime
/// directory. A lock file is never removed: a process may be waiting for it.
package struct AccountLockFiles: AccountLocks {
    private let folders: GroupFolders
    private let clock: any WallClock

    /// Locks the accounts of the groups in `folders`; the clock serves messages.
    package init(_ folders: GroupFolders, clock: any WallClock = SystemClock()) {
        self.folders = folders
        self.clock = clock
    }

    /// The lock if it is free now.
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
        throw busy(account, group, seconds)
    }

    /// A lock that several may have at once.
    ///
    /// - Throws: as ``lock(_:in:seconds:)``.
    package func share(
        _ name: String, in group: KeychainGroup, seconds: Int
    ) throws(CredentialError) -> any HeldLock {
        if let lock = try take(name, in: group, seconds: seconds, isShared: true) { return lock }
        throw busy(name, group, seconds)
    }

    private func busy(_ account: String, _ group: KeychainGroup, _ seconds: Int) -> CredentialError {
        let name = UntrustedText.shown(account)
        guard let holder = holder(of: account, in: group) else {
            return CredentialError(
                .lockTimeout, "other processes have held the lock of account \(name) for \(seconds) s",
                hint: "credmgr doctor")
        }
        let held = max(0, clock.now.epochSeconds - holder.since)
        return CredentialError(
            .lockTimeout,
            "process \(holder.processID)\(holder.isStopped ? ", which is stopped," : "") has held the lock of "
                + "account \(name) for \(held) s; credmgr waited for \(seconds) s",
            hint: holder.isStopped ? "kill -CONT \(holder.processID)" : "credmgr doctor")
    }

    /// Whether the lock's file still has its name.
    package func isCurrent(_ lock: any HeldLock, of account: String, in group: KeychainGroup) -> Bool {
        guard let folder = try? folders.open(.locks, of: group) else { return false }
        return folder.isCurrent(lock.descriptor, account + ".lock")
    }

    /// The holder of the lock now; `nil` if it is free, or the holder is not known.
    package func holder(of account: String, in group: KeychainGroup) -> LockHolder? {
        guard let folder = try? folders.open(.locks, of: group) else { return nil }
        return try? FileLock.holder(account + ".lock", in: folder)
    }

    private func take(
        _ account: String, in group: KeychainGroup, seconds: Int, isShared: Bool = false
    ) throws(CredentialError) -> FileLock? {
        let folder: PrivateDirectory
        do {
            folder = try folders.create(.locks, of: group)
        } catch {
            throw FileLock.unusable(error)
        }
        return try FileLock.take(account + ".lock", in: folder, seconds: seconds, isShared: isShared)
    }
}
