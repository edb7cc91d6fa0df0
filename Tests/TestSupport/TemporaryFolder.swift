import Foundation

/// A private folder that is removed when the last reference to it goes.
public final class TemporaryFolder: Sendable {
    /// The path of the folder.
    public let path: String

    /// Makes a folder of mode 0700.
    ///
    /// - Parameter isInMemory: whether it is on a memory file system.
    public init(isInMemory: Bool = false) throws {
        path = (isInMemory ? "/dev/shm/" : NSTemporaryDirectory()) + "credmgr-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
