import CredentialCore
import Platform
import Synchronization

/// Finds the data keys of files, and remembers them while the process lives.
final class StoreKeys: Sendable {
    private let sources: UnlockSources
    private let keyFile: KeyFile
    private let random: any RandomSource
    private let cryptography: any Cryptography
    private let remembered = Mutex<[[UInt8]: DataKey]>([:])
    /// The key that a new file is to be opened with, once it was asked for: a command that gives it is run once.
    private let checked = Mutex<StoreKey?>(nil)

    /// Makes it with the places to look in.
    init(
        sources: UnlockSources, keyFile: KeyFile, random: any RandomSource, cryptography: any Cryptography
    ) {
        self.sources = sources
        self.keyFile = keyFile
        self.random = random
        self.cryptography = cryptography
    }

    /// The data key of a file.
    ///
    /// - Parameters:
    ///   - group: whose file it is, for the question.
    ///   - path: the file's path, for messages.
    /// - Throws: ``ErrorCode/storeLocked`` when it can open no slot.
    func key(
        for header: StoreHeader, of group: KeychainGroup, path: String
    ) throws(CredentialError) -> DataKey {
        if let key = remembered.withLock({ $0[header.fileID] }), try fits(key, header) { return key }
        let hasPassphrase = header.slots.contains { $0.kind != .keyFile }
        if hasPassphrase, let entry = sources.unlockedKeys?.read(Self.cacheName(header.fileID)),
            let key = DataKey(entry), try fits(key, header)
        {
            return remember(key, header)
        }
        if header.slots.contains(where: { $0.kind == .keyFile }), var secret = try keyFile.read() {
            defer { secret.wipe() }
            if let key = try open(header, secret: secret, path: path, where: { $0 == .keyFile }) {
                return remember(key, header)
            }
        }
        guard hasPassphrase else {
            throw CredentialError(
                .storeLocked, "the key file \(keyFile.path) is missing or does not open \(path)",
                hint: "restore the key file from a backup")
        }
        let key = try openByPassphrase(header, group, path: path)
        if let seconds = sources.unlockedSeconds { hold(key, of: header, seconds: seconds) }
        return remember(key, header)
    }

    /// The data key of a file that was opened in this process before.
    func remembered(_ fileID: [UInt8]) -> DataKey? { remembered.withLock { $0[fileID] } }

    /// Keeps the key of a file in the cache for `seconds`.
    func hold(_ key: DataKey, of header: StoreHeader, seconds: Int64) {
        sources.unlockedKeys?.write(key.bytes, name: Self.cacheName(header.fileID), seconds: seconds)
    }

    private func openByPassphrase(
        _ header: StoreHeader, _ group: KeychainGroup, path: String
    ) throws(CredentialError) -> DataKey {
        var wrong = CredentialError(
            .storeLocked, "the passphrase does not open the store \(path)", hint: Self.passphraseHint)
        if let passphrase = try sources.passphrase() {
            if let key = try open(header, passphrase, path: path) { return key }
            wrong.advice =
                "to ignore the passphrase of \(sources.giver): env -u CREDMGR_PASSPHRASE_FILE -u "
                + "CREDMGR_PASSPHRASE_COMMAND credmgr store unlock"
            throw wrong
        }
        for attempt in 1...Self.attempts {
            let prompt: LocalizedMessage =
                attempt == 1
                ? "Passphrase of group \(group): " : "Wrong passphrase. Passphrase of group \(group): "
            guard let passphrase = try sources.ask(prompt) else {
                throw CredentialError(
                    .storeLocked, "the store \(path) is locked by a passphrase", hint: Self.passphraseHint)
            }
            if let key = try open(header, passphrase, path: path) { return key }
        }
        wrong.advice = nil
        throw wrong
    }

    private func open(
        _ header: StoreHeader, _ passphrase: Secret, path: String
    ) throws(CredentialError) -> DataKey? {
        var secret = Array(passphrase.reveal().utf8)
        defer { secret.wipe() }
        // This takes its time on purpose, and the next question may be for a secret.
        var key: DataKey?
        try sources.unseen { () throws(CredentialError) in
            key = try open(header, secret: secret, path: path, where: { $0 != .keyFile })
        }
        return key
    }

    /// The key that opens a new file: the passphrase if the user has configured one, else the key file.
    ///
    /// - Throws: ``ErrorCode/usage`` for a passphrase that is too short to make a file with.
    func configuredKey(of group: KeychainGroup) throws(CredentialError) -> StoreKey {
        let known = checked.withLock { checked in
            defer { checked = nil }
            return checked
        }
        if let known { return known }
        guard let passphrase = try sources.passphrase() else { return .keyFile }
        try sources.acceptsNew(passphrase, group)
        return .passphrase(passphrase)
    }

    /// Refuses the configurations that ``configuredKey(of:)`` would, before there is anything to keep.
    ///
    /// - Throws: as ``configuredKey(of:)``.
    func checkConfiguredKey(of group: KeychainGroup) throws(CredentialError) {
        let key = try configuredKey(of: group)
        checked.withLock { $0 = key }
    }

    /// A data key and the header of a new file, with one slot.
    ///
    /// - Throws: ``ErrorCode/configuration`` for an empty passphrase; as the key file.
    func newFile(
        openedBy storeKey: StoreKey, cost: ScryptCost
    ) throws(CredentialError) -> (header: StoreHeader, key: DataKey) {
        guard let key = DataKey(random.bytes(DataKey.size)) else {
            throw CredentialError(.internalFault, "the random generator returned too few bytes")
        }
        let fileID = random.bytes(StoreHeader.checkSize)
        let slot =
            switch storeKey {
            case .passphrase(let passphrase):
                try passphraseSlot(passphrase, cost: cost, for: key, fileID: fileID)
            case .keyFile: try keyFileSlot(for: key, fileID: fileID)
            }
        let header = StoreHeader(
            fileID: fileID, generation: 0, keyCheck: try key.check(fileID: fileID, cryptography),
            bodySalt: random.bytes(32), slots: [slot])
        return (header, remember(key, header))
    }

    /// A slot that `passphrase` opens.
    ///
    /// - Throws: ``ErrorCode/configuration`` for an empty passphrase or a cost beyond the limits.
    func passphraseSlot(
        _ passphrase: Secret, cost: ScryptCost, for key: DataKey, fileID: [UInt8]
    ) throws(CredentialError) -> KeySlot {
        guard !passphrase.isEmpty else { throw CredentialError(.configuration, "the passphrase is empty") }
        guard cost.isAcceptable else {
            throw CredentialError(.configuration, "the cost of the passphrase is beyond the limits")
        }
        var secret = Array(passphrase.reveal().utf8)
        defer { secret.wipe() }
        return try KeySlot(
            wrapping: key, kind: .passphrase(cost), secret: secret, fileID: fileID, random: random, cryptography)
    }

    /// A slot that the key file opens; makes the key file if it does not exist.
    func keyFileSlot(for key: DataKey, fileID: [UInt8]) throws(CredentialError) -> KeySlot {
        var secret = try keyFile.readOrMake(random)
        defer { secret.wipe() }
        return try KeySlot(
            wrapping: key, kind: .keyFile, secret: secret, fileID: fileID, random: random, cryptography)
    }

    /// Forgets the key of a file, here and in the cache.
    func forget(_ fileID: [UInt8]) {
        remembered.withLock { $0[fileID] = nil }
        forgetOutside(fileID)
    }

    /// Forgets the key of a file in the cache.
    func forgetOutside(_ fileID: [UInt8]) { sources.unlockedKeys?.remove(Self.cacheName(fileID)) }

    private static let attempts = 3
    private static var passphraseHint: LocalizedMessage {
        "run: credmgr store unlock; or set CREDMGR_PASSPHRASE_FILE to a file with the passphrase"
    }

    private static func cacheName(_ fileID: [UInt8]) -> CacheKey { .dataKey(Base64URL.encode(fileID)) }

    private func open(
        _ header: StoreHeader, secret: [UInt8], path: String, where fits: (KeySlot.Kind) -> Bool
    ) throws(CredentialError) -> DataKey? {
        for slot in header.slots where fits(slot.kind) {
            guard let key = try slot.unwrap(secret: secret, fileID: header.fileID, cryptography) else { continue }
            guard try self.fits(key, header) else {
                throw StoreHeader.damaged(path, "a key slot holds the key of another file")
            }
            return key
        }
        return nil
    }

    private func fits(_ key: DataKey, _ header: StoreHeader) throws(CredentialError) -> Bool {
        ConstantTime.equal(try key.check(fileID: header.fileID, cryptography), header.keyCheck)
    }

    private func remember(_ key: DataKey, _ header: StoreHeader) -> DataKey {
        remembered.withLock { $0[header.fileID] = key }
        return key
    }
}

/// The key of a store's file: 32 bytes, overwritten with the last reference.
///
/// The overwriting cannot reach copies that the calls of the cryptography port make on their way.
final class DataKey: @unchecked Sendable {
    /// How many bytes a key has.
    static let size = 32
    /// The bytes; changed by `deinit` only.
    private(set) var bytes: [UInt8]

    /// Takes over key bytes; `nil` unless there are 32.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    deinit { bytes.wipe() }

    /// The value that tells, without the body, whether this is the key of the file called `fileID`.
    func check(fileID: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(
            from: bytes, salt: fileID, info: "credmgr file store v1: key check", length: StoreHeader.checkSize)
    }

    /// The key of one record's token set, as fresh as its salt.
    func recordKey(salt: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(
            from: bytes, salt: salt, info: "credmgr file store v1: record", length: Self.size)
    }

    /// The key of one body: a fresh salt makes a fresh key, so that its nonce may be zero.
    func bodyKey(salt: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(from: bytes, salt: salt, info: "credmgr file store v1: body", length: Self.size)
    }
}
