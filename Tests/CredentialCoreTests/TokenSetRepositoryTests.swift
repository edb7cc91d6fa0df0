import CredentialCore
import CryptoSupport
import Synchronization
import Testing

/// The rules of generations, on stores in memory that can be made to fail.
@Suite struct TokenSetRepositoryTests {
    private let store = MemoryStore()
    private let journal = MemoryJournal()
    private let account = Account(
        id: "0123456789abcdef", type: "T", adapter: "oauth2",
        registration: Registration(provider: "https://p.example", clientID: "c"), subject: "s", store: .file,
        now: Instant(epochSeconds: 1))

    private var repository: TokenSetRepository {
        TokenSetRepository(
            stores: OneStore(store: store), journal: journal, registry: MemoryRegistry(),
            cryptography: LibCryptography(), random: Counter())
    }

    private func saved(_ set: TokenSet) throws -> TokenSet {
        var set = set
        guard case .stored = try repository.save(&set, in: .standard) else { throw Unexpected() }
        return set
    }

    private func first() throws -> TokenSet {
        try saved(TokenSet(account: account, journalKey: Array(repeating: 7, count: 32)))
    }

    @Test func `each write raises the generation`() throws {
        #expect(try saved(first()).generation == 2)
    }

    @Test func `a writer that was overtaken changes nothing`() throws {
        let old = try first()
        let newer = try saved(old)
        var late = old
        guard case .overtaken(let found?) = try repository.save(&late, in: .standard) else {
            Issue.record("it was written")
            return
        }
        #expect(found == newer)
        #expect(try repository.read(account, in: .standard, isLocked: true) == newer)
    }

    @Test func `what was removed is not brought back`() throws {
        var late = try first()
        try repository.remove(account, in: .standard)
        guard case .overtaken(nil) = try repository.save(&late, in: .standard) else {
            Issue.record("it was written")
            return
        }
        #expect(try repository.read(account, in: .standard, isLocked: true) == nil)
    }

    @Test func `a generation that the store refused is journaled, read, and taken up`() throws {
        var set = try first()
        store.fails.withLock { $0 = true }
        guard case .journaled = try repository.save(&set, in: .standard) else {
            Issue.record("it was not journaled")
            return
        }
        store.fails.withLock { $0 = false }
        #expect(try repository.read(account, in: .standard, isLocked: false) == set)
        #expect(try repository.read(account, in: .standard, isLocked: true) == set)
        // A later run has read it from the store: the journal has done its work.
        #expect(try repository.read(account, in: .standard, isLocked: true) == set)
        #expect(journal.isEmpty)
        #expect(try saved(set).generation == 3)
    }

    @Test func `when neither takes it the error says so`() throws {
        var set = try first()
        store.fails.withLock { $0 = true }
        journal.fails.withLock { $0 = true }
        #expect(throws: CredentialError.self) { try repository.save(&set, in: .standard) }
        #expect(throws: CredentialError.self) { try repository.reserve(for: set, in: .standard) }
    }

    private struct Unexpected: Error {}
}

private final class MemoryStore: SecretStore {
    let kind = StoreKind.file
    let fails = Mutex(false)
    private let secrets = Mutex<[SecretItem: [UInt8]]>([:])

    func protection(of group: KeychainGroup) throws(CredentialError) -> StoreProtection? { nil }
    func probe() throws(CredentialError) {}
    func read(_ item: SecretItem) throws(CredentialError) -> [UInt8]? { secrets.withLock { $0[item] } }
    func write(_ secret: [UInt8], for item: SecretItem, label: String) throws(CredentialError) {
        if fails.withLock({ $0 }) { throw CredentialError(.storeUnavailable, "it is full") }
        secrets.withLock { $0[item] = secret }
    }
    func remove(_ item: SecretItem) throws(CredentialError) { secrets.withLock { $0[item] = nil } }
    func items(of group: KeychainGroup, kind: SecretItem.Kind) throws(CredentialError) -> [SecretItem] {
        secrets.withLock { $0.keys.filter { $0.group == group && $0.kind == kind } }
    }
}

private struct OneStore: SecretStores {
    let store: MemoryStore
    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore { store }
}

private final class MemoryJournal: GenerationJournal {
    let fails = Mutex(false)
    private let records = Mutex<[String: [UInt8]]>([:])
    var isEmpty: Bool { records.withLock { $0.isEmpty } }

    private func check() throws(CredentialError) {
        if fails.withLock({ $0 }) { throw CredentialError(.inputOutput, "the disk is full") }
    }

    func accounts(in group: KeychainGroup) throws(CredentialError) -> [String] {
        records.withLock { $0.keys.sorted() }
    }
    func read(_ account: String, in group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        records.withLock { $0[account] }
    }
    func write(_ sealed: [UInt8], for account: String, in group: KeychainGroup) throws(CredentialError) {
        try check()
        records.withLock { $0[account] = sealed }
    }
    func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError) { try check() }
    func releaseReserve(for account: String, in group: KeychainGroup) {}
    func remove(_ account: String, in group: KeychainGroup) throws(CredentialError) {
        records.withLock { $0[account] = nil }
    }
}

/// A registry that knows nobody: the account's own word about its store counts.
private struct MemoryRegistry: RegistryStore {
    func read(_ group: KeychainGroup) throws(CredentialError) -> AccountRegistry { AccountRegistry() }
    func update<Result>(
        _ group: KeychainGroup, _ change: (inout AccountRegistry) throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        var registry = AccountRegistry()
        return try change(&registry)
    }
    func groups() throws(CredentialError) -> [KeychainGroup] { [] }
}

/// Bytes that never repeat.
private final class Counter: RandomSource {
    private let last = Mutex<UInt8>(0)
    func bytes(_ count: Int) -> [UInt8] {
        last.withLock { last in
            last &+= 1
            return Array(repeating: last, count: count)
        }
    }
}
