import CredentialCore
import Platform
import Sodium

/// The two halves of the cache's key, joined.
struct SplitCacheKey {
    /// The name of the folder for entries under this key: the number of the kernel's key. A container may share the
    /// folder and not the keyring; each then has a folder of its own.
    let folder: String
    /// The key.
    let key: SplitKey

    private static let name = "credmgr:cache"
    private static let halfName = "half"
    private static let lockName = "lock"
    private static let lockSeconds = 2
    /// The end of the year 9999.
    private static let farFuture = Timestamp(epochSeconds: 253_402_300_799)

    /// The key as it was made before.
    static func find(in runtime: borrowing RuntimeDirectory) -> SplitCacheKey? {
        guard let kernel = try? UserKeyringKey.find(name) else { return nil }
        return joined(kernel, runtime)
    }

    /// The key; halves that are missing are made, under a lock, and an existing half is never overwritten.
    ///
    /// - Throws: ``ErrorCode/unsupported``.
    static func make(in runtime: borrowing RuntimeDirectory) throws(CredentialError) -> SplitCacheKey {
        if let keys = find(in: runtime) { return keys }
        let lock = try FileLock.take(lockName, in: runtime.folder, seconds: lockSeconds)
        guard let lock else {
            throw CredentialError(
                .unsupported, "timed out waiting for \(runtime.folder.path), which is in use")
        }
        defer { lock.release() }
        let kernel = try kernelHalf()
        if let keys = joined(kernel, runtime) { return keys }
        sweep(runtime)
        let path = "\(kernel.number)/\(halfName)"
        // A key of another form opens no entry; an entry that was sealed with it does not open either.
        guard runtime.put(SystemRandom().bytes(SplitKey.halfSize), at: path, end: farFuture),
            let keys = joined(kernel, runtime)
        else {
            throw CredentialError(
                .unsupported, "cannot write in \(runtime.folder.path)",
                hint: "check whether the file system is full: df '\(runtime.folder.path)'")
        }
        return keys
    }

    private static func joined(_ kernel: UserKeyringKey, _ runtime: borrowing RuntimeDirectory) -> SplitCacheKey? {
        let folder = String(kernel.number)
        guard let half = runtime.read(folder + "/" + halfName, limit: SplitKey.halfSize),
            let key = SplitKey(kernel.bytes, half)
        else { return nil }
        return SplitCacheKey(folder: folder, key: key)
    }

    private static func kernelHalf() throws(CredentialError) -> UserKeyringKey {
        do throws(UserKeyringKey.Failure) {
            return try findOrMake()
        } catch {
            throw switch error {
            case .missing:
                CredentialError(.unsupported, "the kernel did not store the key")
            case .quotaIsUsedUp:
                CredentialError(
                    .unsupported, "the kernel's key quota is exceeded",
                    hint: "compare /proc/key-users with the limits in /proc/sys/kernel/keys/maxkeys and maxbytes")
            case .refused(let number):
                CredentialError(
                    .unsupported, "the kernel cannot store keys here (error \(number))",
                    hint: "allow keyctl in the container's system call filter")
            }
        }
    }

    private static func findOrMake() throws(UserKeyringKey.Failure) -> UserKeyringKey {
        do throws(UserKeyringKey.Failure) {
            let kernel = try UserKeyringKey.find(name)
            if kernel.bytes.count == SplitKey.halfSize { return kernel }
            // Another program has written a key that is no half; it opens no entry.
            kernel.drop()
        } catch {
            guard error == .missing else { throw error }
        }
        return try UserKeyringKey.make(name, SystemRandom().bytes(SplitKey.halfSize))
    }

    /// Removes the files of keys that the machine has no more.
    private static func sweep(_ runtime: borrowing RuntimeDirectory) {
        for name in runtime.names(in: ".") {
            if let number = Int32(name), UserKeyringKey.isGone(number) { runtime.removeFolder(name) }
        }
    }
}
