/// Reads and writes the files that define account types.
public protocol DefinitionStore: Sendable {
    /// The file at `path`; `nil` when there is no file.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it is there but cannot be read, or is larger than 1 MiB.
    func read(_ path: String) throws(CredentialError) -> DefinitionFile?

    /// The names of the files in `folder`, in any order; empty if the directory is missing.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func names(in folder: String) throws(CredentialError) -> [String]

    /// Puts a file of mode 0600 in place atomically, making missing directories (mode 0700).
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ bytes: [UInt8], to path: String) throws(CredentialError)

    /// Removes a file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove(_ path: String) throws(CredentialError)

    /// Whether root owns a file and its directory, and only root can write there; false, if that cannot be known.
    func isOfRoot(_ path: String) -> Bool
}

extension DefinitionStore {
    /// Not known.
    public func isOfRoot(_ path: String) -> Bool { false }
}

/// A file that defines an account type.
public struct DefinitionFile: Sendable {
    /// The content.
    public let bytes: [UInt8]
    /// Whether only its owner, who is the user, can read it (mode 0600 or less).
    public let isPrivate: Bool

    /// Makes a file.
    public init(bytes: [UInt8], isPrivate: Bool) {
        self.bytes = bytes
        self.isPrivate = isPrivate
    }
}
