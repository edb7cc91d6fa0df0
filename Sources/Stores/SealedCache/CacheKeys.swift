import CredentialCore
import Platform
import Sodium

/// The two halves of the cache's key, joined.
struct CacheKeys {
    /// The name of the folder for entries under this key: the number of the kernel's key. A container may share the folder
    /// and not the keyring; each then has a folder of its own.
    let folder: String
    /// The key.
    let key: SealingKey

    private static let name = "credmgr:cache"
    private static let halfName = "half"
    private static let lockName = "lock"
    private static let lockSeconds = 2
    /// The end of the year 9999.
    private static let farFuture = Instant(epochSeconds: 253_402_300_799)

    /// The key as it was made before.
    static func find(in runtime: borrowing RuntimeFolder) -> CacheKeys? {
        guard let kernel = try? KernelKey.find(name) else { return nil }
        return joined(kernel, runtime)
    }

    /// The key; halves that are missing are made, under a lock, and none that is there is overwritten.
    ///
    /// - Throws: ``ErrorCode/unsupported``.
    static func make(in runtime: borrowing RuntimeFolder) throws(CredentialError) -> CacheKeys {
        if let keys = find(in: runtime) { return keys }
        let lock = try FileLock.take(lockName, in: runtime.folder, seconds: lockSeconds)
        guard let lock else { throw CredentialError(.unsupported, "\(runtime.folder.path) is in use for too long") }
        defer { lock.release() }
        let kernel = try kernelHalf()
        if let keys = joined(kernel, runtime) { return keys }
        sweep(runtime)
        let path = "\(kernel.number)/\(halfName)"
        // One that is there and no half of a key opens nothing; nor does any entry that was sealed with it.
        guard runtime.put(SystemRandom().bytes(SealingKey.halfSize), at: path, end: farFuture),
            let keys = joined(kernel, runtime)
        else {
            throw CredentialError(
                .unsupported, "nothing can be written in \(runtime.folder.path)",
                hint: "look whether its file system is full: df '\(runtime.folder.path)'")
        }
        return keys
    }

    private static func joined(_ kernel: KernelKey, _ runtime: borrowing RuntimeFolder) -> CacheKeys? {
        let folder = String(kernel.number)
        guard let half = runtime.read(folder + "/" + halfName, limit: SealingKey.halfSize),
            let key = SealingKey(kernel.bytes, half)
        else { return nil }
        return CacheKeys(folder: folder, key: key)
    }

    private static func kernelHalf() throws(CredentialError) -> KernelKey {
        do throws(KernelKey.Failure) {
            return try findOrMake()
        } catch {
            throw switch error {
            case .missing:
                CredentialError(.unsupported, "the kernel does not keep the key that it was given")
            case .quotaIsUsedUp:
                CredentialError(
                    .unsupported, "the kernel's quota of keys is used up",
                    hint: "see /proc/key-users; /proc/sys/kernel/keys/maxkeys and maxbytes are the limits")
            case .refused(let number):
                CredentialError(
                    .unsupported, "the kernel keeps no keys here (error \(number))",
                    hint: "usual in containers, whose filters of system calls leave keyctl out")
            }
        }
    }

    private static func findOrMake() throws(KernelKey.Failure) -> KernelKey {
        do throws(KernelKey.Failure) {
            let kernel = try KernelKey.find(name)
            if kernel.bytes.count == SealingKey.halfSize { return kernel }
            // A key that is no half was put there by another program; it opens no entry.
            kernel.drop()
        } catch {
            guard error == .missing else { throw error }
        }
        return try KernelKey.make(name, SystemRandom().bytes(SealingKey.halfSize))
    }

    /// Removes what belongs to keys that the machine has no more.
    private static func sweep(_ runtime: borrowing RuntimeFolder) {
        for name in runtime.names(in: ".") {
            if let number = Int32(name), KernelKey.isGone(number) { runtime.removeFolder(name) }
        }
    }
}
