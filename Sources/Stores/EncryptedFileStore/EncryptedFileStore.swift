package import CredentialCore
import Platform
import Synchronization

/// The encrypted file of each keychain group: `credmgr/groups/GROUP/store.v1` below the data folder. It has the
/// group's data key, which seals the token sets in the accounts' records, and the secrets of types.
///
/// `docs/reference/file-store.md` describes the format. A file is replaced as a whole, under the group's store
/// lock, and the generation before is kept as `store.v1.prev`. Damage is never taken for emptiness: the content
/// read then comes from the generation before and is reported; the first write renames the damaged file to
/// `store.v1.corrupt-TIME`.
package struct EncryptedFileStore: SecretStore {
    /// Always the file.
    package let kind = StoreKind.file

    static let fileName = "store.v1"
    static let previousName = "store.v1.prev"
    /// The largest file, in bytes: it grows with types, not with accounts.
    static let sizeLimit = 16 << 20
    /// How long to wait for other writers, in seconds; each takes milliseconds.
    private static let patience = 10

    let dataHome: String
    let keys: StoreKeys
    let cryptography: any Cryptography
    let cost: ScryptCost
    let random: any RandomSource
    private let clock: any WallClock
    private let report: CorruptionReporter

    /// Prepares the store; touches no file.
    ///
    /// - Parameters:
    ///   - dataHome: `$XDG_DATA_HOME`.
    ///   - cost: the cost of opening a new passphrase slot.
    ///   - report: takes a sentence for the user, once, when a damaged file was met and the generation before is
    ///     used.
    package init(
        dataHome: String, keys: UnlockSources, cryptography: any Cryptography, random: any RandomSource,
        clock: any WallClock, cost: ScryptCost = .standard, report: @escaping @Sendable (LocalizedMessage) -> Void
    ) {
        self.dataHome = dataHome
        self.keys = StoreKeys(
            sources: keys, keyFile: KeyFile(dataHome: dataHome), random: random, cryptography: cryptography)
        self.cryptography = cryptography
        self.cost = cost
        self.random = random
        self.clock = clock
        self.report = CorruptionReporter(report)
    }

    package func probe() throws(CredentialError) {
        try asStoreFailure { () throws(CredentialError) in
            _ = try PrivateDirectory.create(["credmgr", "groups"], below: dataHome)
        }
    }

    package func read(_ item: SecretItem) throws(CredentialError) -> [UInt8]? {
        try opened(item.group)?.items.secret(of: item)
    }

    package func checkFirst(of group: KeychainGroup) throws(CredentialError) {
        if try opened(group) == nil { try keys.checkConfiguredKey(of: group) }
    }

    package func items(of group: KeychainGroup, kind: SecretItem.Kind) throws(CredentialError) -> [SecretItem] {
        try opened(group)?.items.owners(of: kind).map { SecretItem(group: group, owner: $0, kind: kind) } ?? []
    }

    package func write(_ secret: [UInt8], for item: SecretItem, label: String) throws(CredentialError) {
        try update(item.group) { store throws(CredentialError) in
            store.items.set(secret, for: item, label: label)
        }
    }

    package func remove(_ item: SecretItem) throws(CredentialError) {
        // A group without a file does not get one for this.
        if try read(item) != nil {
            try update(item.group) { store throws(CredentialError) in store.items.remove(item) }
        }
        // Also if it was gone already: an earlier removal may have failed in between.
        try forgetPast(of: item.group)
    }

    // MARK: Files

    /// The folder of a group and its parents, below ``dataHome``.
    static func folder(of group: KeychainGroup) -> [String] { ["credmgr", "groups", group.name] }

    /// The path of a file in a form that a message may show.
    static func shownPath(_ name: String, in folder: borrowing PrivateDirectory) -> String {
        UntrustedText.shown(folder.path(of: name), limit: 4_096)
    }

    /// The content of a group's file now; `nil` if there is no file.
    func opened(_ group: KeychainGroup) throws(CredentialError) -> DecryptedStore? {
        try asStoreFailure { () throws(CredentialError) in
            guard let folder = try PrivateDirectory.open(Self.folder(of: group), below: dataHome) else {
                return nil
            }
            return try load(folder, group)
        }
    }

    /// Changes the present content of a group's file, under its lock; makes the file if it does not exist.
    ///
    /// The file is not written when `change` throws or makes no change.
    ///
    /// - Parameter newKey: the key that opens a file made now; without it, the one that the user has configured.
    func update(
        _ group: KeychainGroup, newKey: StoreKey? = nil,
        _ change: (inout DecryptedStore) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        try asStoreFailure { () throws(CredentialError) in
            let folder = try PrivateDirectory.create(Self.folder(of: group), below: dataHome)
            let lock = try lock(group, folder)
            defer { lock.release() }
            let before = try load(folder, group)
            var after = if let before { before } else { try newStore(of: group, openedBy: newKey) }
            try change(&after)
            if let before, before.hasSameContent(as: after), case .current = before.origin { return }
            try replace(after, in: folder)
        }
    }

    /// Puts a copy of the current generation in the place of the one before, so that removed items are in neither.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``, ``ErrorCode/storeDamaged``, ``ErrorCode/storeLocked``.
    package func forgetPast(of group: KeychainGroup) throws(CredentialError) {
        try forgetPast(of: group, neededStranded: nil)
    }

    /// - Parameter needed: the ids of files whose keys something still needs, as a generation before may be that of
    ///   another store; `nil` if that is not known, and each is kept.
    func forgetPast(of group: KeychainGroup, neededStranded needed: Set<String>?) throws(CredentialError) {
        try asStoreFailure { () throws(CredentialError) in
            guard let folder = try PrivateDirectory.open(Self.folder(of: group), below: dataHome),
                let previous = try folder.read(Self.previousName, limit: Self.sizeLimit)
            else { return }
            let lock = try lock(group, folder)
            defer { lock.release() }
            // Only a current generation that can be opened may take the other's place: one of them is always good.
            guard let store = try load(folder, group), case .current(let current) = store.origin,
                current != previous
            else { return }
            if let id = strandedID(of: previous, by: store), needed?.contains(id) != false { return }
            try folder.write(current, to: Self.previousName)
        }
    }

    private func lock(
        _ group: KeychainGroup, _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> FileLock {
        let locks = try PrivateDirectory.create(Self.folder(of: group) + ["locks"], below: dataHome)
        if let lock = try FileLock.take("store.lock", in: locks, seconds: Self.patience) { return lock }
        throw CredentialError(
            .lockTimeout,
            "other processes have been writing \(Self.shownPath(Self.fileName, in: folder)) for too long")
    }

    private func newStore(of group: KeychainGroup, openedBy newKey: StoreKey?) throws(CredentialError)
        -> DecryptedStore
    {
        let storeKey = if let newKey { newKey } else { try keys.configuredKey(of: group) }
        let (header, key) = try keys.newFile(openedBy: storeKey, cost: cost)
        return DecryptedStore(header: header, items: StoreItems(), key: key, origin: .new)
    }

    /// Writes the next generation and reads it back.
    private func replace(_ store: DecryptedStore, in folder: borrowing PrivateDirectory) throws(CredentialError) {
        var header = store.header
        header.generation &+= 1
        header.bodySalt = random.bytes(32)
        let path = Self.shownPath(Self.fileName, in: folder)
        let file = try EncryptedStoreFile.seal(store.items, header: header, key: store.key, cryptography)
        guard file.count <= Self.sizeLimit else {
            throw CredentialError(.storeUnavailable, "the store \(path) would grow beyond \(Self.sizeLimit) bytes")
        }
        switch store.origin {
        case .new, .previous(damaged: nil): break
        case .current:
            let previous = try folder.read(Self.previousName, limit: Self.sizeLimit)
            if let previous, strandedID(of: previous, by: store) != nil { break }
            try folder.keep(Self.fileName, as: Self.previousName)
        case .previous(.some(let damaged)):
            // Copied, not moved: at no moment is there no file.
            try folder.write(damaged, to: "\(Self.fileName).corrupt-\(clock.now.epochSeconds)")
        }
        try folder.write(file, to: Self.fileName)
        guard let written = try folder.read(Self.fileName, limit: Self.sizeLimit), written == file,
            try EncryptedStoreFile(written, path: path, cryptography).items(store.key, cryptography) == store.items
        else { throw StoreHeader.damaged(path, "its content differs from the written data") }
    }

    /// The id of the generation before if that is of another store than the current one, as after a file was copied
    /// in from outside. No other file has the key to the data that it has sealed.
    private func strandedID(of previous: [UInt8], by store: DecryptedStore) -> String? {
        guard let (header, _) = try? StoreHeader.read(previous, path: Self.previousName, cryptography),
            case .current(let current) = store.origin,
            let (now, _) = try? StoreHeader.read(current, path: Self.fileName, cryptography)
        else { return nil }
        let id = Base64URL.encode(header.fileID)
        return header.fileID != now.fileID && store.items.replacedKey(id) == nil ? id : nil
    }

    /// Reads the current generation, or the one before if that is damaged or lost.
    private func load(
        _ folder: borrowing PrivateDirectory, _ group: KeychainGroup
    ) throws(CredentialError) -> DecryptedStore? {
        let current = try folder.read(Self.fileName, limit: Self.sizeLimit)
        let path = Self.shownPath(Self.fileName, in: folder)
        var damage = StoreHeader.damaged(path, "it is missing")
        if let current {
            do {
                return try open(current, of: group, path: path, origin: .current(current))
            } catch {
                if error.code != .storeDamaged { throw error }
                damage = error
            }
        }
        guard let previous = try folder.read(Self.previousName, limit: Self.sizeLimit) else {
            if current == nil { return nil }
            throw damage.withHint("restore the file from a backup, or move it away and sign in again")
        }
        // A reader holds no lock: the file may have been made since it looked.
        if current == nil, try folder.read(Self.fileName, limit: Self.sizeLimit) != nil {
            return try load(folder, group)
        }
        do {
            let store = try open(
                previous, of: group, path: Self.shownPath(Self.previousName, in: folder),
                origin: .previous(damaged: current))
            report.say("\(damage); used the previous generation, \(store.header.generation), instead")
            return store
        } catch {
            // A file that is locked, or of a newer version, can still be opened later.
            guard error.code == .storeDamaged else { throw error }
            damage.details.append(error.message)
            throw damage.withHint("restore the file from a backup, or move both generations away and sign in again")
        }
    }

    private func open(
        _ file: [UInt8], of group: KeychainGroup, path: String, origin: DecryptedStore.Origin
    ) throws(CredentialError) -> DecryptedStore {
        let sealed = try EncryptedStoreFile(file, path: path, cryptography)
        let key = try keys.key(for: sealed.header, of: group, path: path)
        let items = try sealed.items(key, cryptography)
        return DecryptedStore(header: sealed.header, items: items, key: key, origin: origin)
    }
}

/// Runs `body`; trouble with a file becomes trouble with the store, which users of a store can handle.
func asStoreFailure<Result>(_ body: () throws(CredentialError) -> Result) throws(CredentialError) -> Result {
    do {
        return try body()
    } catch {
        guard error.code == .inputOutput else { throw error }
        throw CredentialError(.storeUnavailable, error.text, hint: error.advice, details: error.details)
    }
}

/// Tells the user of damage, each thing once: a command reads a store several times.
final class CorruptionReporter: Sendable {
    private let report: @Sendable (LocalizedMessage) -> Void
    private let said = Mutex<Set<LocalizedMessage>>([])

    /// Passes sentences on to `report`.
    init(_ report: @escaping @Sendable (LocalizedMessage) -> Void) { self.report = report }

    /// Says a sentence unless it was said before.
    func say(_ sentence: LocalizedMessage) {
        if said.withLock({ $0.insert(sentence).inserted }) { report(sentence) }
    }
}
