package import CredentialCore
import Platform

/// Access tokens, and data keys while they are unlocked, as sealed files in the user's runtime folder.
///
/// The key to them is in two halves: one in the kernel's user keyring, one in the folder. A process of the user in
/// a sandbox without our files has at most the first, one in a container that shares the folder at most the second.
///
/// ```
/// NUMBER/half               the folder's half for the half that is the kernel's key NUMBER
/// NUMBER/00 … NUMBER/3f     entries, by the hash of their owner
/// NUMBER/keys               data keys
/// ```
///
/// Each of the 64 directories of entries is kept at 64 entries and 256 KiB. So all take 16 MiB and number 4,096 at
/// most, and to write one costs the same however many there are.
package struct SealedCache: AccessTokenCache {
    private let runtime: String?
    private let clock: AnyWallClock

    /// Makes a cache without any input or output.
    ///
    /// - Parameter runtime: `$XDG_RUNTIME_DIR`.
    package init(runtime: String?, clock: AnyWallClock) {
        self.runtime = runtime
        self.clock = clock
    }

    /// The cache with its key at hand, to read several entries; `nil` if it was never written.
    package func opened() -> UnlockedCache? {
        guard let folder = RuntimeDirectory.open(runtime: runtime), let keys = SplitCacheKey.find(in: folder) else {
            return nil
        }
        return UnlockedCache(folder, keys, clock)
    }

    /// The same, with all that is missing made.
    private func made() throws(CredentialError) -> UnlockedCache {
        guard let folder = RuntimeDirectory.make(runtime: runtime) else {
            throw CredentialError(
                .unsupported, "there is no runtime directory of the user",
                hint: "set XDG_RUNTIME_DIR to a directory that only you can write")
        }
        let keys = try SplitCacheKey.make(in: folder)
        return UnlockedCache(folder, keys, clock)
    }

    package func read(_ name: CacheKey) -> [UInt8]? { opened()?.read(name) }

    package func write(_ entry: [UInt8], name: CacheKey, seconds: Int64) {
        if seconds <= 0 { return remove(name) }
        // An entry that cannot be kept is a miss for the next call, and no error of this one.
        (try? made())?.write(entry, name: name, seconds: seconds)
    }

    package func remove(_ name: CacheKey) { opened()?.remove(name) }

    package func removeAll(ofOwner name: CacheKey) { opened()?.removeAll(ofOwner: name) }

    package func removeTokens() { opened()?.removeTokens() }

    package func check() throws(CredentialError) { try made().check() }
}
