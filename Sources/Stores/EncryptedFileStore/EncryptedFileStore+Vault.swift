package import CredentialCore
import Platform

/// Token sets are sealed with the data key of the group's file and stored in the accounts' records, so that a
/// change of one touches no other, and the file itself stays small.
extension EncryptedFileStore: TokenSetCipher {
    package func seal(
        _ tokenSet: [UInt8], of account: String, generation: Int64, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet {
        var opened = try current(group)
        if opened == nil {
            try update(group) { _ in }
            opened = try current(group)
        }
        guard let (header, key) = opened else {
            throw CredentialError(.storeUnavailable, "cannot create the encrypted file of group \(group)")
        }
        let salt = random.bytes(Self.saltSize)
        var plaintext = Self.padded(tokenSet)
        var recordKey = try key.recordKey(salt: salt, cryptography)
        defer {
            recordKey.wipe()
            plaintext.wipe()
        }
        let sealed = try cryptography.seal(
            plaintext, key: recordKey, nonce: Self.zeroNonce,
            authenticating: Self.binding(account, generation, group))
        return SealedTokenSet(
            generation: generation, key: Base64URL.encode(header.fileID), bytes: salt + sealed)
    }

    package func open(
        _ sealed: SealedTokenSet, of account: String, in group: KeychainGroup
    ) throws(CredentialError) -> [UInt8] {
        let key = try dataKey(of: sealed, group)
        guard sealed.bytes.count > Self.saltSize else { throw Self.damaged(account) }
        var recordKey = try key.recordKey(salt: Array(sealed.bytes.prefix(Self.saltSize)), cryptography)
        defer { recordKey.wipe() }
        guard
            var plaintext = try cryptography.open(
                Array(sealed.bytes.dropFirst(Self.saltSize)), key: recordKey, nonce: Self.zeroNonce,
                authenticating: Self.binding(account, sealed.generation, group))
        else { throw Self.damaged(account) }
        defer { plaintext.wipe() }
        return Array(plaintext.prefix { $0 != 0 })
    }

    package func opensByItself(_ group: KeychainGroup) -> Bool {
        guard let folder = try? PrivateDirectory.open(Self.folder(of: group), below: dataHome),
            let file = try? folder.read(Self.fileName, limit: Self.sizeLimit),
            let header = try? StoreHeader.unchecked(file, path: Self.shownPath(Self.fileName, in: folder))
        else { return false }
        return header.slots.allSatisfy { $0.kind == .keyFile }
    }

    package func currentKey(of group: KeychainGroup) throws(CredentialError) -> String? {
        try asStoreFailure { () throws(CredentialError) in
            guard let folder = try PrivateDirectory.open(Self.folder(of: group), below: dataHome) else {
                return nil
            }
            if let file = try folder.read(Self.fileName, limit: Self.sizeLimit),
                let (header, _) = try? StoreHeader.read(
                    file, path: Self.shownPath(Self.fileName, in: folder), cryptography)
            {
                return Base64URL.encode(header.fileID)
            }
            // As for the key itself.
            return try opened(group).map { Base64URL.encode($0.header.fileID) }
        }
    }

    package func forgetReplacedKeys(
        of group: KeychainGroup, but needed: Set<String>
    ) throws(CredentialError) -> Int {
        guard try header(of: group) != nil else { return 0 }
        var kept = 0
        try update(group) { store throws(CredentialError) in
            store.items.removeReplacedKeys(but: needed)
            kept = store.items.replacedKeys
        }
        // The generation before may be of another store, with the key of that.
        try forgetPast(of: group, neededStranded: needed)
        return kept
    }

    /// The header of a group's file and its data key; `nil` if there is no file.
    private func current(_ group: KeychainGroup) throws(CredentialError) -> (header: StoreHeader, key: DataKey)? {
        try asStoreFailure { () throws(CredentialError) in
            guard let folder = try PrivateDirectory.open(Self.folder(of: group), below: dataHome) else {
                return nil
            }
            let path = Self.shownPath(Self.fileName, in: folder)
            if let file = try folder.read(Self.fileName, limit: Self.sizeLimit),
                let (header, _) = try? StoreHeader.read(file, path: path, cryptography)
            {
                return (header, try keys.key(for: header, of: group, path: path))
            }
            // It is damaged, missing or newer: the generation before has the same key, and the fault is reported.
            return try opened(group).map { ($0.header, $0.key) }
        }
    }

    private func dataKey(of sealed: SealedTokenSet, _ group: KeychainGroup) throws(CredentialError) -> DataKey {
        // A file id has one key for ever: who opens many records reads the file once.
        if let fileID = Base64URL.decode(sealed.key), let key = keys.remembered(fileID) { return key }
        if let (header, key) = try current(group) {
            if Base64URL.encode(header.fileID) == sealed.key { return key }
            if let bytes = try opened(group)?.items.replacedKey(sealed.key), let key = DataKey(bytes) { return key }
        }
        if let key = try strandedKey(sealed.key, group) { return key }
        // No file is there that could have it: not even a secret that the user has not given yet would open this.
        throw CredentialError(
            .storeDamaged, "the key that opens the accounts of group \(group) is not in its encrypted file")
    }

    /// The key of the generation before, if the file in its place is that of another store.
    private func strandedKey(_ fileID: String, _ group: KeychainGroup) throws(CredentialError) -> DataKey? {
        try asStoreFailure { () throws(CredentialError) in
            guard let folder = try PrivateDirectory.open(Self.folder(of: group), below: dataHome),
                let file = try folder.read(Self.previousName, limit: Self.sizeLimit)
            else { return nil }
            let path = Self.shownPath(Self.previousName, in: folder)
            guard let (header, _) = try? StoreHeader.read(file, path: path, cryptography),
                Base64URL.encode(header.fileID) == fileID
            else { return nil }
            return try keys.key(for: header, of: group, path: path)
        }
    }

    private static func damaged(_ account: String) -> CredentialError {
        CredentialError(
            .storeDamaged, "the token set of \(account) is damaged, or belongs to another account")
    }

    private static func binding(_ account: String, _ generation: Int64, _ group: KeychainGroup) -> [UInt8] {
        Array("credmgr record 1\n\(group.name)\n\(account)\n\(generation)".utf8)
    }

    /// Filled up to a step, so that the size tells little; the bytes are JSON, in which no byte is zero.
    private static func padded(_ tokenSet: [UInt8]) -> [UInt8] {
        tokenSet + [UInt8](repeating: 0, count: step - tokenSet.count % step)
    }

    private static let step = 1_024
    private static let saltSize = 32
    /// A record key encrypts once, as its salt is never used again.
    private static let zeroNonce = [UInt8](repeating: 0, count: 12)
}
