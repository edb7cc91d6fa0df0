import CredentialCore
import StrictJSON
import Synchronization

/// A machine in memory: all processes that are started on it share its data.
package final class MemoryMachine: Sendable {
    struct State {
        var records: [KeychainGroup: [AccountRecord]] = [:]
        var usedTokens: Set<String> = []
        var rotations: [String: Int64] = [:]
        var items: [StoreKind: [SecretItem: [UInt8]]] = [:]
        var broken: [StoreKind: CredentialError] = [:]
        var journal: [KeychainGroup: [String: [UInt8]]] = [:]
        /// The quarantined records of the journal.
        var journalAside: [String: [UInt8]] = [:]
        /// The processes that have a refresh token of an account on its way.
        var marks: [String: ObjectIdentifier] = [:]
        var holders: [String: ObjectIdentifier] = [:]
        var events: [AccountEvent] = []
        var cached: [CacheKey: [UInt8]] = [:]
        /// How often a record was changed.
        var changes = 0
        var files: [String: DefinitionFile] = [:]
        var adapters: [any CredentialAdapter] = []
        var documents: [String: ProviderDocument] = [:]
        var random: UInt8 = 0
        var keys: [KeychainGroup: Keys] = [:]
        var madeKeys = 0
        /// Which locks several hold at a time, and how many.
        var sharers: [String: [ObjectIdentifier: Int]] = [:]
    }

    /// The keys of a group's encrypted file: the one that seals, and those before it that are kept.
    struct Keys {
        var current: String
        var replaced: Set<String> = []
    }

    let state = Mutex(State())
    /// The clock, which a test moves.
    package let clock = MemoryClock()
    /// The provider of every account.
    package let provider: MemoryProvider
    private let cryptography: any Cryptography

    /// Makes a machine without any data.
    package init(cryptography: any Cryptography) {
        self.cryptography = cryptography
        provider = MemoryProvider(clock: clock)
    }

    /// Another machine with the data of this one, without its locks.
    ///
    /// - Parameter other: its cryptography, if that differs.
    package func clone(with other: (any Cryptography)? = nil) -> MemoryMachine {
        let copy = MemoryMachine(cryptography: other ?? cryptography)
        var kept = state.withLock { $0 }
        (kept.holders, kept.sharers) = ([:], [:])
        copy.state.withLock { [kept] in $0 = kept }
        return copy
    }

    /// The ports of a process on this machine.
    ///
    /// - Parameter trace: counts its calls.
    package func process(
        _ trace: PortTrace = PortTrace(), environment: [String: String] = [:],
        transport: any HTTPTransport = UnexpectedTransport(), programs: any ProcessRunner = UnexpectedPrograms()
    ) -> MachinePorts {
        freeLocks(whenEnded: trace)
        let process = MemoryProcess(machine: self, trace: trace)
        return MachinePorts(
            environment: environment, dataHome: "/memory/credmgr", typeFolders: Self.typeFolders,
            configurationFile: "/memory/config.json", clock: clock, bootClock: clock, random: process,
            cryptography: cryptography,
            transport: transport, records: process, usedTokens: process, locks: process, journal: process,
            events: process,
            tokenCache: process, fileStates: process, metadataCache: process, stores: { _ in process },
            typeFiles: MemoryFiles(machine: self),
            readSettings: { _, _, _, _ throws(CredentialError) in
                throw CredentialError(.internalFault, "the test has no property lists")
            },
            adapters: AdapterRegistry(
                [TracedAdapter(base: provider, trace: trace)] + state.withLock(\.adapters)), programs: programs)
    }

    /// The folders of definitions: the user's own, root's, and one of another program.
    package static let typeFolders = ["/memory/types", "/usr/share/credmgr/types", "/opt/other/credmgr/types"]

    /// Adds an adapter beside that of the provider in memory.
    package func add(_ adapter: any CredentialAdapter) { state.withLock { $0.adapters.append(adapter) } }

    private func freeLocks(whenEnded trace: PortTrace) {
        trace.whenEnded { [self, unowned trace] in
            let ended = ObjectIdentifier(trace)
            state.withLock { state in
                state.holders = state.holders.filter { $0.value != ended }
                for name in state.sharers.keys { state.sharers[name]?[ended] = nil }
            }
        }
    }

    // MARK: What is kept

    /// The accounts that are listed.
    package func accounts(_ group: KeychainGroup = .standard) -> [Account] { registry(group).accounts }

    /// Every token set that any store has, by the account's id: those of accounts that are not listed, too.
    package func secrets(_ group: KeychainGroup = .standard) -> [String: [StoreKind]] {
        var found: [String: [StoreKind]] = [:]
        let items = state.withLock { $0.items[.secretService] ?? [:] }
        for item in items.keys where item.kind == .tokenSet && item.group == group {
            found[item.owner, default: []].append(.secretService)
        }
        for record in records(of: group) where record.sealed != nil {
            found[record.account.id, default: []].append(.file)
        }
        return found
    }

    /// Changes the listed data of an account, without any process noticing.
    package func change(
        _ account: String, in group: KeychainGroup = .standard, _ change: (inout Account) -> Void
    ) {
        guard var record = record(account, group: group) else { return }
        change(&record.account)
        record.generation += 1
        setRecord(record, of: account, group: group)
    }

    /// Removes an account's secrets from every store.
    package func removeSecrets(of account: String, in group: KeychainGroup = .standard) {
        set(nil, SecretItem(group: group, owner: account, kind: .tokenSet), in: .secretService)
        guard var record = record(account, group: group) else { return }
        record.sealed = nil
        setRecord(record, of: account, group: group)
    }

    /// Whether an access token is in the cache.
    package var hasCachedTokens: Bool {
        cached.contains { if case .token = $0 { true } else { false } }
    }

    /// The accounts of a group.
    package func registry(_ group: KeychainGroup = .standard) -> AccountList {
        var registry = AccountList()
        registry.accounts = records(of: group).map(\.account)
        return registry
    }

    /// The record of an account.
    package func record(_ id: String, group: KeychainGroup = .standard) -> AccountRecord? {
        records(of: group).first { $0.account.id == id }
    }

    /// Changes the record of an account behind everybody's back; `nil` takes it away.
    package func setRecord(_ record: AccountRecord?, of id: String, group: KeychainGroup = .standard) {
        state.withLock { state in
            var records = state.records[group] ?? []
            if let place = records.firstIndex(where: { $0.account.id == id }) {
                if let record { records[place] = record } else { records.remove(at: place) }
            } else if let record {
                records.append(record)
            }
            state.records[group] = records
            state.changes += 1
        }
    }

    func records(of group: KeychainGroup) -> [AccountRecord] { state.withLock { $0.records[group] ?? [] } }

    /// The token set of an account in a store.
    package func tokenSet(_ account: String, in store: StoreKind, group: KeychainGroup = .standard) -> TokenSet? {
        let bytes =
            store == .file
            ? record(account, group: group)?.sealed?.bytes
            : item(SecretItem(group: group, owner: account, kind: .tokenSet), in: store)
        return bytes.flatMap { try? TokenSet(decoding: $0) }
    }

    /// An item of a store.
    package func item(_ item: SecretItem, in store: StoreKind) -> [UInt8]? {
        state.withLock { $0.items[store]?[item] }
    }

    /// Puts an item into a store, or takes it away.
    package func set(_ bytes: [UInt8]?, _ item: SecretItem, in store: StoreKind) {
        state.withLock { $0.items[store, default: [:]][item] = bytes }
    }

    /// The accounts with a record in the journal.
    package func journaled(_ group: KeychainGroup = .standard) -> [String] {
        state.withLock { ($0.journal[group] ?? [:]).keys.sorted() }
    }

    /// The refresh tokens that are known to be used.
    package var usedTokens: Set<String> { state.withLock(\.usedTokens) }

    /// The events of accounts.
    package var events: [AccountEvent] { state.withLock(\.events) }

    /// The names of the cache's entries.
    package var cached: [CacheKey] { state.withLock { Array($0.cached.keys) } }

    /// Makes every call of a store fail; `nil` restores it.
    package func breakStore(_ store: StoreKind, with error: CredentialError?) {
        state.withLock { $0.broken[store] = error }
    }

    /// Puts a file in place; `nil` removes it.
    package func setFile(_ path: String, _ text: String?, isPrivate: Bool = true) {
        state.withLock {
            $0.files[path] = text.map { DefinitionFile(bytes: Array($0.utf8), isPrivate: isPrivate) }
        }
    }

    /// A file.
    package func file(_ path: String) -> String? {
        state.withLock { $0.files[path].map { String(decoding: $0.bytes, as: UTF8.self) } }
    }

    /// Whether anybody holds a lock.
    package var hasLocks: Bool {
        state.withLock { !$0.holders.isEmpty || $0.sharers.values.contains { !$0.isEmpty } }
    }

    /// Frees all locks, as if their files were removed: a holder goes on.
    package func freeLocks() { state.withLock { $0.holders = [:] } }

    /// Whether some process has a refresh token of an account on its way.
    package func isMarked(_ account: String, group: KeychainGroup = .standard) -> Bool {
        state.withLock { $0.marks["\(group.name)/\(account)"] != nil }
    }

    /// Frees the locks that a process has, which goes on.
    package func freeLocks(of trace: PortTrace) {
        state.withLock { state in state.holders = state.holders.filter { $0.value != ObjectIdentifier(trace) } }
    }

    /// The key that seals in a group, which is made with the first use.
    func keyMade(for group: KeychainGroup) -> String {
        state.withLock { state in
            let keys = state.keys[group] ?? Keys(current: "key-1")
            state.keys[group] = keys
            return keys.current
        }
    }

    /// Has another key seal in a group; the one before is kept.
    func replaceKey(of group: KeychainGroup) {
        state.withLock { state in
            guard let keys = state.keys[group] else { return state.keys[group] = Keys(current: "key-1") }
            // A number that no key has had.
            state.madeKeys += 1
            state.keys[group] = Keys(
                current: "key-\(state.madeKeys + 1)", replaced: keys.replaced.union([keys.current]))
        }
    }

    /// Whether the encrypted file of a group has the key that has sealed something.
    package func hasKey(_ key: String, group: KeychainGroup = .standard) -> Bool {
        state.withLock { $0.keys[group].map { $0.current == key || $0.replaced.contains(key) } ?? false }
    }

    /// How many keys of a group were replaced and are kept.
    package func replacedKeys(_ group: KeychainGroup = .standard) -> Int {
        state.withLock { $0.keys[group]?.replaced.count ?? 0 }
    }

    /// Puts a record into the journal.
    package func setJournal(_ sealed: [UInt8], of account: String, group: KeychainGroup = .standard) {
        state.withLock { $0.journal[group, default: [:]][account] = sealed }
    }

    /// The quarantined records of the journal, by account.
    package var journalAside: [String: [UInt8]] { state.withLock(\.journalAside) }

    /// The journal's content for an account.
    package func journaled(_ account: String, group: KeychainGroup = .standard) -> [UInt8]? {
        state.withLock { $0.journal[group]?[account] }
    }
}

/// A clock that is stopped until a test moves it.
package final class MemoryClock: WallClock, BootClock {
    private let time: Mutex<Timestamp>
    private let passed = Mutex<Int64>(0)

    /// Makes a clock.
    package init(_ now: Timestamp = Timestamp(epochSeconds: 1_800_000_000)) { time = Mutex(now) }

    package var now: Timestamp { time.withLock { $0 } }

    package var milliseconds: Int64 { passed.withLock { $0 } }

    /// Moves the clock on.
    package func pass(_ seconds: Int64) {
        set(by: seconds)
        passed.withLock { $0 += seconds * 1_000 }
    }

    /// The user sets the clock on the wall, and no time passes.
    package func set(by seconds: Int64) { time.withLock { $0 = $0.adding(seconds) } }
}
