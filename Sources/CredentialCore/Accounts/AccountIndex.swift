/// The names of a group's accounts, by which one is found without reading the records: short lines, scanned as bytes.
///
/// A line is a sign and fields with tabs between them: `+` an account, in place of what an earlier line says of it; `-`
/// one that is gone; `!` one whose record cannot be read. The first line tells the form, how many bytes of the file have each
/// account once, and a checksum of those: who is meant must not hang on a byte that a disk has lost. What was appended since
/// stands behind them, each line with a checksum of its own.
public struct AccountIndex: Sendable, Equatable {
    /// What the index knows of an account.
    public struct Entry: Sendable, Hashable {
        /// The account's id.
        public let id: String
        /// The type it was signed in under.
        public let type: String
        /// Provider and client.
        public let registration: Registration
        /// The subject at the provider.
        public let subject: String
        /// The name it signs in with.
        public let username: String?
        /// The person's name.
        public let displayName: String?
        /// The user's own name for it.
        public let label: String?
        /// When it was made the default of its registration; the newest one counts.
        public let chosenAt: Instant?

        /// What the index keeps of an account.
        public init(_ account: Account) {
            id = account.id
            type = account.type
            registration = account.registration
            subject = account.subject
            username = account.username
            displayName = account.displayName
            label = account.label
            chosenAt = account.chosenAt
        }

        /// The name to show.
        public var shownName: String { label ?? username ?? displayName ?? subject }
    }

    /// The first word of the file.
    private static let mark = Array("credmgr-index 3 ".utf8)
    /// The digits of the number in the first line.
    private static let digits = 12
    private static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")
    private static let backslash = UInt8(ascii: "\\")

    private let bytes: [UInt8]
    /// The lines of the accounts, in the order they were added, without sign and line break.
    private let lines: [Range<Int>]
    /// The accounts whose records could not be read.
    public let unreadable: [String]

    /// The index of accounts that are known otherwise.
    public init(_ accounts: [Account], unreadable: [String] = []) {
        // What was just made can be read.
        self = AccountIndex(Self.file(accounts.map { Entry($0) }, unreadable: unreadable)) ?? AccountIndex()
    }

    /// An index without names.
    public init() {
        bytes = []
        lines = []
        unreadable = []
    }

    // MARK: The file

    /// Reads the file; `nil` where it is damaged or of another form. A last line that was cut counts as not written.
    public init?(_ file: [UInt8]) {
        guard let compacted = Self.compactedSize(file), compacted <= file.count,
            let part = CompactPart(file.span, Self.headSize..<compacted),
            part.sum.text.elementsEqual(file[(Self.headSize - 1 - Checksum.digits)..<(Self.headSize - 1)])
        else { return nil }
        if compacted == file.count {
            lines = part.lines
            unreadable = part.unreadable.map { String(decoding: file[$0], as: UTF8.self) }
        } else {
            guard let appended = Appended(file.span, from: compacted),
                let (lines, unreadable) = appended.merged(into: part, file.span)
            else { return nil }
            self.lines = lines
            self.unreadable = unreadable.map { String(decoding: file[$0], as: UTF8.self) }
        }
        bytes = file
    }

    /// What has each account once: where its lines are, and its checksum.
    private struct CompactPart {
        var lines: [Range<Int>] = []
        var unreadable: [Range<Int>] = []
        var sum: Checksum

        /// - Returns: `nil` where it does not end with a line, or a line has no sign.
        init?(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) {
            sum = Checksum(seed: UInt64(range.upperBound))
            lines.reserveCapacity(range.count / 64)
            let newlines = Words.repeating(newline)
            var start = range.lowerBound, offset = start
            while offset < range.upperBound {
                let count = min(Words.size, range.upperBound - offset)
                let word =
                    count == Words.size
                    ? Words.load(bytes, at: offset) : Words.loadEnd(bytes, at: offset, count: count)
                sum.add(word)
                var ends = Words.places(of: newlines, in: word)
                while ends != 0 {
                    let end = offset + Words.first(ends)
                    guard end >= start + 2, bytes[start + 1] == tab else { return nil }
                    switch bytes[start] {
                    case UInt8(ascii: "+"): lines.append(start + 2..<end)
                    case UInt8(ascii: "!"): unreadable.append(start + 2..<end)
                    default: return nil
                    }
                    start = end + 1
                    ends &= ends - 1
                }
                offset += Words.size
            }
            guard start == range.upperBound else { return nil }
        }
    }

    /// What was appended: of each account that it is about the last line.
    private struct Appended {
        private struct Change {
            var id: Range<Int>
            /// Its names; `nil` where it has none any more.
            var line: Range<Int>?
            var isUnreadable = false
        }

        private var changes: [Change] = []
        /// The place among them, by what an id hashes to.
        private var places: [UInt64: Int] = [:]

        /// - Returns: `nil` where a line is damaged.
        init?(_ bytes: borrowing Span<UInt8>, from start: Int) {
            let newlines = Words.repeating(newline)
            var start = start, offset = start
            while offset < bytes.count {
                let count = min(Words.size, bytes.count - offset)
                let word =
                    count == Words.size
                    ? Words.load(bytes, at: offset) : Words.loadEnd(bytes, at: offset, count: count)
                var ends = Words.places(of: newlines, in: word)
                while ends != 0 {
                    let end = offset + Words.first(ends)
                    guard take(bytes, start..<end) else { return nil }
                    start = end + 1
                    ends &= ends - 1
                }
                offset += Words.size
            }
            // A line that was cut was not written. One that is whole but for its end is one whose end was changed.
            if start < bytes.count, Self.isWhole(bytes, start..<bytes.count - 1) { return nil }
        }

        /// Whether a line, without its end, has the checksum that fits.
        private static func isWhole(_ bytes: borrowing Span<UInt8>, _ line: Range<Int>) -> Bool {
            let end = line.upperBound - Checksum.digits
            guard end > line.lowerBound + 2, bytes[end - 1] == tab else { return false }
            let text = Checksum(bytes, line.lowerBound..<end - 1).text
            for (offset, digit) in text.enumerated() where bytes[end + offset] != digit { return false }
            return true
        }

        /// - Returns: whether it is sound.
        private mutating func take(_ bytes: borrowing Span<UInt8>, _ whole: Range<Int>) -> Bool {
            guard Self.isWhole(bytes, whole), bytes[whole.lowerBound + 1] == tab else { return false }
            let line = whole.lowerBound + 2..<whole.upperBound - Checksum.digits - 1
            var change = Change(id: line.lowerBound..<idEnd(bytes, line))
            switch bytes[whole.lowerBound] {
            case UInt8(ascii: "+"): change.line = line
            case UInt8(ascii: "-"): break
            case UInt8(ascii: "!"): change.isUnreadable = true
            default: return false
            }
            let hash = Checksum(bytes, change.id).number
            guard let place = places[hash] else {
                places[hash] = changes.count
                changes.append(change)
                return true
            }
            guard same(bytes, changes[place].id, change.id) else { return false }
            changes[place] = change
            return true
        }

        /// The lines with what was appended in their places, new ones behind them.
        ///
        /// - Returns: `nil` where two ids cannot be told apart by their checksums.
        func merged(
            into part: CompactPart, _ bytes: borrowing Span<UInt8>
        ) -> (lines: [Range<Int>], unreadable: [Range<Int>])? {
            var isDone = [Bool](repeating: false, count: changes.count)
            var lines: [Range<Int>] = []
            lines.reserveCapacity(part.lines.count + changes.count)
            for line in part.lines {
                let id = line.lowerBound..<idEnd(bytes, line)
                guard let place = places[Checksum(bytes, id).number] else {
                    lines.append(line)
                    continue
                }
                guard same(bytes, changes[place].id, id) else { return nil }
                if let line = changes[place].line { lines.append(line) }
                isDone[place] = true
            }
            var unreadable: [Range<Int>] = []
            for id in part.unreadable where places[Checksum(bytes, id).number] == nil { unreadable.append(id) }
            for (place, change) in changes.enumerated() {
                if let line = change.line, !isDone[place] { lines.append(line) }
                if change.isUnreadable { unreadable.append(change.id) }
            }
            return (lines, unreadable)
        }
    }

    /// The size of the first line.
    private static let headSize = mark.count + digits + 1 + Checksum.digits + 1

    /// How many bytes of a file have each account once; `nil` where its beginning is not that of an index.
    public static func compactedSize(_ head: [UInt8]) -> Int? {
        guard head.count >= headSize, head.starts(with: mark), head[headSize - 1] == newline,
            head[mark.count + digits] == UInt8(ascii: " "),
            let size = Int(String(decoding: head[mark.count..<mark.count + digits], as: UTF8.self)),
            size >= headSize
        else { return nil }
        return size
    }

    /// How many bytes ``compactedSize(_:)`` has to see.
    public static var shownSize: Int { headSize }

    /// The file of these accounts.
    public static func file(_ entries: [Entry], unreadable: [String] = []) -> [UInt8] {
        var body: [UInt8] = []
        for entry in entries { body += sign(UInt8(ascii: "+"), fields(entry)) }
        for id in unreadable { body += sign(UInt8(ascii: "!"), Array(id.utf8)) }
        return file(body)
    }

    /// The file that has each account once, in the same order.
    public var compacted: [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(bytes.count)
        for line in lines { body += Self.sign(UInt8(ascii: "+"), bytes[line]) }
        for id in unreadable { body += Self.sign(UInt8(ascii: "!"), Array(id.utf8)) }
        return Self.file(body)
    }

    private static func sign(_ sign: UInt8, _ fields: some Collection<UInt8>) -> [UInt8] {
        [sign, tab] + fields + [newline]
    }

    private static func file(_ body: [UInt8]) -> [UInt8] {
        let size = String(headSize + body.count)
        let zeros = String(repeating: "0", count: max(0, digits - size.utf8.count))
        var sum = Checksum(seed: UInt64(headSize + body.count))
        sum.add(body.span, 0..<body.count)
        return mark + Array((zeros + size + " ").utf8) + sum.text + [newline] + body
    }

    /// The line of an account, to be appended.
    public static func line(_ entry: Entry) -> [UInt8] { closed([UInt8(ascii: "+"), tab] + fields(entry)) }

    /// The line of an account that is gone, to be appended.
    public static func removal(_ id: String) -> [UInt8] { closed([UInt8(ascii: "-"), tab] + Array(id.utf8)) }

    private static func fields(_ entry: Entry) -> [UInt8] {
        var line = Array(entry.id.utf8)
        let fields = [
            entry.type, entry.registration.provider, entry.registration.clientID, entry.subject,
            entry.username ?? "", entry.displayName ?? "", entry.label ?? "",
            entry.chosenAt.map { String($0.epochSeconds) } ?? "",
        ]
        for field in fields {
            line.append(tab)
            line += escaped(field)
        }
        return line
    }

    /// A line with its checksum and its end.
    private static func closed(_ line: [UInt8]) -> [UInt8] {
        line + [tab] + Checksum(line.span, 0..<line.count).text + [newline]
    }

    private static func escaped(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case tab: bytes += [backslash, UInt8(ascii: "t")]
            case newline: bytes += [backslash, UInt8(ascii: "n")]
            case backslash: bytes += [backslash, backslash]
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(backslash) else { return String(decoding: bytes, as: UTF8.self) }
        var text: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            if isEscaped {
                text.append(byte == UInt8(ascii: "t") ? tab : byte == UInt8(ascii: "n") ? newline : byte)
                isEscaped = false
            } else if byte == backslash {
                isEscaped = true
            } else {
                text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func idEnd(_ bytes: borrowing Span<UInt8>, _ line: Range<Int>) -> Int {
        var end = line.lowerBound
        while end < line.upperBound, bytes[end] != tab { end += 1 }
        return end
    }

    private static func same(_ bytes: borrowing Span<UInt8>, _ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count else { return false }
        for offset in 0..<left.count
        where bytes[left.lowerBound + offset] != bytes[right.lowerBound + offset] { return false }
        return true
    }

    // MARK: Names

    /// How many accounts it names.
    public var count: Int { lines.count }

    /// Every account.
    public var entries: [Entry] { lines.map(entry) }

    /// The ids in the order the accounts were added, those whose records cannot be read at the end.
    public var inOrder: [String] {
        var ids: [String] = []
        ids.reserveCapacity(lines.count + unreadable.count)
        for line in lines {
            let end = Self.idEnd(bytes.span, line)
            ids.append(String(decoding: bytes[line.lowerBound..<end], as: UTF8.self))
        }
        return ids + unreadable
    }

    /// The ids of the accounts, those whose records cannot be read included, sorted.
    public var ids: [String] { inOrder.sorted() }

    /// Which ids there are, those whose records cannot be read included.
    public var idSum: NameSum {
        var sum = NameSum()
        let span = bytes.span
        for line in lines { sum.add(span, line.lowerBound..<Self.idEnd(span, line)) }
        for id in unreadable {
            let name = Array(id.utf8)
            sum.add(name.span)
        }
        return sum
    }

    /// The accounts of a registration; all for `nil`.
    public func entries(of registration: Registration?) -> [Entry] { lines(of: registration).map(entry) }

    /// The account with this id.
    public func entry(_ id: String) -> Entry? {
        let wanted = Array(id.utf8) + [Self.tab]
        for line in lines where starts(wanted, at: line.lowerBound) { return entry(line) }
        return nil
    }

    /// The accounts of a registration whose subject this is.
    public func entries(of registration: Registration, subject: String) -> [Entry] {
        lines(of: registration, followedBy: Self.escaped(subject)).map(entry)
    }

    /// The account that was made the default of a registration last.
    public func chosen(of registration: Registration) -> Entry? {
        let wanted = Self.fields(of: registration)
        var newest: (at: Int64, line: Range<Int>)?
        // Few have such a time.
        for line in lines where !line.isEmpty && bytes[line.upperBound - 1] != Self.tab {
            var start = line.upperBound
            while start > line.lowerBound, bytes[start - 1] != Self.tab { start -= 1 }
            guard let at = Int64(String(decoding: bytes[start..<line.upperBound], as: UTF8.self)),
                isOf(wanted, line)
            else { continue }
            if at >= newest?.at ?? .min { newest = (at, line) }
        }
        return newest.map { entry($0.line) }
    }

    /// The account that is taken where none is named: the only one, else the one that was chosen. While a record cannot
    /// be read, it is not known that one is the only one.
    public func defaultEntry(of registration: Registration) -> Entry? {
        let lines = lines(of: registration)
        return lines.count == 1 && unreadable.isEmpty ? entry(lines[0]) : chosen(of: registration)
    }

    /// How many accounts a registration has; all for `nil`.
    public func count(of registration: Registration?) -> Int { lines(of: registration).count }

    /// The account that stands first.
    public var first: Entry? { lines.first.map(entry) }

    /// Whether every account was signed in under this type.
    public func areAll(ofType type: String) -> Bool {
        let wanted = Self.escaped(type) + [Self.tab]
        for line in lines where !starts(wanted, at: Self.idEnd(bytes.span, line) + 1) { return false }
        return true
    }

    /// The accounts that a name fits: by id, else by label, else by username, else by subject, else by the beginning of
    /// an id.
    public func matches(for name: String, of registration: Registration?) -> [Entry] {
        let plain = Array(name.utf8)
        let field = [Self.tab] + Self.escaped(name) + [Self.tab]
        var byID: [Range<Int>] = [], byName: [Range<Int>] = [], byPrefix: [Range<Int>] = []
        let span = bytes.span
        for line in lines {
            if starts(plain, at: line.lowerBound) {
                let end = line.lowerBound + plain.count
                if end == line.upperBound || end < line.upperBound && span[end] == Self.tab { byID.append(line) }
                byPrefix.append(line)
            }
            if field.count > 2, Self.hasName(span, field, line) { byName.append(line) }
        }
        let wanted = registration.map(Self.fields)
        func of(_ lines: [Range<Int>]) -> [Entry] {
            lines.filter { line in wanted.map { isOf($0, line) } ?? true }.map(entry)
        }
        let ids = of(byID)
        if !ids.isEmpty { return ids }
        let names = of(byName)
        return !names.isEmpty || plain.count < AccountSelection.shortestPrefix ? names : of(byPrefix)
    }

    /// Whether the subject, the username or the label of a line is this, which stands between two tabs.
    private static func hasName(_ bytes: borrowing Span<UInt8>, _ field: [UInt8], _ line: Range<Int>) -> Bool {
        let last = field.count - 1
        let tabs = Words.repeating(tab)
        var offset = line.lowerBound
        // Where there is a tab, and another as far from it as the name is long.
        while offset + last < line.upperBound {
            let first: UInt64, second: UInt64
            if offset + last + Words.size <= bytes.count {
                (first, second) = (Words.load(bytes, at: offset), Words.load(bytes, at: offset + last))
            } else {
                let count = bytes.count - offset - last
                first = Words.loadEnd(bytes, at: offset, count: count)
                second = Words.loadEnd(bytes, at: offset + last, count: count)
            }
            var places = Words.places(of: tabs, in: first) & Words.places(of: tabs, in: second)
            while places != 0 {
                let start = offset + Words.first(places)
                // Beyond the line it is another's.
                if start + last < line.upperBound, isName(bytes, field, line, at: start) { return true }
                places &= places - 1
            }
            offset += Words.size
        }
        return false
    }

    private static func isName(
        _ bytes: borrowing Span<UInt8>, _ field: [UInt8], _ line: Range<Int>, at start: Int
    ) -> Bool {
        for offset in field.indices where bytes[start + offset] != field[offset] { return false }
        // The fields: id, type, provider, client, subject, username, name, label, time.
        var number = 1
        for offset in line.lowerBound..<start where bytes[offset] == tab { number += 1 }
        return number == 4 || number == 5 || number == 7
    }

    private func starts(_ wanted: [UInt8], at start: Int) -> Bool {
        guard start + wanted.count <= bytes.count else { return false }
        for offset in 0..<wanted.count where bytes[start + offset] != wanted[offset] { return false }
        return true
    }

    /// The fields of a registration with the tab behind them.
    private static func fields(of registration: Registration) -> [UInt8] {
        escaped(registration.provider) + [tab] + escaped(registration.clientID) + [tab]
    }

    /// Whether a line is one of a registration, which is given by its fields.
    private func isOf(_ wanted: [UInt8], _ line: Range<Int>) -> Bool {
        var start = Self.idEnd(bytes.span, line) + 1
        while start < line.upperBound, bytes[start] != Self.tab { start += 1 }
        return starts(wanted, at: start + 1)
    }

    private func lines(of registration: Registration?, followedBy field: [UInt8]? = nil) -> [Range<Int>] {
        guard let registration else { return lines }
        let wanted = Self.fields(of: registration) + (field.map { $0 + [Self.tab] } ?? [])
        return lines.filter { isOf(wanted, $0) }
    }

    private func entry(_ line: Range<Int>) -> Entry {
        let fields = bytes[line].split(separator: Self.tab, omittingEmptySubsequences: false).map(Self.text)
        return Entry(fields)
    }
}

extension AccountIndex.Entry {
    /// What stands in a line: nine fields.
    fileprivate init(_ line: [String]) {
        let fields = line + [String](repeating: "", count: max(0, 9 - line.count))
        id = fields[0]
        type = fields[1]
        registration = Registration(provider: fields[2], clientID: fields[3])
        subject = fields[4]
        username = fields[5].isEmpty ? nil : fields[5]
        displayName = fields[6].isEmpty ? nil : fields[6]
        label = fields[7].isEmpty ? nil : fields[7]
        chosenAt = Int64(fields[8]).map(Instant.init)
    }
}
