package import CredentialCore
import Glibc

/// A private file that is there while this process is, in memory rather than on a disk if possible.
///
/// Each file has a lock file that its process holds; the next process removes the files of a killed one.
package final class RuntimeFile: Sendable {
    /// The path of the file.
    package var path: String { folder.path(of: name) }

    /// Its name in the folder.
    package let name: String

    private let folder: PrivateDirectory
    private let lock: FileLock
    private static let lockSuffix = ".lock"
    private static let sweepName = "sweep"
    private static let sweepWait = 5

    /// Finds a place for the file; it is not there before it is written.
    ///
    /// - Parameters:
    ///   - prefix: how its name begins.
    ///   - suffix: how its name ends.
    ///   - runtime: `$XDG_RUNTIME_DIR`; without one that is the user's own, as ``RuntimeDirectory`` says.
    ///   - otherwise: an absolute path, for machines that have neither.
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/storeUnavailable`` if locks do not work.
    package init(
        prefix: String, suffix: String = "", runtime: String?, otherwise: String
    ) throws(CredentialError) {
        folder = try Self.folder(runtime, otherwise)
        name = prefix + SystemRandom().accountID() + suffix
        // Held while files are made and removed: otherwise a file that is just being made could look left behind.
        guard let sweep = try FileLock.take(Self.sweepName, in: folder, seconds: Self.sweepWait) else {
            throw CredentialError(.inputOutput, "timed out waiting for \(folder.path), which is in use")
        }
        defer { sweep.release() }
        for other in try folder.names() where other.hasSuffix(Self.lockSuffix) {
            guard let abandoned = try FileLock.take(other, in: folder, seconds: 0) else { continue }
            try folder.remove(String(other.dropLast(Self.lockSuffix.count)))
            try folder.remove(other)
            abandoned.release()
        }
        guard let lock = try FileLock.take(name + Self.lockSuffix, in: folder, seconds: 0) else {
            throw CredentialError(.internalFault, "a new file in \(folder.path) is locked")
        }
        self.lock = lock
    }

    /// Replaces the content as a whole: a reader sees the old one or the new one. It goes with its process, so the
    /// write does not wait for the disk.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func write(_ bytes: [UInt8]) throws(CredentialError) {
        try folder.write(bytes, to: name, isDurable: false)
    }

    /// Removes the file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func remove() throws(CredentialError) {
        try folder.remove(name)
        try folder.remove(name + Self.lockSuffix)
        lock.release()
    }

    private static func folder(
        _ runtime: String?, _ otherwise: String
    ) throws(CredentialError) -> PrivateDirectory {
        if let place = RuntimeDirectory.make(runtime: runtime) { return place.folder }
        return try PrivateDirectory.create(["credmgr", "run"], below: otherwise)
    }
}
