/// The names of a group's accounts, by which one is found without reading the records: short lines, scanned as
/// bytes.
///
/// A line is a sign and fields with tabs between them. The sign `+` is an account and replaces an earlier line of
/// it, `-` is a removed account, and `!` is an account whose record cannot be read. A line with `!` has the names
/// that the account had, if they are known. The first line tells the form, how many bytes of the file have each
/// account once, and a checksum of those: who is meant must not hang on a byte that a disk has lost. The lines that
/// were appended since follow them, each with a checksum of its own.
public struct AccountIndex: Sendable, Equatable {
    /// The data of the index about an account.
    public struct Entry: Sendable, Hashable {
        /// The account's id.
        public let id: String
        /// The type it was signed in under.
        public let type: String
        /// Provider and client.
        public internal(set) var registration: ClientIdentity
        /// The subject at the provider.
        public let subject: String
        /// The name it signs in with.
        public let username: String?
        /// The person's name.
        public let displayName: String?
        /// The user's own name for it.
        public let label: String?
        /// When it was made the default of its registration; the newest one counts.
        public let madeDefaultAt: Timestamp?

        /// Makes the entry of an account in the index.
        public init(_ account: Account) {
            id = account.id
            type = account.type
            registration = account.registration
            subject = account.subject
            username = account.username
            displayName = account.displayName
            label = account.label
            madeDefaultAt = account.madeDefaultAt
        }

        /// The name to show.
        public var shownName: String { label ?? username ?? displayName ?? subject }
    }

    /// The file that it was read from.
    let bytes: [UInt8]
    /// The lines of the accounts, in the order they were added, without sign and line break.
    let lines: [Line]
    /// The accounts whose records could not be read.
    public let unreadable: [String]
    /// Their lines, in the same order: some have only the ID.
    let unreadableLines: [Line]

    /// A line of the file: 32 bits are enough for each end, and there are many lines.
    struct Line: Equatable {
        private let lower: UInt32, upper: UInt32

        init(_ range: Range<Int>) { (lower, upper) = (UInt32(range.lowerBound), UInt32(range.upperBound)) }

        var start: Int { Int(lower) }
        var end: Int { Int(upper) }
        var range: Range<Int> { start..<end }
    }

    /// The index of accounts that are known otherwise.
    public init(_ accounts: [Account], unreadable: [String] = []) {
        // An index that was just made can be read.
        self = AccountIndex(Self.file(accounts.map { Entry($0) }, unreadable: unreadable)) ?? AccountIndex()
    }

    /// An index without names.
    public init() {
        bytes = []
        lines = []
        unreadable = []
        unreadableLines = []
    }

    private init(_ bytes: [UInt8], _ lines: [Line], unreadable: [Line]) {
        self.bytes = bytes
        self.lines = lines
        let span = bytes.span
        self.unreadable = unreadable.map { String(decoding: bytes[Self.id(span, $0)], as: UTF8.self) }
        unreadableLines = unreadable
    }

    /// Reads the file; `nil` if it is damaged or of another form. A last line that was cut counts as not written.
    public init?(_ file: [UInt8]) {
        guard let read = Self.lines(of: file) else { return nil }
        self.init(file, read.lines, unreadable: read.unreadable)
    }

    /// The index with the unreadable accounts among the others, if their names are known: the choice of an account
    /// must not depend on which records can be read.
    public var withUnreadable: AccountIndex {
        let span = bytes.span
        let hasNames = unreadableLines.map { Self.id(span, $0).upperBound < $0.end }
        if !hasNames.contains(true) { return self }
        let both = zip(unreadableLines, hasNames)
        return AccountIndex(
            bytes, lines + both.filter(\.1).map(\.0), unreadable: both.filter { !$0.1 }.map(\.0))
    }

    /// The names of accounts whose records cannot be read, if they are known.
    public var unreadableEntries: [Entry] { withUnreadable.entries.suffix(withUnreadable.count - count) }

    /// The same with further accounts whose records cannot be read, and whose names are unknown.
    package func adding(unreadable ids: [String]) -> AccountIndex {
        let more = ids.filter { !unreadable.contains($0) }
        if more.isEmpty { return self }
        let file = Self.file(entries, unreadable: unreadable + more, known: unreadableEntries)
        return AccountIndex(file) ?? self
    }

    /// How many accounts it names.
    public var count: Int { lines.count }

    /// Every account.
    public var entries: [Entry] { lines.map(entry) }

    /// The same without the accounts whose records could not be read.
    package var readable: AccountIndex {
        unreadable.isEmpty ? self : AccountIndex(Self.file(entries)) ?? AccountIndex()
    }

    /// The first account.
    public var first: Entry? { lines.first.map(entry) }

    /// The ids in the order the accounts were added, those whose records cannot be read at the end.
    public var inOrder: [String] {
        var ids: [String] = []
        ids.reserveCapacity(lines.count + unreadable.count)
        for line in lines { ids.append(String(decoding: bytes[Self.id(bytes.span, line)], as: UTF8.self)) }
        return ids + unreadable
    }

    /// The ids of the accounts, those whose records cannot be read included, sorted.
    public var ids: [String] { inOrder.sorted() }

    /// Which ids there are, those whose records cannot be read included.
    public var idSum: UnorderedChecksum {
        var sum = UnorderedChecksum()
        let span = bytes.span
        for line in lines { sum.add(span, Self.id(span, line)) }
        for id in unreadable {
            let name = Array(id.utf8)
            sum.add(name.span)
        }
        return sum
    }
}
