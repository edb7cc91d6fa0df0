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

    /// Names the file; it is not read or made yet.
    init(_ name: String, in folder: [String], below stateHome: String, random: any RandomSource) {
        self.name = name
        self.folder = folder
        self.stateHome = stateHome
        self.random = random
    }

    /// HMAC-SHA-256 of `bytes` by the key; `nil` if the key cannot be read, or made. A key that cannot be read now
    /// is never replaced: results made with it would not be recognised.
    ///
    /// - Parameter makesKey: whether a key is made if it does not exist.
    func code(of bytes: [UInt8], makesKey: Bool) -> [UInt8]? {
        let key = known.withLock { known in
            do throws(CredentialError) {
                if known == nil { known = try read() }
                if known == nil, makesKey { known = try make() }
            } catch {
                // The caller works without a key, and `check()` reports the cause.
            }
            return known
        }
        return key.map { SHA256.code(of: bytes, key: $0) }
    }

    /// Checks that the key can be read, if there is one.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, with the cause.
    func check() throws(CredentialError) { _ = try read() }

    /// The key; `nil` if it does not exist.
    private func read() throws(CredentialError) -> [UInt8]? {
        guard let folder = try PrivateDirectory.open(folder, below: stateHome),
            let key = try folder.read(name, limit: SHA256.size)
        else { return nil }
        guard key.count == SHA256.size else {
            let path = UntrustedText.shown(folder.path(of: name), limit: 4_096)
            throw CredentialError(
                .inputOutput, "the key file \(path) has \(key.count) bytes instead of \(SHA256.size)",
                hint: "rm \(ShellQuoting.word(path))")
        }
        return key
    }

    /// Writes a key. If two processes make one at once, the later one stays, and results that the other has made
    /// are not recognised.
    private func make() throws(CredentialError) -> [UInt8] {
        let key = random.bytes(SHA256.size)
        try PrivateDirectory.create(folder, below: stateHome).write(key, to: name)
        return key
    }
}
