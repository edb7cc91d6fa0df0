package import CredentialCore

extension EncryptedFileStore {
    /// Opens the group's file, and keeps its key at the place that ``UnlockSources/unlockedKeys`` uses.
    ///
    /// - Returns: whether a passphrase opens the file; with a key file it is never locked.
    /// - Throws: ``ErrorCode/storeLocked``, ``ErrorCode/storeDamaged``, ``ErrorCode/storeUnavailable``.
    package func unlock(_ group: KeychainGroup, seconds: Int64) throws(CredentialError) -> Bool {
        guard let store = try opened(group), store.header.needsPassphrase else { return false }
        keys.hold(store.key, of: store.header, seconds: seconds)
        return true
    }

    /// Forgets the key of the group's file.
    ///
    /// - Returns: whether a passphrase is needed from now on.
    /// - Throws: ``ErrorCode/storeDamaged``, ``ErrorCode/storeUnavailable``.
    package func lock(_ group: KeychainGroup) throws(CredentialError) -> Bool {
        guard let header = try header(of: group) else { return false }
        keys.forget(header.fileID)
        return header.needsPassphrase
    }

    /// Encrypts the group's file again under a new data key that only `key` opens; makes the file if it does not
    /// exist.
    ///
    /// A reader that knew the previous secret can read old copies of the file, and no content that is written from
    /// now on. The data key before is kept in the file for the token sets that it has sealed, until
    /// ``forgetReplacedKeys(of:but:)``.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when the file cannot be opened; ``ErrorCode/configuration`` for an empty
    ///   passphrase.
    package func setKey(_ key: StoreKey, of group: KeychainGroup) throws(CredentialError) {
        var replaced: [UInt8]?
        try update(group, newKey: key) { store throws(CredentialError) in
            if case .new = store.origin { return }
            replaced = store.header.fileID
            var (header, dataKey) = try keys.newFile(openedBy: key, cost: cost)
            header.generation = store.header.generation
            var items = store.items
            items.keepReplacedKey(store.key.bytes, id: Base64URL.encode(store.header.fileID))
            store = DecryptedStore(header: header, items: items, key: dataKey, origin: store.origin)
        }
        // This process goes on opening data that is sealed with it.
        if let replaced { keys.forgetOutside(replaced) }
        try forgetPast(of: group)
    }
}

extension StoreHeader {
    /// Whether only a passphrase opens the file.
    var needsPassphrase: Bool { !slots.contains { $0.kind == .keyFile } }
}
