/// The names of a group's accounts, by which one is found without reading the records: short lines, scanned as bytes.
///
/// A line is a sign and fields with tabs between them: `+` an account, in place of what an earlier line says of it; `-`
/// one that is gone; `!` one whose record cannot be read. The last field is a checksum of the others: who is meant must not
/// hang on a byte that a disk has lost. The first line tells the form and how many bytes of the file have each account once;
/// what was appended since stands behind them.
public struct AccountIndex: Sendable {
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
    private static let mark = Array("credmgr-index 2 ".utf8)
    /// The digits of the number in the first line.
    private static let digits = 12
    private static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")
    private static let backslash = UInt8(ascii: "\\")
    private static let fieldCount = 9

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

    /// Reads the file; `nil` where it is damaged or of another form, or an id is none. A last line that was cut counts as not written.
    public init?(_ file: [UInt8]) {
        guard file.count > Self.mark.count + Self.digits, file.starts(with: Self.mark),
            let compacted = Self.compactedSize(file), compacted <= file.count
        else { return nil }
        var lines: [Range<Int>] = []
        var unreadable: [Range<Int>] = []
        var places: [UInt64: Int] = [:]
        var hasTail = false
        var start = Self.headSize
        var tabs = 0
        var index = start
        var sum = Checksum()
        var beforeTab = (sum: sum, index: start)
        while index < file.count {
            let byte = file[index]
            guard byte == Self.newline else {
                if byte == Self.tab {
                    tabs += 1
                    beforeTab = (sum, index)
                }
                sum.add(byte)
                index += 1
                continue
            }
            guard beforeTab.index > start + 2, file[start + 1] == Self.tab,
                beforeTab.sum.text.elementsEqual(file[beforeTab.index + 1..<index])
            else { return nil }
            let line = start + 2..<beforeTab.index
            guard Self.isID(file[line.lowerBound..<Self.idEnd(file, line)]) else { return nil }
            if start >= compacted, !hasTail {
                hasTail = true
                for (place, line) in lines.enumerated() { places[Self.hash(file, line)] = place }
            }
            switch file[start] {
            case UInt8(ascii: "+") where tabs == Self.fieldCount + 1:
                if hasTail {
                    let hash = Self.hash(file, line)
                    if let place = places[hash] {
                        guard lines[place].isEmpty || Self.sameID(file, lines[place], line) else {
                            return nil
                        }
                        lines[place] = line
                    } else {
                        places[hash] = lines.count
                        lines.append(line)
                    }
                } else {
                    lines.append(line)
                }
                unreadable.removeAll { Self.sameID(file, $0, line) }
            case UInt8(ascii: "-") where tabs == 2, UInt8(ascii: "!") where tabs == 2:
                if hasTail, let place = places.removeValue(forKey: Self.hash(file, line)) {
                    guard lines[place].isEmpty || Self.sameID(file, lines[place], line) else { return nil }
                    lines[place] = 0..<0
                }
                unreadable.removeAll { Self.sameID(file, $0, line) }
                if file[start] == UInt8(ascii: "!") { unreadable.append(line) }
            default: return nil
            }
            index += 1
            start = index
            tabs = 0
            sum = Checksum()
            beforeTab = (sum, start)
        }
        // Only what is being appended may be without its end.
        guard start >= compacted else { return nil }
        bytes = file
        self.lines = hasTail ? lines.filter { !$0.isEmpty } : lines
        self.unreadable = unreadable.map { String(decoding: file[$0], as: UTF8.self) }
    }

    /// The size of the first line.
    private static let headSize = mark.count + digits + 1

    /// How many bytes of a file have each account once; `nil` where its beginning is not that of an index.
    public static func compactedSize(_ head: [UInt8]) -> Int? {
        guard head.count >= headSize, head.starts(with: mark), head[headSize - 1] == newline else { return nil }
        return Int(String(decoding: head[mark.count..<headSize - 1], as: UTF8.self))
    }

    /// How many bytes ``compactedSize(_:)`` has to see.
    public static var shownSize: Int { headSize }

    /// The file of these accounts.
    public static func file(_ entries: [Entry], unreadable: [String] = []) -> [UInt8] {
        var body: [UInt8] = []
        for entry in entries { body += line(entry) }
        for id in unreadable { body += closed(Array("!\t\(id)".utf8)) }
        let size = String(headSize + body.count)
        let zeros = String(repeating: "0", count: max(0, digits - size.utf8.count))
        return mark + Array((zeros + size).utf8) + [newline] + body
    }

    /// The line of an account.
    public static func line(_ entry: Entry) -> [UInt8] {
        var line = Array("+\t\(entry.id)".utf8)
        let fields = [
            entry.type, entry.registration.provider, entry.registration.clientID, entry.subject,
            entry.username ?? "", entry.displayName ?? "", entry.label ?? "",
            entry.chosenAt.map { String($0.epochSeconds) } ?? "",
        ]
        for field in fields {
            line.append(tab)
            line += escaped(field)
        }
        return closed(line)
    }

    /// The line of an account that is gone.
    public static func removal(_ id: String) -> [UInt8] { closed(Array("-\t\(id)".utf8)) }

    /// A line with its checksum and its end.
    private static func closed(_ line: [UInt8]) -> [UInt8] {
        var sum = Checksum()
        for byte in line { sum.add(byte) }
        return line + [tab] + sum.text + [newline]
    }

    /// A checksum against accidents: FNV-1a, folded to 32 bits, as eight digits.
    private struct Checksum {
        private var state: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }

        var text: [UInt8] {
            let folded = UInt32(truncatingIfNeeded: state ^ (state >> 32))
            let digits = Array("0123456789abcdef".utf8)
            return (0..<8).map { digits[Int(folded >> UInt32(28 - 4 * $0)) & 15] }
        }
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

    private static func idEnd(_ file: [UInt8], _ line: Range<Int>) -> Int {
        var end = line.lowerBound
        while end < line.upperBound, file[end] != tab { end += 1 }
        return end
    }

    /// Whether these bytes can be an account's id, which is the name of a file, too.
    private static func isID(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
    }

    private static func hash(_ file: [UInt8], _ line: Range<Int>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for index in line.lowerBound..<idEnd(file, line) { hash = (hash ^ UInt64(file[index])) &* 0x100_0000_01b3 }
        return hash
    }

    private static func sameID(_ file: [UInt8], _ left: Range<Int>, _ right: Range<Int>) -> Bool {
        file[left.lowerBound..<idEnd(file, left)].elementsEqual(file[right.lowerBound..<idEnd(file, right)])
    }

    // MARK: Names

    /// How many accounts it names.
    public var count: Int { lines.count }

    /// Every account.
    public var entries: [Entry] { lines.map(entry) }

    /// The ids in the order the accounts were added, those whose records cannot be read at the end.
    public var inOrder: [String] {
        lines.map { String(decoding: bytes[$0.lowerBound..<Self.idEnd(bytes, $0)], as: UTF8.self) } + unreadable
    }

    /// The ids of the accounts, those whose records cannot be read included, sorted.
    public var ids: [String] { inOrder.sorted() }

    /// The accounts of a registration; all for `nil`.
    public func entries(of registration: Registration?) -> [Entry] { lines(of: registration).map(entry) }

    /// The account with this id.
    public func entry(_ id: String) -> Entry? {
        let wanted = Array(id.utf8)
        return lines.first { bytes[$0.lowerBound..<Self.idEnd(bytes, $0)].elementsEqual(wanted) }.map(entry)
    }

    /// The accounts of a registration whose subject this is.
    public func entries(of registration: Registration, subject: String) -> [Entry] {
        let wanted = Self.escaped(subject)
        return lines(of: registration, followedBy: wanted).map(entry)
    }

    /// The account that was made the default of a registration last.
    public func chosen(of registration: Registration) -> Entry? {
        var newest: (at: Int64, line: Range<Int>)?
        for line in lines(of: registration) {
            var start = line.upperBound
            while bytes[start - 1] != Self.tab { start -= 1 }
            guard start < line.upperBound,
                let at = Int64(String(decoding: bytes[start..<line.upperBound], as: UTF8.self))
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
        let wanted = Self.escaped(type)
        return lines.allSatisfy { line in
            let start = Self.idEnd(bytes, line) + 1
            return starts(wanted, at: start) && bytes[start + wanted.count] == Self.tab
        }
    }

    /// The accounts that a name fits: by id, else by label, else by username, else by subject, else by the beginning of
    /// an id.
    public func matches(for name: String, of registration: Registration?) -> [Entry] {
        let lines = lines(of: registration)
        let plain = Array(name.utf8)
        let byID = lines.filter { bytes[$0.lowerBound..<Self.idEnd(bytes, $0)].elementsEqual(plain) }
        if !byID.isEmpty { return byID.map(entry) }
        let wanted = Self.escaped(name)
        let byName = lines.filter { hasName(wanted, $0) }
        if !byName.isEmpty || plain.count < AccountSelection.shortestPrefix { return byName.map(entry) }
        return lines.filter { starts(plain, at: $0.lowerBound) }.map(entry)
    }

    /// Whether the subject, the username or the label of a line is this.
    private func hasName(_ wanted: [UInt8], _ line: Range<Int>) -> Bool {
        guard !wanted.isEmpty else { return false }
        var field = 0
        var start = line.lowerBound
        var index = start
        while index <= line.upperBound {
            if index == line.upperBound || bytes[index] == Self.tab {
                // The fields: id, type, provider, client, subject, username, name, label, time.
                if field == 4 || field == 5 || field == 7, index - start == wanted.count,
                    starts(wanted, at: start)
                {
                    return true
                }
                field += 1
                start = index + 1
            }
            index += 1
        }
        return false
    }

    private func starts(_ wanted: [UInt8], at start: Int) -> Bool {
        guard start + wanted.count <= bytes.count else { return false }
        for offset in 0..<wanted.count where bytes[start + offset] != wanted[offset] { return false }
        return true
    }

    private func lines(of registration: Registration?, followedBy field: [UInt8]? = nil) -> [Range<Int>] {
        guard let registration else { return lines }
        var wanted =
            Self.escaped(registration.provider) + [Self.tab] + Self.escaped(registration.clientID) + [Self.tab]
        if let field { wanted += field + [Self.tab] }
        return lines.filter { line in
            var start = Self.idEnd(bytes, line) + 1
            while start < line.upperBound, bytes[start] != Self.tab { start += 1 }
            return starts(wanted, at: start + 1)
        }
    }

    private func entry(_ line: Range<Int>) -> Entry {
        let fields = bytes[line].split(separator: Self.tab, omittingEmptySubsequences: false).map(Self.text)
        return Entry(fields)
    }
}

extension AccountIndex.Entry {
    /// Nine fields, as ``AccountIndex`` has counted them.
    fileprivate init(_ fields: [String]) {
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
