import CredentialCore
import CryptoSupport
import EncryptedFileStore
import Foundation
import Platform
import Synchronization
import TestSupport

/// File stores below a temporary folder.
final class EncryptedFileFixture: Sendable {
    /// The least that is accepted: tests guess no passphrases.
    static let cheap = ScryptCost(logarithm: 13, blockSize: 8, parallelism: 1)

    let folder: TemporaryFolder
    private let reported = Mutex<[String]>([])

    init() throws { folder = try TemporaryFolder() }

    /// The messages that the stores of this fixture reported.
    var reports: [String] { reported.withLock { $0 } }

    /// A store as a new process would have it: it remembers no key.
    func store(
        passphrase: String? = nil, cache: (any AccessTokenCache)? = nil, cost: ScryptCost = cheap
    ) -> EncryptedFileStore {
        Self.store(folder.path, passphrase: passphrase, cache: cache, cost: cost) { [self] message in
            reported.withLock { $0.append(message) }
        }
    }

    static func store(
        _ path: String, passphrase: String? = nil, cache: (any AccessTokenCache)? = nil, cost: ScryptCost = cheap,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) -> EncryptedFileStore {
        EncryptedFileStore(
            dataHome: path,
            keys: UnlockSources(
                passphrase: { () throws(CredentialError) in passphrase.map { Secret($0) } }, unlockedKeys: cache),
            cryptography: LibCryptography(), random: SystemRandom(), clock: SystemClock(), cost: cost,
            report: { report($0.description) })
    }

    var groupFolder: String { folder.path + "/credmgr/groups/default" }
    var file: String { groupFolder + "/store.v1" }
    var previousFile: String { file + ".prev" }
    var keyFile: String { folder.path + "/credmgr/file-store.key" }

    func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    /// Writes into the file that is there, whose mode stays.
    func overwrite(_ path: String, with bytes: [UInt8]) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    /// The files of the group with their contents.
    func snapshot() throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: groupFolder) where name != "locks" {
            found[name] = try bytes(groupFolder + "/" + name)
        }
        return found
    }
}

/// An item of the standard group.
func item(_ owner: String, kind: SecretItem.Kind = .tokenSet, group: KeychainGroup = .standard) -> SecretItem {
    SecretItem(group: group, owner: owner, kind: kind)
}

/// A cache in memory.
final class MemoryCache: AccessTokenCache {
    private let entries = Mutex<[CacheKey: [UInt8]]>([:])

    var count: Int { entries.withLock { $0.count } }

    func read(_ name: CacheKey) -> [UInt8]? { entries.withLock { $0[name] } }
    func write(_ entry: [UInt8], name: CacheKey, seconds: Int64) { entries.withLock { $0[name] = entry } }
    func remove(_ name: CacheKey) { entries.withLock { $0[name] = nil } }
    func removeAll(ofOwner name: CacheKey) {
        entries.withLock { $0 = $0.filter { $0.key.owner != name.owner } }
    }
    func removeTokens() { entries.withLock { $0 = $0.filter { $0.key.isKey } } }
    func check() {}

    func replaceAll(with entry: [UInt8]) {
        entries.withLock { entries in for name in entries.keys { entries[name] = entry } }
    }
}
