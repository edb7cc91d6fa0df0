import CredentialCore
import Platform
import Sodium
import Synchronization

/// 32 random bytes in a file of `$XDG_STATE_HOME/credmgr`, made at the first use that needs them.
final class MachineKey: Sendable {
    private let folder: [String]
    private let name: String
    private let stateHome: String
    private let random: any RandomSource
    private let known = Mutex<[UInt8]?>(nil)

    /// Names the file; nothing is read or made yet.
    init(_ name: String, in folder: [String], below stateHome: String, random: any RandomSource) {
        self.name = name
        self.folder = folder
        self.stateHome = stateHome
        self.random = random
    }

    /// HMAC-SHA-256 of `bytes` by the key; `nil` if the key cannot be read, or made.
    ///
    /// - Parameter makesKey: whether a key is made if there is none.
    func code(of bytes: [UInt8], makesKey: Bool) -> [UInt8]? {
        let key = known.withLock { known in
            if known == nil { known = read() ?? (makesKey ? make() : nil) }
            return known
        }
        return key.map { SHA256.code(of: bytes, key: $0) }
    }

    private func read() -> [UInt8]? {
        guard let folder = try? PrivateDirectory.open(folder, below: stateHome),
            let key = try? folder.read(name, limit: SHA256.size), key.count == SHA256.size
        else { return nil }
        return key
    }

    /// Writes a key. If two processes make one at once, the later one stays, and nothing that the other has made is
    /// recognised.
    private func make() -> [UInt8]? {
        let key = random.bytes(SHA256.size)
        guard let folder = try? PrivateDirectory.create(folder, below: stateHome),
            (try? folder.write(key, to: name)) != nil
        else { return nil }
        return key
    }
}
