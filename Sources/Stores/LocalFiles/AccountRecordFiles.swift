package import CredentialCore
import Platform

/// The accounts of the groups: `accounts/ID` in each group's folder, one record each, and the `index` of their
/// names.
///
/// Reading takes no lock, for a record is only ever replaced as a whole. `format` says which layout a group has.
/// `docs/reference/file-store.md` describes the files.
package struct AccountRecordFiles: AccountRecordStore {
    /// The layout of a group's folder that this program writes; it reads every earlier one.
    static let layout = GroupFolders.layout
    static let formatName = GroupFolders.formatName
    static let indexName = "index"
    /// The file in which an older version of this program had all accounts of a group.
    static let olderName = "accounts.json"

    /// The largest record read, in bytes.
    static let limit = 8 << 20
    /// The largest index read, in bytes.
    private static let indexLimit = 256 << 20
    /// How long to wait for another process that writes the same record or the index, in seconds. Each takes
    /// milliseconds.
    private static let patience: Int64 = 10
    /// How much is appended to an index at least, in bytes, before it is rewritten, and from which part of it on. A
    /// line that is appended costs more to read than the others, and eight of its size to have all rewritten in
    /// time.
    private static let tailSize = 16 << 10
    private static let tailShare = 8

    /// The size of an index, in bytes, from which on the names of the records are listed while it is read: the
    /// kernel takes longer for them than a thread takes to begin.
    private static let listingSize: Int64 = 64 << 10

    let folders: GroupFolders
    private let clock: any WallClock

    /// Keeps the accounts of the groups in `folders`; the clock names the quarantined files.
    package init(_ folders: GroupFolders, clock: any WallClock) {
        self.folders = folders
        self.clock = clock
    }

    package func groups() throws(CredentialError) -> [KeychainGroup] {
        var groups: [KeychainGroup] = []
        for group in try folders.groups() {
            guard let folder = try folders.open(of: group) else { continue }
            if folder.contains(Self.formatName) || folder.contains(Self.olderName) || Self.hasAccounts(folder) {
                groups.append(group)
            }
        }
        return groups
    }

    // MARK: Records

    package func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        guard try isThere(group), let folder = try folders.open(.accounts, of: group) else { return nil }
        return try read(id, in: group, folder)
    }

    private func read(
        _ id: String, in group: KeychainGroup, _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> AccountRecord? {
        guard Identifier.isValid(id) else { return nil }
        let bytes: [UInt8]?
        do throws(CredentialError) { bytes = try folder.read(id, limit: Self.limit) } catch {
            // The record is the store of its content.
            guard error.code == .inputOutput else { throw error }
            if let file = try? folder.openExisting(id), file.size > Self.limit { throw damaged(id, error, folder) }
            throw CredentialError(.storeUnavailable, error.text, hint: error.advice, details: error.details)
        }
        return try bytes.map { (bytes) throws(CredentialError) in try record(bytes, of: id, in: group, folder) }
    }

    private func record(
        _ bytes: [UInt8], of id: String, in group: KeychainGroup, _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> AccountRecord {
        do throws(CredentialError) { return try AccountRecord(bytes, of: id, in: group) } catch {
            if error.code == .unsupported {
                let path = UntrustedText.shown(folder.path(of: id), limit: 4_096)
                throw CredentialError(
                    .unsupported, "the record \(path) cannot be used: \(error)", hint: error.advice)
            }
            throw damaged(id, error, folder)
        }
    }

    private func damaged(
        _ id: String, _ error: CredentialError, _ folder: borrowing PrivateDirectory
    ) -> CredentialError {
        let path = UntrustedText.shown(folder.path(of: id), limit: 4_096)
        return CredentialError(
            .storeDamaged, "the record \(path) is damaged: \(error)", hint: "credmgr doctor --fix")
    }

    package func write(
        _ record: AccountRecord, expecting expected: Int64?
    ) throws(CredentialError) -> WriteResult {
        let group = record.group, id = record.account.id
        try makeGroup(group)
        let folder = try folders.create(.accounts, of: group)
        var record = record
        record.generation = (expected ?? 0) + 1
        let entry = AccountIndex.Entry(record.account)
        var isNamed = false
        let outcome = try folder.exchange(record.bytes, for: id, limit: Self.limit, patience: Self.patience) {
            (bytes) throws(CredentialError) in
            if let bytes {
                let before = try self.record(bytes, of: id, in: group, folder)
                guard before.generation == expected else { return false }
                isNamed = AccountIndex.Entry(before.account) == entry
            } else if expected != nil {
                return false
            }
            if !isNamed { try checkIndex(of: group) }
            return true
        }
        if case .refused = outcome { return .overtaken }
        if !isNamed { try note(AccountIndex.line(entry), in: group) }
        return outcome.writing
    }

    package func remove(
        _ id: String, in group: KeychainGroup, expecting expected: Int64
    ) throws(CredentialError) -> WriteResult {
        guard try isThere(group), let folder = try folders.open(.accounts, of: group) else { return .overtaken }
        // Before, so that a record that is missing was never signed out, at any stop of this; and after, as another
        // process may make the index again meanwhile.
        try note(AccountIndex.removal(id), in: group)
        let outcome: ReplaceResult
        do throws(CredentialError) {
            outcome = try folder.exchange(nil, for: id, limit: Self.limit, patience: Self.patience) {
                (bytes) throws(CredentialError) in
                guard let bytes else { return false }
                return try record(bytes, of: id, in: group, folder).generation == expected
            }
        } catch {
            try name(id, in: group)
            throw error
        }
        if case .refused = outcome {
            try name(id, in: group)
            return .overtaken
        }
        try note(AccountIndex.removal(id), in: group)
        return outcome.writing
    }

    /// Puts the name of a record that stays back into the index.
    private func name(_ id: String, in group: KeychainGroup) throws(CredentialError) {
        guard let record = try? read(id, in: group) else { return }
        try note(AccountIndex.line(AccountIndex.Entry(record.account)), in: group)
    }

    package func setAside(
        _ id: String, in group: KeychainGroup, keepsName: Bool
    ) throws(CredentialError) -> String {
        if !keepsName { try checkIndex(of: group) }
        let folder = try folders.create(.accounts, of: group)
        let name = ".\(id).corrupt-\(clock.now.epochSeconds)"
        // Of one that is missing there is only the name.
        if folder.contains(id) { try folder.rename(id, to: name) }
        if !keepsName { try note(AccountIndex.removal(id), in: group) }
        return folder.path(of: name)
    }

    package func older(_ group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        try folders.open(of: group)?.read(Self.olderName, limit: Self.indexLimit)
    }

    package func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountList {
        var registry = AccountList()
        let index = try index(of: group, .ids)
        guard let folder = try folders.open(.accounts, of: group) else {
            // A sign-out takes the name of the account away first: an account that is named is missing together
            // with its folder.
            for id in index.inOrder { damaged(id, CredentialError.recordIsMissing(id)) }
            return registry
        }
        registry.accounts.reserveCapacity(index.count)
        var isWhole = true
        for id in index.inOrder {
            do throws(CredentialError) {
                if let record = try read(id, in: group, folder) {
                    registry.accounts.append(record.account)
                } else if index.unreadable.contains(id) {
                    throw CredentialError.recordIsMissing(id)
                }
                // Another that is gone by now was signed out meanwhile.
            } catch {
                isWhole = false
                damaged(id, error)
            }
        }
        // Names that the records do not have any more, as of an index from a backup, would choose another account.
        if isWhole, !index.isOf(registry.accounts),
            let folder = try folders.open(of: group)
        {
            _ = try remade(group, folder)
        }
        return registry
    }

    // MARK: The layout

    /// Whether a group has accounts, or had some.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for a layout that this program does not read.
    private func isThere(_ group: KeychainGroup) throws(CredentialError) -> Bool {
        guard let folder = try folders.open(of: group) else { return false }
        return try isThere(group, folder)
    }

    private func isThere(
        _ group: KeychainGroup, _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> Bool { try layout(of: group, folder) != nil }

    /// The layout of a group that has accounts, or had some; `nil` for another.
    private func layout(
        of group: KeychainGroup, _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> Int? {
        guard let text = try folder.read(Self.formatName, limit: 4_096) else {
            guard folder.contains(Self.olderName) else {
                // It is written before any account is.
                guard Self.hasAccounts(folder) else { return nil }
                let path = UntrustedText.shown(folder.path(of: Self.formatName), limit: 4_096)
                throw CredentialError(
                    .storeDamaged,
                    "the file \(path) with the storage layout of group \(group) is missing",
                    hint: "(umask 077; echo \(Self.layout) > \(ShellQuoting.word(path)))")
            }
            let path = UntrustedText.shown(folder.path(of: Self.olderName), limit: 4_096)
            throw CredentialError(
                .unsupported, "an older credmgr has kept the accounts of group \(group) in \(path)",
                hint: "credmgr doctor --fix")
        }
        let path = UntrustedText.shown(folder.path(of: Self.formatName), limit: 4_096)
        let word = String(decoding: text.prefix { $0 != 0x0A }, as: UTF8.self)
        guard let number = Int(word), number > 0 else {
            throw CredentialError(
                .storeDamaged, "the file \(path) is damaged: it must contain a number",
                hint: "(umask 077; echo \(Self.layout) > \(ShellQuoting.word(path)))")
        }
        guard number <= Self.layout else {
            throw CredentialError(
                .unsupported, "a newer credmgr keeps the accounts of group \(group) (layout \(number) in \(path))",
                hint: "upgrade credmgr")
        }
        return number
    }

    private static func hasAccounts(_ folder: borrowing PrivateDirectory) -> Bool {
        folder.contains(GroupFolders.Folder.accounts.rawValue) || folder.contains(indexName)
    }

    private func makeGroup(_ group: KeychainGroup) throws(CredentialError) {
        let folder = try folders.create(of: group)
        // A program that knows an earlier layout alone must not write to the same place as this one.
        let layout = try layout(of: group, folder)
        if layout == Self.layout { return }
        if layout != nil { return try folders.raiseLayout(of: group) }
        try folder.write(Array("\(Self.layout)\n".utf8), to: Self.formatName)
    }

    // MARK: The index

    package func index(
        of group: KeychainGroup, _ check: IndexVerification
    ) throws(CredentialError) -> AccountIndex {
        guard let folder = try folders.open(of: group), try isThere(group, folder) else { return AccountIndex() }
        let size = check == .none ? 0 : try folder.openExisting(Self.indexName)?.size ?? 0
        let listing: DirectoryListing? =
            size < Self.listingSize
            ? nil : DirectoryListing { [self] () throws(CredentialError) in try idSum(in: group) }
        let index = try readIndex(folder)
        if let index, try agrees(index, check, in: group, listing) { return index }
        return try remade(group, folder)
    }

    /// The index of a group; `nil` if it cannot be used.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for one of a newer version, which stays as it is.
    private func readIndex(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> AccountIndex? {
        guard let file = try folder.read(Self.indexName, limit: Self.indexLimit) else { return nil }
        if AccountIndex.isNewer(file) { throw Self.newerIndex(folder) }
        return AccountIndex(file)
    }

    /// Checks, before a record changes, that this program can name the change in the index.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for an index of a newer version, which stays as it is.
    private func checkIndex(of group: KeychainGroup) throws(CredentialError) {
        // An index that cannot be opened is made again.
        guard let folder = try folders.open(of: group), let file = try? folder.openExisting(Self.indexName) else {
            return
        }
        if AccountIndex.isNewer(file.read(AccountIndex.shownSize, at: 0)) { throw Self.newerIndex(folder) }
    }

    private static func newerIndex(_ folder: borrowing PrivateDirectory) -> CredentialError {
        let path = UntrustedText.shown(folder.path(of: indexName), limit: 4_096)
        return CredentialError(.unsupported, "a newer credmgr wrote the index \(path)", hint: "upgrade credmgr")
    }

    package func confirmed(
        _ index: AccountIndex, of group: KeychainGroup, _ check: IndexVerification
    ) throws(CredentialError) -> AccountIndex {
        if try agrees(index, check, in: group) { return index }
        guard let folder = try folders.open(of: group) else { return AccountIndex() }
        return try remade(group, folder)
    }

    private func agrees(
        _ index: AccountIndex, _ check: IndexVerification, in group: KeychainGroup,
        _ listing: DirectoryListing? = nil
    ) throws(CredentialError) -> Bool {
        if check == .none { return true }
        let named = index.idSum
        let listed = if let listing { try listing.sum() } else { try idSum(in: group) }
        guard named == listed else { return false }
        switch check {
        case .none, .ids: return true
        case .everything:
            let now = try collect(group, after: index)
            return Set(now.entries) == Set(index.entries) && Set(now.unreadable) == Set(index.unreadable)
        }
    }

    /// Which accounts have a record.
    private func idSum(in group: KeychainGroup) throws(CredentialError) -> UnorderedChecksum {
        var sum = UnorderedChecksum()
        guard let folder = try folders.open(.accounts, of: group) else { return sum }
        try folder.eachName { if Self.isRecord($0) { sum.add($0) } }
        return sum
    }

    /// Whether a file is the record of an account. No id has a dot: who puts `ID.bak` there has made no account.
    private static func isRecord(_ name: borrowing Span<UInt8>) -> Bool {
        Identifier.isValid(name) && !Identifier.hasDot(name)
    }

    /// The accounts that have a record, sorted.
    private func ids(in group: KeychainGroup) throws(CredentialError) -> [String] {
        guard let folder = try folders.open(.accounts, of: group) else { return [] }
        return try folder.names().filter { Self.isRecord($0.utf8.span) }
    }

    /// The content of the records, in the order of `index` if it knows them; its facts about records that cannot be
    /// read stay known.
    private func collect(
        _ group: KeychainGroup, after index: AccountIndex?
    ) throws(CredentialError) -> (entries: [AccountIndex.Entry], unreadable: [String], file: [UInt8]) {
        let known = index?.withUnreadable.entries ?? []
        guard let folder = try folders.open(.accounts, of: group) else {
            // As in `registry(of:damaged:)`.
            let missing = index?.inOrder ?? []
            return ([], missing, AccountIndex.file([], unreadable: missing, known: known))
        }
        var accounts: [String: Account] = [:]
        var unreadable: [String] = []
        for id in try ids(in: group) {
            do throws(CredentialError) {
                if let record = try read(id, in: group, folder) { accounts[id] = record.account }
            } catch {
                guard error.isStoreFailure || error.code == .unsupported else { throw error }
                unreadable.append(id)
            }
        }
        // A sign-out takes the name of the account away first: a name without a record means that the record was
        // lost.
        let named = index?.inOrder ?? []
        unreadable += named.filter { accounts[$0] == nil && !unreadable.contains($0) }
        var entries: [AccountIndex.Entry] = []
        for entry in known {
            if let account = accounts.removeValue(forKey: entry.id) { entries.append(AccountIndex.Entry(account)) }
        }
        let rest = accounts.values.sorted {
            ($0.createdAt.epochSeconds, $0.id) < ($1.createdAt.epochSeconds, $1.id)
        }
        entries += rest.map { AccountIndex.Entry($0) }
        return (entries, unreadable, AccountIndex.file(entries, unreadable: unreadable, known: known))
    }

    /// Makes the index again from the records, and keeps it if possible.
    private func remade(
        _ group: KeychainGroup, _ folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> AccountIndex {
        let lock: FileDescriptor?
        do throws(CredentialError) { lock = try lockIndex(folder) } catch {
            // On a disk that takes no writes an index still serves this run.
            lock = nil
        }
        let before = try readIndex(folder)
        let now = try collect(group, after: before)
        if lock != nil { try? folder.write(now.file, to: Self.indexName) }
        // The files beside the place of a lost record may be all that is left of it, and without an index it is
        // unknown which record is lost.
        if before != nil, now.unreadable.isEmpty, let accounts = try folders.open(.accounts, of: group) {
            accounts.removeStaleTemporaries()
        }
        guard let index = AccountIndex(now.file) else {
            throw CredentialError(.internalFault, "cannot read an index that was just created")
        }
        return index
    }

    /// Opens the index and locks it against others that write it.
    private func lockIndex(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> FileDescriptor {
        while true {
            let file = try folder.openShared(Self.indexName, appending: true)
            switch FileLock.wait(file, milliseconds: Self.patience * 1_000) {
            case 0: break
            case let failure:
                throw .system("cannot lock", folder.path(of: Self.indexName), number: failure)
            }
            if folder.isCurrent(file, Self.indexName) { return file }
        }
    }

    /// Appends a line to the index; a record has changed by now. An index that cannot be written, or has changed,
    /// is made again by the next command that looks for a name that is not in it.
    private func note(_ line: [UInt8], in group: KeychainGroup) throws(CredentialError) {
        let folder = try folders.create(of: group)
        do throws(CredentialError) {
            let file = try lockIndex(folder)
            let size = Int(file.size), head = file.read(AccountIndex.shownSize, at: 0)
            if AccountIndex.isNewer(head) { throw Self.newerIndex(folder) }
            guard let compacted = AccountIndex.compactedSize(head),
                compacted <= size, size + line.count - compacted < compacted / Self.tailShare + Self.tailSize
            else {
                // It does not exist yet, it is damaged, or much was appended.
                let before = try folder.read(Self.indexName, limit: Self.indexLimit) ?? []
                if let index = AccountIndex(before + line) {
                    return try folder.write(index.compacted, to: Self.indexName)
                }
                return try folder.write(collect(group, after: nil).file, to: Self.indexName)
            }
            // After a line that a power cut has cut no line can be appended.
            guard file.read(1, at: Int64(size - 1)) == [0x0A], file.writeAll(line) == 0, file.sync() == 0 else {
                return try folder.remove(Self.indexName)
            }
        } catch {
            if error.code == .unsupported { throw error }
            // A missing index is better than one that is behind.
            try folder.remove(Self.indexName)
        }
    }
}

extension ReplaceResult {
    /// The meaning of the result for a record.
    fileprivate var writing: WriteResult {
        switch self {
        case .done: .done
        case .refused: .overtaken
        case .unknown(let error): .unknown(error)
        }
    }
}
