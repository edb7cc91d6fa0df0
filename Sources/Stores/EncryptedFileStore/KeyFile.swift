import CredentialCore
import Platform

/// The user's key file, `credmgr/file-store.key` below the data folder: 32 random bytes, made at first use.
struct KeyFile: Sendable {
    private static let name = "file-store.key"
    private static let size = 32
    /// How long another process may take to make the file, in seconds.
    private static let patience = 10

    /// `$XDG_DATA_HOME`.
    let dataHome: String

    /// The path in a form that a message may show.
    var path: String { UntrustedText.shown(dataHome + "/credmgr/" + Self.name, limit: 4_096) }

    /// The key; `nil` if there is no file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, also for a file that others can open; ``ErrorCode/storeUnavailable``
    ///   for one of another size.
    func read() throws(CredentialError) -> [UInt8]? {
        guard let folder = try PrivateDirectory.open(["credmgr"], below: dataHome) else { return nil }
        return try read(in: folder)
    }

    /// The key, made now if it did not exist. Another process that reads the file finds no content or all of it.
    ///
    /// - Throws: as ``read()``; ``ErrorCode/lockTimeout``.
    func readOrMake(_ random: any RandomSource) throws(CredentialError) -> [UInt8] {
        if let key = try read() { return key }
        let folder = try PrivateDirectory.create(["credmgr"], below: dataHome)
        let locks = try PrivateDirectory.create(["credmgr", "locks"], below: dataHome)
        guard let lock = try FileLock.take(Self.name + ".lock", in: locks, seconds: Self.patience) else {
            throw CredentialError(.lockTimeout, "timed out waiting for another process to create \(path)")
        }
        defer { lock.release() }
        // Between the look and the lock another process may have made it.
        if let key = try read(in: folder) { return key }
        let key = random.bytes(Self.size)
        try folder.write(key, to: Self.name)
        return key
    }

    private func read(in folder: borrowing PrivateDirectory) throws(CredentialError) -> [UInt8]? {
        guard let key = try folder.read(Self.name, limit: 4_096) else { return nil }
        guard key.count == Self.size else {
            throw CredentialError(
                .storeUnavailable, "the key file \(path) has \(key.count) bytes instead of \(Self.size)",
                hint: "restore the file from a backup")
        }
        return key
    }
}
