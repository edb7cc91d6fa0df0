package import CredentialCore
import Platform

/// A key slot of a store's file, as `store status` shows it.
package enum StoreSlot: Sendable, Equatable {
    /// A passphrase opens it.
    case passphrase(ScryptCost)
    /// The key file opens it.
    case keyFile
}

extension EncryptedFileStore {
    /// The key slots of a group's file, without opening it; `nil` if there is no file.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``, ``ErrorCode/storeUnavailable``.
    package func slots(of group: KeychainGroup) throws(CredentialError) -> [StoreSlot]? {
        try header(of: group)?.slots.map { slot in
            switch slot.kind {
            case .passphrase(let cost): .passphrase(cost)
            case .keyFile: .keyFile
            }
        }
    }

    /// Lets `passphrase` open the group's file, too; makes the file if it does not exist.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when no slot can be opened; ``ErrorCode/configuration`` for an empty
    ///   passphrase or a ninth slot.
    package func addPassphraseSlot(
        _ passphrase: Secret, to group: KeychainGroup, cost: ScryptCost = .standard
    ) throws(CredentialError) {
        try update(group) { store throws(CredentialError) in
            try Self.checkRoom(store.header)
            store.header.slots.append(
                try keys.passphraseSlot(passphrase, cost: cost, for: store.key, fileID: store.header.fileID))
        }
    }

    /// Lets the key file open the group's file, too.
    ///
    /// - Throws: as ``addPassphraseSlot(_:to:cost:)``.
    package func addKeyFileSlot(to group: KeychainGroup) throws(CredentialError) {
        try update(group) { store throws(CredentialError) in
            if store.header.slots.contains(where: { $0.kind == .keyFile }) { return }
            try Self.checkRoom(store.header)
            store.header.slots.append(try keys.keyFileSlot(for: store.key, fileID: store.header.fileID))
        }
    }

    /// Removes the slot at `index` of ``slots(of:)``, and the generation before, which that slot opens.
    ///
    /// The data key stays as it is: a holder of the slot's secret and an old copy of the file has the data key.
    ///
    /// - Throws: ``ErrorCode/configuration`` when there is no such slot or no other one;
    ///   ``ErrorCode/storeLocked`` when no slot can be opened.
    package func removeSlot(at index: Int, of group: KeychainGroup) throws(CredentialError) {
        guard try header(of: group) != nil else {
            throw CredentialError(.configuration, "the group \(group) has no file store")
        }
        try update(group) { store throws(CredentialError) in
            guard store.header.slots.indices.contains(index), store.header.slots.count > 1 else {
                throw CredentialError(.configuration, "key slot \(index) is not found, or is the only slot")
            }
            store.header.slots.remove(at: index)
        }
        try forgetPast(of: group)
    }

    /// The header of a group's file; `nil` if there is no file.
    func header(of group: KeychainGroup) throws(CredentialError) -> StoreHeader? {
        try asStoreFailure { () throws(CredentialError) in
            guard let folder = try PrivateDirectory.open(Self.folder(of: group), below: dataHome),
                let file = try folder.read(Self.fileName, limit: Self.sizeLimit)
            else { return nil }
            let path = Self.shownPath(Self.fileName, in: folder)
            return try StoreHeader.read(file, path: path, cryptography).header
        }
    }

    private static func checkRoom(_ header: StoreHeader) throws(CredentialError) {
        guard header.slots.count < StoreHeader.slotCounts.upperBound else {
            throw CredentialError(
                .configuration, "a file store has at most \(StoreHeader.slotCounts.upperBound) key slots",
                hint: "remove a slot first")
        }
    }
}
