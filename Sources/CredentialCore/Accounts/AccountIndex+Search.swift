/// Finding names.
extension AccountIndex {
    /// The accounts of a registration; all for `nil`. No more than `limit` are looked for.
    public func entries(of registration: ClientIdentity?, atMost limit: Int = .max) -> [Entry] {
        lines(of: registration, atMost: limit).map(entry)
    }

    /// How many accounts a registration has; all for `nil`. No more than `limit` are counted.
    public func count(of registration: ClientIdentity?, atMost limit: Int = .max) -> Int {
        lines(of: registration, atMost: limit).count
    }

    /// The account with this id.
    public func entry(_ id: String) -> Entry? {
        let wanted = Array(id.utf8) + [Self.tab]
        let span = bytes.span
        for line in lines where Self.has(wanted, span, at: line.start) { return entry(line) }
        return nil
    }

    /// The accounts of a registration whose subject this is.
    public func entries(of registration: ClientIdentity, subject: String) -> [Entry] {
        lines(of: registration, followedBy: Self.escaped(subject) + [Self.tab]).map(entry)
    }

    /// The account that was made the default of a registration last.
    public func chosen(of registration: ClientIdentity) -> Entry? {
        let wanted = Self.fields(of: registration)
        let span = bytes.span
        var newest: (at: Int64, line: Line)?
        // Few have such a time.
        for line in lines where line.end > line.start && span[line.end - 1] != Self.tab {
            var start = line.end
            while start > line.start, span[start - 1] != Self.tab { start -= 1 }
            guard let at = Int64(String(decoding: bytes[start..<line.end], as: UTF8.self)),
                Self.isOf(wanted, line, span)
            else { continue }
            if at >= newest?.at ?? .min { newest = (at, line) }
        }
        return newest.map { entry($0.line) }
    }

    /// The account that is used if no account is named: the only one, else the one that was chosen. While a record
    /// cannot be read, it is not known that one is the only one, unless it is known of which registration the other
    /// is.
    public func defaultEntry(of registration: ClientIdentity) -> Entry? {
        let all = withUnreadable
        let lines = all.lines(of: registration, atMost: 2)
        return lines.count == 1 && all.unreadable.isEmpty ? entry(lines[0]) : all.chosen(of: registration)
    }

    /// Whether every account was signed in under this type.
    public func areAll(ofType type: String) -> Bool {
        let wanted = Self.escaped(type) + [Self.tab]
        let span = bytes.span
        for line in lines where !Self.has(wanted, span, at: Self.place(ofTab: 1, in: line, span) + 1) {
            return false
        }
        return true
    }

    // MARK: Names

    /// The accounts that a name fits: by id, else by label, else by username, else by subject, else by the
    /// beginning of an id.
    public func matches(for name: String, of registration: ClientIdentity?) -> [Entry] {
        let word = Self.escaped(name)
        let places = Self.places(of: word, bytes.span)
        if places.isEmpty { return [] }
        let wanted = registration.map(Self.fields)
        var byID: [Line] = [], byName: [Line] = [], byPrefix: [Line] = []
        let span = bytes.span
        for line in lines {
            // Text in a line that another has replaced, or in a checksum, is no name.
            guard places[0] < line.end, places[places.count - 1] >= line.start else { continue }
            var next = places.partition(before: line.start)
            guard next < places.count, places[next] < line.end else { continue }
            if let wanted, !Self.isOf(wanted, line, span) { continue }
            var isNamed = false
            while next < places.count, places[next] < line.end {
                let start = places[next], end = start + word.count
                let isWhole = end == line.end || end < line.end && span[end] == Self.tab
                if start == line.start {
                    if isWhole { byID.append(line) }
                    byPrefix.append(line)
                } else if isWhole, end < line.end {
                    isNamed = isNamed || Self.isName(line, span, at: start)
                }
                next += 1
            }
            if isNamed { byName.append(line) }
        }
        let found =
            !byID.isEmpty
            ? byID : !byName.isEmpty || name.utf8.count < AccountSelection.shortestPrefix ? byName : byPrefix
        return found.map(entry)
    }

    /// Returns the positions of a word behind a tab, and before another tab or at the beginning of a line. A search
    /// of the whole file is a third of the work of a search line by line.
    private static func places(of word: [UInt8], _ bytes: borrowing Span<UInt8>) -> [Int] {
        guard let first = word.first, let last = word.last else { return [] }
        var found: [Int] = []
        // A tab, behind it the first byte, and the last one as far from it as the word is long.
        let body = min(headSize, bytes.count)..<bytes.count
        SWARScan.eachPlace(of: tab, first, last, after: word.count, in: bytes, body) { tab in
            let start = tab + 1, end = start + word.count
            guard has(word, bytes, at: start) else { return }
            // The sign is before the first field of a line, and a line break before that.
            let isFirst = bytes[tab - 2] == UInt8(ascii: "\n")
            if isFirst || end < bytes.count && bytes[end] == Self.tab { found.append(start) }
        }
        return found
    }

    /// Whether the field that begins at `start` is a subject, a username or a label.
    private static func isName(_ line: Line, _ bytes: borrowing Span<UInt8>, at start: Int) -> Bool {
        // The fields: id, type, provider, client, subject, username, name, label, time.
        var number = 0
        for offset in line.start..<start where bytes[offset] == tab { number += 1 }
        return number == 4 || number == 5 || number == 7
    }

    // MARK: Registrations

    /// The fields of a registration with the tab behind them.
    private static func fields(of registration: ClientIdentity) -> [UInt8] {
        escaped(registration.provider) + [tab] + escaped(registration.clientID) + [tab]
    }

    /// Whether a line is one of a registration, which is given by its fields.
    private static func isOf(_ wanted: [UInt8], _ line: Line, _ bytes: borrowing Span<UInt8>) -> Bool {
        has(wanted, bytes, at: place(ofTab: 2, in: line, bytes) + 1)
    }

    private func lines(
        of registration: ClientIdentity?, followedBy fields: [UInt8] = [], atMost limit: Int = .max
    ) -> [Line] {
        guard let registration else { return limit < lines.count ? Array(lines[..<limit]) : lines }
        let wanted = Self.fields(of: registration) + fields
        let span = bytes.span
        var found: [Line] = []
        for line in lines where Self.isOf(wanted, line, span) {
            found.append(line)
            if found.count == limit { break }
        }
        return found
    }

    /// Whether these bytes are at that position.
    static func has(_ wanted: [UInt8], _ bytes: borrowing Span<UInt8>, at start: Int) -> Bool {
        guard start + wanted.count <= bytes.count else { return false }
        let span = wanted.span
        var offset = 0
        while offset + SWARScan.size <= wanted.count {
            if SWARScan.load(span, at: offset) != SWARScan.load(bytes, at: start + offset) { return false }
            offset += SWARScan.size
        }
        while offset < wanted.count {
            if span[offset] != bytes[start + offset] { return false }
            offset += 1
        }
        return true
    }
}

extension [Int] {
    /// Of ascending numbers, the place of the first that is not below `limit`.
    fileprivate func partition(before limit: Int) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < limit { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
