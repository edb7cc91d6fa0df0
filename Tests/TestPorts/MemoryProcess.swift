import CredentialCore
import StrictJSON
import Synchronization

/// A process on a machine in memory: every port, its calls counted by the trace.
struct MemoryProcess: Sendable {
    let machine: MemoryMachine
    let trace: PortTrace
}

extension MemoryProcess: RandomSource {
    func bytes(_ count: Int) -> [UInt8] {
        machine.state.withLock { state in
            state.random &+= 1
            return (0..<count).map { UInt8(truncatingIfNeeded: $0) ^ state.random }
        }
    }
}

extension MemoryProcess: AccountRecords {
    func groups() throws(CredentialError) -> [KeychainGroup] {
        try trace.call("records.groups") { () throws(CredentialError) in
            machine.state.withLock { $0.records.keys.sorted { $0.name < $1.name } }
        }
    }

    func index(of group: KeychainGroup, _ check: IndexCheck) throws(CredentialError) -> AccountIndex {
        try trace.call("records.index") { () throws(CredentialError) in
            AccountIndex(machine.records(of: group).map(\.account))
        }
    }

    func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountRegistry {
        try trace.call("records.list") { () throws(CredentialError) in machine.registry(group) }
    }

    func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        try trace.call("records.read") { () throws(CredentialError) in machine.record(id, group: group) }
    }

    func write(_ record: AccountRecord, expecting expected: Int64?) throws(CredentialError) -> RecordWriting {
        try trace.call("records.write") { () throws(CredentialError) in
            let id = record.account.id
            guard machine.record(id, group: record.group)?.generation == expected else { return .overtaken }
            var record = record
            record.generation = (expected ?? 0) + 1
            machine.setRecord(record, of: id, group: record.group)
            return .done
        }
    }

    func remove(
        _ id: String, in group: KeychainGroup, expecting expected: Int64
    ) throws(CredentialError) -> RecordWriting {
        try trace.call("records.remove") { () throws(CredentialError) in
            guard machine.record(id, group: group)?.generation == expected else { return .overtaken }
            machine.setRecord(nil, of: id, group: group)
            return .done
        }
    }

    func setAside(_ id: String, in group: KeychainGroup) throws(CredentialError) -> String {
        try trace.call("records.aside") { () throws(CredentialError) in
            machine.setRecord(nil, of: id, group: group)
            return "nowhere"
        }
    }

    func setAsideOlder(_ group: KeychainGroup) throws(CredentialError) {}
}

extension MemoryProcess: UsedRefreshTokens {
    func contains(_ token: Secret) -> Bool {
        trace.quietCall("used.read", otherwise: false) {
            machine.state.withLock { $0.usedTokens.contains(token.reveal()) }
        }
    }

    func record(_ token: Secret, until end: Instant?) {
        trace.quietCall("used.write", otherwise: ()) {
            machine.state.withLock { _ = $0.usedTokens.insert(token.reveal()) }
        }
    }

    func rotation(of grant: String) -> Int64? {
        trace.quietCall("used.read", otherwise: nil) { machine.state.withLock { $0.rotations[grant] } }
    }

    func record(rotation: Int64, of grant: String, until end: Instant?) {
        trace.quietCall("used.write", otherwise: ()) {
            machine.state.withLock { $0.rotations[grant] = max(rotation, $0.rotations[grant] ?? 0) }
        }
    }

    func digest(of token: Secret) -> String? { "digest of \(token.reveal())" }

    func checkMemory() throws(CredentialError) {}
}

/// Seals nothing, and opens only what a key has sealed that is kept; a broken file store seals and opens nothing.
extension MemoryProcess: TokenSetVault {
    func seal(
        _ tokenSet: [UInt8], of account: String, generation: Int64, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet {
        let key = try vaultCall("file.seal") { machine.keyMade(for: group) }
        return SealedTokenSet(generation: generation, key: key, bytes: tokenSet)
    }

    func open(
        _ sealed: SealedTokenSet, of account: String, in group: KeychainGroup
    ) throws(CredentialError) -> [UInt8] {
        guard try vaultCall("file.open", { machine.hasKey(sealed.key, group: group) }) else {
            throw CredentialError(.storeDamaged, "no file has the key that opens it")
        }
        return sealed.bytes
    }

    func currentKey(of group: KeychainGroup) throws(CredentialError) -> String? {
        try vaultCall("file.key") { machine.state.withLock { $0.keys[group]?.current } }
    }

    func forgetReplacedKeys(
        of group: KeychainGroup, but needed: Set<String>
    ) throws(CredentialError) -> Int {
        try vaultCall("file.forget") {
            machine.state.withLock { state in
                state.keys[group]?.replaced.formIntersection(needed)
                return state.keys[group]?.replaced.count ?? 0
            }
        }
    }

    private func vaultCall<Result>(_ name: String, _ body: () -> Result) throws(CredentialError) -> Result {
        try trace.call(name) { () throws(CredentialError) in
            if let error = machine.state.withLock({ $0.broken[.file] }) { throw error }
            return body()
        }
    }
}

extension MemoryProcess: AccountLocks {
    func tryLock(_ account: String, in group: KeychainGroup) throws(CredentialError) -> (any HeldLock)? {
        try trace.call("locks.try") { () throws(CredentialError) in take(account, group) }
    }

    /// Nobody is waited for, unless the trace has patience: a test lets the other one end by acting at this call.
    func lock(_ account: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock {
        trace.lockSeconds = seconds
        for _ in 0...trace.patience {
            if let lock = try trace.call("locks.lock", { () throws(CredentialError) in take(account, group) }) {
                return lock
            }
        }
        throw CredentialError(.lockTimeout, "another process holds the lock of \(account)")
    }

    private func take(_ account: String, _ group: KeychainGroup) -> (any HeldLock)? {
        let name = "\(group.name)/\(account)"
        let isFree = machine.state.withLock { state in
            if state.holders[name] != nil || state.sharers[name]?.isEmpty == false { return false }
            state.holders[name] = ObjectIdentifier(trace)
            return true
        }
        return isFree ? MemoryLock(machine: machine, name: name, holder: ObjectIdentifier(trace)) : nil
    }
}

extension MemoryProcess {
    func share(_ name: String, in group: KeychainGroup, seconds: Int) throws(CredentialError) -> any HeldLock {
        for _ in 0...trace.patience {
            if let lock = try trace.call("locks.share", { () throws(CredentialError) in takeShare(name, group) }) {
                return lock
            }
        }
        throw CredentialError(.lockTimeout, "another process holds the lock \(name) alone")
    }

    private func takeShare(_ lock: String, _ group: KeychainGroup) -> (any HeldLock)? {
        let name = "\(group.name)/\(lock)"
        let isFree = machine.state.withLock { state in
            if state.holders[name] != nil { return false }
            state.sharers[name, default: [:]][ObjectIdentifier(trace), default: 0] += 1
            return true
        }
        return isFree ? MemoryShare(machine: machine, name: name, holder: ObjectIdentifier(trace)) : nil
    }
}

/// A part in a lock that several hold.
private final class MemoryShare: HeldLock {
    private let machine: MemoryMachine
    private let name: String
    private let holder: ObjectIdentifier
    private let isHeld = Mutex(true)
    let descriptor: Int32 = -1

    init(machine: MemoryMachine, name: String, holder: ObjectIdentifier) {
        self.machine = machine
        self.name = name
        self.holder = holder
    }

    func release() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        guard wasHeld else { return }
        machine.state.withLock { state in
            // What an end has freed is free.
            guard let count = state.sharers[name]?[holder] else { return }
            state.sharers[name]?[holder] = count > 1 ? count - 1 : nil
        }
    }
}

final class MemoryLock: HeldLock {
    private let machine: MemoryMachine
    private let name: String
    private let holder: Mutex<ObjectIdentifier>
    let descriptor: Int32 = -1

    init(machine: MemoryMachine, name: String, holder: ObjectIdentifier) {
        self.machine = machine
        self.name = name
        self.holder = Mutex(holder)
    }

    func release() {
        let holder = holder.withLock { $0 }
        machine.state.withLock { if $0.holders[name] == holder { $0.holders[name] = nil } }
    }

    /// Gives the lock to another process, as a descriptor that it inherits does.
    func pass(to trace: PortTrace) {
        let next = ObjectIdentifier(trace)
        let before = holder.withLock { holder in
            defer { holder = next }
            return holder
        }
        machine.state.withLock { if $0.holders[name] == before { $0.holders[name] = next } }
    }
}

extension MemoryProcess: GenerationJournal {
    func accounts(in group: KeychainGroup) throws(CredentialError) -> [String] {
        try trace.call("journal.accounts") { () throws(CredentialError) in machine.journaled(group) }
    }

    func eachRecord(
        in group: KeychainGroup, _ body: (String, [UInt8]) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        for account in try accounts(in: group) {
            let sealed: [UInt8]? = try read(account, in: group)
            if let sealed { try body(account, sealed) }
        }
    }

    func read(_ account: String, in group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        try trace.call("journal.read") { () throws(CredentialError) in
            machine.state.withLock { $0.journal[group]?[account] }
        }
    }

    func write(_ sealed: [UInt8], for account: String, in group: KeychainGroup) throws(CredentialError) {
        try trace.call("journal.write") { () throws(CredentialError) in
            machine.state.withLock { $0.journal[group, default: [:]][account] = sealed }
        }
    }

    func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError) {
        try trace.call("journal.reserve") { () throws(CredentialError) in }
    }

    func reserveForSending(_ size: Int, of account: String, in group: KeychainGroup) throws(CredentialError) {
        try reserve(size, for: account, in: group)
    }

    func releaseReserve(for account: String, in group: KeychainGroup) {}

    func setAsideUnopened(_ account: String, in group: KeychainGroup) throws(CredentialError) -> String {
        try trace.call("journal.setAside") { () throws(CredentialError) in
            machine.state.withLock { state in
                state.journalAside[account] = state.journal[group]?.removeValue(forKey: account)
                return "/memory/journal/.\(account).unopened"
            }
        }
    }

    func remove(_ account: String, in group: KeychainGroup) throws(CredentialError) {
        try trace.call("journal.remove") { () throws(CredentialError) in
            machine.state.withLock { $0.journal[group]?[account] = nil }
        }
    }
}

extension MemoryProcess: EventLog {
    func append(_ event: AccountEvent) {
        trace.quietCall("events.append", otherwise: ()) { machine.state.withLock { $0.events.append(event) } }
    }

    func follow(_ group: KeychainGroup?) throws(CredentialError) -> any EventFeed {
        let seen = machine.events.count
        return MemoryFeed(machine: machine, group: group, next: Mutex(seen))
    }
}

private final class MemoryFeed: EventFeed {
    private let machine: MemoryMachine
    private let group: KeychainGroup?
    private let next: Mutex<Int>

    init(machine: MemoryMachine, group: KeychainGroup?, next: consuming sending Mutex<Int>) {
        self.machine = machine
        self.group = group
        self.next = next
    }

    func next(timeout: Int64?) throws(CredentialError) -> AccountEvent? {
        let events = machine.events
        return next.withLock { next in
            while next < events.count {
                next += 1
                if group == nil || events[next - 1].group == group { return events[next - 1] }
            }
            return nil
        }
    }
}

extension MemoryProcess: AccessTokenCache {
    func read(_ name: CacheEntryName) -> [UInt8]? {
        trace.quietCall("cache.read", otherwise: nil) { machine.state.withLock { $0.cached[name] } }
    }

    func write(_ entry: [UInt8], name: CacheEntryName, seconds: Int64) {
        trace.quietCall("cache.write", otherwise: ()) { machine.state.withLock { $0.cached[name] = entry } }
    }

    func remove(_ name: CacheEntryName) {
        trace.quietCall("cache.remove", otherwise: ()) { machine.state.withLock { $0.cached[name] = nil } }
    }

    func removeAll(ofOwner name: CacheEntryName) {
        trace.quietCall("cache.remove", otherwise: ()) {
            machine.state.withLock { state in
                state.cached = state.cached.filter { $0.key.owner != name.owner }
            }
        }
    }

    func removeTokens() {
        trace.quietCall("cache.remove", otherwise: ()) { machine.state.withLock { $0.cached = [:] } }
    }

    func check() throws(CredentialError) {}
}

/// Files that change with what is kept: a record with its account, an index with every change.
extension MemoryProcess: FileStates {
    func state(of path: String) -> FileState? {
        let parts = path.split(separator: "/")
        if parts.count > 3, parts[parts.count - 2] == "accounts",
            let group = try? KeychainGroup(String(parts[parts.count - 3]))
        {
            return machine.record(String(parts[parts.count - 1]), group: group).map { record in
                FileState(device: 1, inode: 2, size: 1, modified: record.generation, changed: record.generation)
            }
        }
        let number = Int64(machine.state.withLock(\.changes))
        return FileState(device: 1, inode: 1, size: 1, modified: number, changed: number)
    }

    var time: Int64 { Int64(machine.state.withLock(\.changes)) + 1 }
}

extension MemoryProcess: MetadataCache {
    func read(_ address: String) -> PublishedDocument? { machine.state.withLock { $0.documents[address] } }
    func write(_ document: PublishedDocument, for address: String) {
        machine.state.withLock { $0.documents[address] = document }
    }
}

/// The files of a machine in memory.
struct MemoryFiles: TypeFiles {
    let machine: MemoryMachine

    func read(_ path: String) throws(CredentialError) -> TypeFile? { machine.state.withLock { $0.files[path] } }

    func names(in folder: String) throws(CredentialError) -> [String] {
        machine.state.withLock { state in
            state.files.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.count + 1)) }
                .filter { !$0.contains("/") }
        }
    }

    func write(_ bytes: [UInt8], to path: String) throws(CredentialError) {
        machine.state.withLock { $0.files[path] = TypeFile(bytes: bytes, isPrivate: true) }
    }

    func remove(_ path: String) throws(CredentialError) { machine.state.withLock { $0.files[path] = nil } }

    func isOfRoot(_ path: String) -> Bool { path.hasPrefix("/usr/") }
}

extension MemoryProcess: SecretStores {
    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore {
        MemoryStore(machine: machine, trace: trace, kind: kind)
    }

    func vault() throws(CredentialError) -> any TokenSetVault { self }
}

/// A store in memory.
private struct MemoryStore: SecretStore {
    let machine: MemoryMachine
    let trace: PortTrace
    let kind: StoreKind

    private func call<Result>(
        _ name: String, _ body: () throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        try trace.call("\(kind.rawValue).\(name)") { () throws(CredentialError) in
            if let error = machine.state.withLock({ $0.broken[kind] }) { throw error }
            return try body()
        }
    }

    func protection(of group: KeychainGroup) throws(CredentialError) -> StoreProtection? { nil }

    func probe() throws(CredentialError) { try call("probe") { () throws(CredentialError) in } }

    func read(_ item: SecretItem) throws(CredentialError) -> [UInt8]? {
        try call("read") { () throws(CredentialError) in machine.item(item, in: kind) }
    }

    func write(_ secret: [UInt8], for item: SecretItem, label: String) throws(CredentialError) {
        try call("write") { () throws(CredentialError) in machine.set(secret, item, in: kind) }
    }

    func remove(_ item: SecretItem) throws(CredentialError) {
        try call("remove") { () throws(CredentialError) in machine.set(nil, item, in: kind) }
    }

    func setKey(_ key: StoreKey, of group: KeychainGroup) throws(CredentialError) {
        guard kind == .file else { throw CredentialError(.unsupported, "it has keys of its own") }
        try call("rekey") { () throws(CredentialError) in machine.replaceKey(of: group) }
    }

    func items(of group: KeychainGroup, kind wanted: SecretItem.Kind) throws(CredentialError) -> [SecretItem] {
        try call("items") { () throws(CredentialError) in
            machine.state.withLock { state in
                (state.items[kind] ?? [:]).keys.filter { $0.group == group && $0.kind == wanted }
                    .sorted { $0.owner < $1.owner }
            }
        }
    }
}
