/// The form of the file.
extension AccountIndex {
    private static let name = "credmgr-index "
    private static let version = 3
    /// The first words of the file.
    private static let mark = Array("\(name)\(version) ".utf8)
    /// The digits of the number in the first line.
    private static let digits = 12
    static let tab = UInt8(ascii: "\t")
    private static let newline = UInt8(ascii: "\n")
    private static let backslash = UInt8(ascii: "\\")

    // MARK: Reading

    /// Whether a newer version of this program wrote a file. No older one replaces it.
    package static func isNewer(_ file: [UInt8]) -> Bool {
        let words = String(decoding: file.prefix(40), as: UTF8.self)
        guard words.hasPrefix(name), let number = Int(words.dropFirst(name.count).prefix { $0.isNumber }) else {
            return false
        }
        return number > version
    }

    /// The lines of the accounts that a file names, and of those whose records cannot be read; `nil` if it is
    /// damaged or of another form.
    static func lines(of file: [UInt8]) -> (lines: [Line], unreadable: [Line])? {
        guard let compacted = compactedSize(file), compacted <= file.count, file.count <= UInt32.max,
            let part = CompactPart(file.span, headSize..<compacted),
            part.sum.isText(file.span, at: headSize - 1 - Checksum.digits)
        else { return nil }
        if compacted == file.count { return (part.lines, part.unreadable) }
        return Appended(file.span, from: compacted)?.merged(into: part, file.span)
    }

    /// The part that has each account once: the positions of its lines, and its checksum.
    private struct CompactPart {
        var lines: [Line] = []
        var unreadable: [Line] = []
        var sum: Checksum

        /// - Returns: `nil` if it does not end with a line, or a line has no sign.
        init?(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) {
            var sum = Checksum(seed: UInt64(range.upperBound))
            var lines: [Line] = [], unreadable: [Line] = []
            lines.reserveCapacity(range.count / 64)
            let rest = AccountIndex.eachLine(bytes, range, word: { sum.add($0) }) { bytes, line in
                guard line.count >= 2, bytes[line.lowerBound + 1] == tab else { return false }
                let text = Line(line.lowerBound + 2..<line.upperBound)
                switch bytes[line.lowerBound] {
                case UInt8(ascii: "+"): lines.append(text)
                case UInt8(ascii: "!"): unreadable.append(text)
                default: return false
                }
                return true
            }
            guard rest == range.upperBound else { return nil }
            (self.lines, self.unreadable, self.sum) = (lines, unreadable, sum)
        }
    }

    /// The part that was appended: the last line of each account that it is about.
    private struct Appended {
        private struct Change {
            var id: Range<Int>
            /// Its names; `nil` if it does not have any more.
            var line: Line?
            var unreadable: Line?
        }

        private var changes: [Change] = []
        /// The place among them, by the hash of an ID.
        private var places: [UInt64: Int] = [:]
        /// The bits that these hashes have set: most other IDs are excluded without a look at the places.
        private var marks = [UInt64](repeating: 0, count: 1 << 7)

        /// - Returns: `nil` if a line is damaged.
        init?(_ bytes: borrowing Span<UInt8>, from start: Int) {
            let range = start..<bytes.count
            let rest = AccountIndex.eachLine(bytes, range, word: { _ in }) { bytes, line in take(bytes, line) }
            guard let rest else { return nil }
            // A line that was cut was not written. One that is whole but for its end is one whose end was changed.
            if rest < bytes.count, Self.isWhole(bytes, rest..<bytes.count - 1) { return nil }
        }

        /// Whether a line, without its end, has the checksum that fits.
        private static func isWhole(_ bytes: borrowing Span<UInt8>, _ line: Range<Int>) -> Bool {
            let end = line.upperBound - Checksum.digits
            guard end > line.lowerBound + 2, bytes[end - 1] == tab else { return false }
            return Checksum(bytes, line.lowerBound..<end - 1).isText(bytes, at: end)
        }

        /// - Returns: whether it is sound.
        private mutating func take(_ bytes: borrowing Span<UInt8>, _ whole: Range<Int>) -> Bool {
            guard Self.isWhole(bytes, whole), bytes[whole.lowerBound + 1] == tab else { return false }
            let line = Line(whole.lowerBound + 2..<whole.upperBound - Checksum.digits - 1)
            var change = Change(id: AccountIndex.id(bytes, line))
            switch bytes[whole.lowerBound] {
            case UInt8(ascii: "+"): change.line = line
            case UInt8(ascii: "-"): break
            case UInt8(ascii: "!"): change.unreadable = line
            default: return false
            }
            let hash = Checksum(bytes, change.id).number
            guard let place = places[hash] else {
                places[hash] = changes.count
                marks[Self.mark(hash).word] |= Self.mark(hash).bit
                changes.append(change)
                return true
            }
            guard same(bytes, changes[place].id, change.id) else { return false }
            changes[place] = change
            return true
        }

        private static func mark(_ hash: UInt64) -> (word: Int, bit: UInt64) { (Int(hash >> 57), 1 << (hash & 63)) }

        /// The lines with the appended ones in their places, new ones behind them.
        ///
        /// - Returns: `nil` if two IDs cannot be told apart by their checksums.
        func merged(
            into part: CompactPart, _ bytes: borrowing Span<UInt8>
        ) -> (lines: [Line], unreadable: [Line])? {
            var isDone = [Bool](repeating: false, count: changes.count)
            var lines: [Line] = []
            lines.reserveCapacity(part.lines.count + changes.count)
            for line in part.lines {
                let id = AccountIndex.id(bytes, line)
                guard let place = place(Checksum(bytes, id).number) else {
                    lines.append(line)
                    continue
                }
                guard same(bytes, changes[place].id, id) else { return nil }
                if let line = changes[place].line { lines.append(line) }
                isDone[place] = true
            }
            var unreadable: [Line] = []
            for line in part.unreadable where place(Checksum(bytes, AccountIndex.id(bytes, line)).number) == nil {
                unreadable.append(line)
            }
            for (place, change) in changes.enumerated() {
                if let line = change.line, !isDone[place] { lines.append(line) }
                if let line = change.unreadable { unreadable.append(line) }
            }
            return (lines, unreadable)
        }

        private func place(_ hash: UInt64) -> Int? {
            let mark = Self.mark(hash)
            return marks[mark.word] & mark.bit == 0 ? nil : places[hash]
        }
    }

    /// Goes through the words of a part of the file, and through the lines that end in it.
    ///
    /// - Parameters:
    ///   - word: is given each word; of the last one the bytes behind the part are zero.
    ///   - line: is given each line, without its end, after the word that it ends in; no further line after one
    ///     that it calls false.
    /// - Returns: the start of an incomplete line; `nil` if a line was called false.
    private static func eachLine(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>, word: (UInt64) -> Void,
        line: (borrowing Span<UInt8>, Range<Int>) -> Bool
    ) -> Int? {
        let newlines = SWARScan.repeating(newline)
        var start = range.lowerBound
        var isSound = true
        SWARScan.each(bytes, range) { now, offset in
            word(now)
            var ends = SWARScan.places(of: newlines, in: now)
            while ends != 0 {
                let end = offset &+ SWARScan.first(ends)
                isSound = isSound && line(bytes, start..<end)
                start = end &+ 1
                ends &= ends &- 1
            }
        }
        return isSound ? start : nil
    }

    /// The size of the first line.
    static let headSize = mark.count + digits + 1 + Checksum.digits + 1

    /// The number of bytes of a file that have each account once; `nil` if its beginning is not that of an index.
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

    // MARK: Writing

    /// The file of these accounts.
    ///
    /// - Parameters:
    ///   - entries: the accounts whose records can be read.
    ///   - unreadable: the ids of the others.
    ///   - known: the names of those, as far as they are known.
    public static func file(
        _ entries: [Entry], unreadable: [String] = [], known: [Entry] = []
    ) -> [UInt8] {
        var body: [UInt8] = []
        for entry in entries { add(UInt8(ascii: "+"), fields(entry), to: &body) }
        for id in unreadable {
            let names = known.first { $0.id == id }
            add(UInt8(ascii: "!"), names.map(fields) ?? Array(id.utf8), to: &body)
        }
        return file(body)
    }

    /// The file that has each account once, in the same order.
    public var compacted: [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(bytes.count)
        for line in lines { Self.add(UInt8(ascii: "+"), bytes[line.range], to: &body) }
        for line in unreadableLines { Self.add(UInt8(ascii: "!"), bytes[line.range], to: &body) }
        return Self.file(body)
    }

    private static func add(_ sign: UInt8, _ fields: some Collection<UInt8>, to body: inout [UInt8]) {
        body.append(sign)
        body.append(tab)
        body += fields
        body.append(newline)
    }

    private static func file(_ body: [UInt8]) -> [UInt8] {
        let size = String(headSize + body.count)
        let zeros = String(repeating: "0", count: max(0, digits - size.utf8.count))
        var sum = Checksum(seed: UInt64(headSize + body.count))
        sum.add(body.span, 0..<body.count)
        return mark + Array((zeros + size + " ").utf8) + sum.text + [newline] + body
    }

    /// Whether it has these names and no others, in this order. It makes no values of the lines, of which there may
    /// be thousands.
    package func isOf(_ accounts: [Account]) -> Bool {
        guard lines.count == accounts.count else { return false }
        let span = bytes.span
        for (line, account) in zip(lines, accounts) where !Self.isLine(span, line, of: account) { return false }
        return true
    }

    /// Whether a line is that which ``fields(_:)`` gives.
    private static func isLine(_ bytes: borrowing Span<UInt8>, _ line: Line, of account: Account) -> Bool {
        var offset = line.start
        func isNext(_ byte: UInt8) -> Bool {
            guard offset < line.end, bytes[offset] == byte else { return false }
            offset += 1
            return true
        }
        func isNext(_ text: String) -> Bool {
            for byte in text.utf8 {
                let letter: UInt8? =
                    switch byte {
                    case tab: UInt8(ascii: "t")
                    case newline: UInt8(ascii: "n")
                    case backslash: backslash
                    default: nil
                    }
                guard letter.map({ isNext(backslash) && isNext($0) }) ?? isNext(byte) else { return false }
            }
            return true
        }
        let registration = account.registration
        let madeDefaultAt = account.madeDefaultAt.map { String($0.epochSeconds) } ?? ""
        return isNext(account.id) && isNext(tab) && isNext(account.type) && isNext(tab)
            && isNext(registration.provider)
            && isNext(tab) && isNext(registration.clientID) && isNext(tab) && isNext(account.subject) && isNext(tab)
            && isNext(account.username ?? "") && isNext(tab) && isNext(account.displayName ?? "") && isNext(tab)
            && isNext(account.label ?? "") && isNext(tab) && isNext(madeDefaultAt) && offset == line.end
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
            entry.madeDefaultAt.map { String($0.epochSeconds) } ?? "",
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

    static func escaped(_ text: String) -> [UInt8] {
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

    // MARK: Fields

    /// An account by its line: nine fields.
    func entry(_ line: Line) -> Entry {
        Entry(bytes[line.range].split(separator: Self.tab, omittingEmptySubsequences: false).map(Self.text))
    }

    /// Returns the position of the id in a line.
    static func id(_ bytes: borrowing Span<UInt8>, _ line: Line) -> Range<Int> {
        line.start..<place(ofTab: 1, in: line, bytes)
    }

    /// Returns the position of the first or second tab in a line; the end of a line that does not have it.
    static func place(ofTab number: Int, in line: Line, _ bytes: borrowing Span<UInt8>) -> Int {
        let tabs = SWARScan.repeating(tab)
        let end = line.end
        var offset = line.start, left = number
        while offset < end {
            var places = SWARScan.places(of: tabs, in: SWARScan.load(bytes, at: offset, before: end))
            while places != 0 {
                left &-= 1
                if left == 0 { return offset &+ SWARScan.first(places) }
                places &= places &- 1
            }
            offset &+= SWARScan.size
        }
        return end
    }

    private static func same(_ bytes: borrowing Span<UInt8>, _ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count else { return false }
        for offset in 0..<left.count
        where bytes[left.lowerBound + offset] != bytes[right.lowerBound + offset] { return false }
        return true
    }
}

extension AccountIndex.Entry {
    /// Makes an entry from a line: nine fields.
    fileprivate init(_ line: [String]) {
        let fields = line + [String](repeating: "", count: max(0, 9 - line.count))
        id = fields[0]
        type = fields[1]
        registration = ClientIdentity(provider: fields[2], clientID: fields[3])
        subject = fields[4]
        username = fields[5].isEmpty ? nil : fields[5]
        displayName = fields[6].isEmpty ? nil : fields[6]
        label = fields[7].isEmpty ? nil : fields[7]
        madeDefaultAt = Int64(fields[8]).map(Timestamp.init)
    }
}
