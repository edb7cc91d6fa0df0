/// Lines of ours in a text file of the user's, between two marks: found again, never there twice, and taken out so
/// that the rest is as it was, byte for byte.
struct ManagedBlock: Sendable, Equatable {
    /// The purpose: `git git.example.com`.
    let name: String
    /// The characters that begin a comment in such files.
    let comment: String
    /// The section that the lines belong to: `[global]`; they go behind its head, which is written if it is not
    /// there.
    var section: String?
    /// The lines.
    let lines: [String]
    /// The first line of the remains if the program rewrites its file without comments: an item of a list in YAML,
    /// with the indented lines that follow.
    var rewritten: String?
    /// Our lines as they were written, with a section's head, if that is known. They are distinguished from lines
    /// that came between the marks, and are found without the marks.
    var written: [String]?
    /// The words that begin a line with the same meaning as ours, in the section if there is one: the program does
    /// not accept both.
    var keys: [String] = []
    /// The content of such a line if it still has the wanted effect.
    var sufficient: String?
    /// Whether the text behind a key may be a secret.
    var isSecret = false

    /// A text without the block.
    struct Remainder: Equatable {
        /// The text.
        let text: String
        /// Whether there was no file before the block: then an empty rest means that the file goes.
        let isFileOurs: Bool
    }

    private static let opening = ">>> credmgr setup "
    private static let closing = "<<< credmgr setup "
    /// Says in the first mark that the file did not end with a newline before.
    private static let unended = " (a newline was put before)"
    /// Says in the first mark that there was no file before.
    private static let newFile = " (the file is new)"

    /// The text with the block in it, in place of an older one of that name.
    ///
    /// - Parameter text: `nil` if there is no file yet.
    func added(to text: String?) -> String {
        if let text, isThere(in: text) { return text }
        let old = text.flatMap(removed), text = old?.text ?? text
        var all = SetupLines.split(text ?? "")
        let mark = old?.isFileOurs ?? (text == nil) ? Self.newFile : ""
        let body = body(in: text)
        func block(_ mark: String) -> [Substring] {
            (["\(comment) \(Self.opening)\(name)\(mark)"] + body + ["\(comment) \(Self.closing)\(name)"]).map {
                $0[...]
            }
        }
        if let head = section.flatMap({ SetupLines.head($0, in: all) }) {
            all.insert(contentsOf: block(mark), at: head + 1)
        } else if all.last?.isEmpty == true {
            all.insert(contentsOf: block(mark), at: all.endIndex - 1)
        } else {
            all += block(mark + Self.unended) + [""]
        }
        return all.joined(separator: "\n")
    }

    /// Returns the text between the marks for a file that has no such block yet: the lines, and the section's head
    /// if the file does not have it.
    func body(in text: String?) -> [String] {
        guard let section, SetupLines.head(section, in: SetupLines.split(text ?? "")) == nil else { return lines }
        return [section] + lines
    }

    /// The text without the block; `nil` if there is no block.
    func removed(from text: String) -> Remainder? {
        let all = SetupLines.split(text)
        guard let place = place(in: all) else { return rewritten(all) }
        let inner = all[(place.lowerBound + 1)..<place.upperBound]
        let mark = all[place.lowerBound]
        var before = Array(all[..<place.lowerBound]), behind = Array(all[(place.upperBound + 1)...])
        // Lines that were added between the marks since, or after them and below our head, stay, and keep their
        // head.
        var kept = written.map { own in inner.filter { !own.contains(String(SetupLines.plain($0))) } } ?? []
        if let head = inner.first, SetupLines.isHead(head), SetupLines.isBody(kept + behind) {
            kept.insert(head, at: kept.startIndex)
        }
        if mark.contains(Self.unended), kept.isEmpty {
            if behind == [""] {
                behind = []
            } else if let next = behind.first, Self.isOpening(next), !next.contains(Self.unended) {
                behind[0] = next + Self.unended
            }
        }
        before += kept + behind
        // The next block of ours in the file inherits that it was not there.
        var isFileOurs = mark.contains(Self.newFile)
        if isFileOurs, let heir = before.firstIndex(where: Self.isOpening) {
            isFileOurs = false
            let end = before[heir].hasSuffix(Self.unended) ? Self.unended : ""
            before[heir] = before[heir].dropLast(end.count) + Self.newFile + end
        }
        return Remainder(text: before.joined(separator: "\n"), isFileOurs: isFileOurs)
    }

    /// The names of the blocks in a text.
    static func names(in text: String) -> [String] {
        SetupLines.split(text).compactMap { line in
            line.range(ofBytes: opening).map { String(withoutMarks(SetupLines.plain(line[$0.upperBound...]))) }
        }
    }

    // MARK: What stands in its way

    /// A line by another author that conflicts with ours.
    func rival(in text: String) -> ConflictingEntry? {
        let all = SetupLines.split(text)
        let unmarked = place(in: all) == nil ? self.unmarked(in: all) : nil
        var head: Substring?, isOurs = false
        for (number, line) in all.enumerated() {
            if Self.isOpening(line) { isOurs = all[number...].contains(where: Self.isClosing) }
            if Self.isClosing(line) { isOurs = false }
            if section?.hasPrefix("[") == true, SetupLines.isHead(line) { head = line }
            guard !isOurs, unmarked?.contains(number) != true, let key = key(of: line, below: head) else {
                continue
            }
            let value = SetupLines.squeezed(SetupLines.value(from: number, in: all)[...])
            let isSame =
                value == SetupLines.squeezed(lines.joined()[...])
                || sufficient.map { SetupLines.holds(value, SetupLines.squeezed($0[...])) } == true
            let shown = SetupLines.plain(line).drop { $0 == " " || $0 == "\t" }
            return ConflictingEntry(line: number + 1, text: isSecret ? "\(key)…" : String(shown), isSame: isSame)
        }
        return nil
    }

    /// The key that a line begins with, if it counts as ours: in our section, or with its name before all sections.
    private func key(of line: Substring, below head: Substring?) -> String? {
        if let section, section.hasPrefix("[") {
            guard let head else {
                return keys.first { SetupLines.begins(line, "\(section.dropFirst().dropLast()).\($0)") }
            }
            guard SetupLines.isHead(head, of: section) else { return nil }
        }
        return keys.first { SetupLines.begins(line, $0) }
    }

    // MARK: Where it is

    /// Whether the block is there as it would be written now.
    private func isThere(in text: String) -> Bool {
        let all = SetupLines.split(text)
        guard let place = place(in: all) else { return false }
        let inner = all[(place.lowerBound + 1)..<place.upperBound].map { String(SetupLines.plain($0)) }
        let own = written.map { written in inner.filter(written.contains) } ?? inner
        return own == lines || section.map { own == [$0] + lines } == true
    }

    /// The lines of the two marks.
    private func place(in all: [Substring]) -> ClosedRange<Int>? {
        let begin = "\(comment) \(Self.opening)\(name)", end = "\(comment) \(Self.closing)\(name)"
        guard let first = all.firstIndex(where: { Self.withoutMarks(SetupLines.plain($0)) == begin }),
            let last = all[first...].firstIndex(where: { SetupLines.plain($0) == end })
        else { return nil }
        return first...last
    }

    private static func isOpening(_ line: Substring) -> Bool { line.range(ofBytes: opening) != nil }

    private static func isClosing(_ line: Substring) -> Bool { line.range(ofBytes: closing) != nil }

    private static func withoutMarks(_ line: Substring) -> Substring {
        var line = line
        for mark in [unended, newFile] where line.hasSuffix(mark) { line = line.dropLast(mark.count) }
        return line
    }

    // MARK: What the program has written anew

    private func rewritten(_ all: [Substring]) -> Remainder? {
        if let rewritten { return Self.withoutItem(rewritten, all) }
        guard let place = unmarked(in: all) else { return nil }
        var rest = all
        rest.removeSubrange(place)
        if let head = written?.first, SetupLines.isHead(head[...]),
            let range = SetupLines.section(head, in: rest), !SetupLines.isBody(rest[range])
        {
            rest.remove(at: range.lowerBound - 1)
        }
        let marks = [Self.opening, Self.closing].map { "\(comment) \($0)\(name)" }
        rest.removeAll { marks.contains(String(Self.withoutMarks(SetupLines.plain($0)))) }
        return Remainder(text: rest.joined(separator: "\n"), isFileOurs: false)
    }

    /// Our lines without marks, regardless of blanks between words; only if the manifest says that we wrote them.
    private func unmarked(in all: [Substring]) -> Range<Int>? {
        guard let written else { return nil }
        let head = written.first.flatMap { SetupLines.isHead($0[...]) ? $0 : nil }
        let body = (head == nil ? written : Array(written.dropFirst())).map { SetupLines.squeezed($0[...]) }
        var range = all.indices
        if let section = head ?? section {
            guard let found = SetupLines.section(section, in: all) else { return nil }
            range = found
        }
        guard !body.isEmpty, range.count >= body.count else { return nil }
        return (range.lowerBound...(range.upperBound - body.count)).lazy.map { $0..<($0 + body.count) }
            .first { all[$0].map(SetupLines.squeezed) == body }
    }

    /// The text without a line and the indented ones behind it.
    private static func withoutItem(_ first: String, _ lines: [Substring]) -> Remainder? {
        guard let start = lines.firstIndex(where: { $0 == first }) else { return nil }
        let end = lines[(start + 1)...].firstIndex { !$0.hasPrefix(" ") } ?? lines.endIndex
        return Remainder(text: (lines[..<start] + lines[end...]).joined(separator: "\n"), isFileOurs: false)
    }
}
