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

extension MemoryProcess: AccountRecordStore {
    func groups() throws(CredentialError) -> [KeychainGroup] {
        try trace.call("records.groups") { () throws(CredentialError) in
            machine.state.withLock { $0.records.keys.sorted { $0.name < $1.name } }
        }
    }

    func index(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError) -> AccountIndex {
        try trace.call("records.index") { () throws(CredentialError) in
            AccountIndex(machine.records(of: group).map(\.account))
        }
    }

    func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountList {
        try trace.call("records.list") { () throws(CredentialError) in machine.registry(group) }
    }

    func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        try trace.call("records.read") { () throws(CredentialError) in machine.record(id, group: group) }
    }

    func write(_ record: AccountRecord, expecting expected: Int64?) throws(CredentialError) -> WriteResult {
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
    ) throws(CredentialError) -> WriteResult {
        try trace.call("records.remove") { () throws(CredentialError) in
            guard machine.record(id, group: group)?.generation == expected else { return .overtaken }
            machine.setRecord(nil, of: id, group: group)
            return .done
        }
    }

    func setAside(_ id: String, in group: KeychainGroup, keepsName: Bool) throws(CredentialError) -> String {
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

    func record(_ token: Secret, until end: Timestamp?) {
        trace.quietCall("used.write", otherwise: ()) {
            machine.state.withLock { _ = $0.usedTokens.insert(token.reveal()) }
        }
    }

    func rotation(of grant: String) -> Int64? {
        trace.quietCall("used.read", otherwise: nil) { machine.state.withLock { $0.rotations[grant] } }
    }

    func record(rotation: Int64, of grant: String, until end: Timestamp?) {
        trace.quietCall("used.write", otherwise: ()) {
            machine.state.withLock { $0.rotations[grant] = max(rotation, $0.rotations[grant] ?? 0) }
        }
    }

    func digest(of token: Secret) -> String? { "digest of \(token.reveal())" }

    func checkMemory() throws(CredentialError) {}
}

/// Does not encrypt, and opens only data sealed by a key that is kept; a broken file store neither seals nor opens.
extension MemoryProcess: TokenSetCipher {
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

extension MemoryProcess: TokenSetJournal {
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
            machine.state.withLock { state in
                state.journal[group, default: [:]][account] = sealed
                state.marks["\(group.name)/\(account)"] = nil
            }
        }
    }

    func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError) {
        try trace.call("journal.reserve") { () throws(CredentialError) in }
    }

    func reserveForSending(_ size: Int, of account: String, in group: KeychainGroup) throws(CredentialError) {
        try reserve(size, for: account, in: group)
        machine.state.withLock { $0.marks["\(group.name)/\(account)"] = ObjectIdentifier(trace) }
    }

    func isMarkedForSending(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        try trace.call("journal.mark") { () throws(CredentialError) in
            machine.state.withLock { $0.marks["\(group.name)/\(account)"] == ObjectIdentifier(trace) }
        }
    }

    func releaseReserve(for account: String, in group: KeychainGroup) {
        machine.state.withLock { $0.marks["\(group.name)/\(account)"] = nil }
    }

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
            machine.state.withLock { state in
                state.journal[group]?[account] = nil
            }
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
    func read(_ name: CacheKey) -> [UInt8]? {
        trace.quietCall("cache.read", otherwise: nil) { machine.state.withLock { $0.cached[name] } }
    }

    func write(_ entry: [UInt8], name: CacheKey, seconds: Int64) {
        trace.quietCall("cache.write", otherwise: ()) { machine.state.withLock { $0.cached[name] = entry } }
    }

    func remove(_ name: CacheKey) {
        trace.quietCall("cache.remove", otherwise: ()) { machine.state.withLock { $0.cached[name] = nil } }
    }

    func removeAll(ofOwner name: CacheKey) {
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

/// Files that change with the stored data: a record with its account, an index with every change.
extension MemoryProcess: FileStamps {
    func state(of path: String) -> FileStamp? {
        let parts = path.split(separator: "/")
        if parts.count > 3, parts[parts.count - 2] == "accounts",
            let group = try? KeychainGroup(String(parts[parts.count - 3]))
        {
            return machine.record(String(parts[parts.count - 1]), group: group).map { record in
                FileStamp(device: 1, inode: 2, size: 1, modified: record.generation, changed: record.generation)
            }
        }
        let number = Int64(machine.state.withLock(\.changes))
        return FileStamp(device: 1, inode: 1, size: 1, modified: number, changed: number)
    }

    var time: Int64 { Int64(machine.state.withLock(\.changes)) + 1 }
}

extension MemoryProcess: MetadataCache {
    func read(_ address: String) -> ProviderDocument? { machine.state.withLock { $0.documents[address] } }
    func write(_ document: ProviderDocument, for address: String) {
        machine.state.withLock { $0.documents[address] = document }
    }
}
