/// Lines of ours in a text file of the user's, between two marks: found again, never there twice, and taken out so that
/// the rest is as it was, byte for byte.
struct ManagedBlock: Sendable, Equatable {
    /// What it is for: `git git.example.com`.
    let name: String
    /// What begins a comment in such files.
    let comment: String
    /// The section that the lines belong to: `[global]`; they go behind its head, which is written where it is not there.
    var section: String?
    /// The lines.
    let lines: [String]
    /// The first line of what is left of it where the program writes its file anew, without comments: an item of a list in
    /// YAML, with the indented lines that follow.
    var rewritten: String?

    /// A text without the block.
    struct Remainder: Equatable {
        /// The text.
        let text: String
        /// Whether there was no file before the block: then it goes when nothing is left.
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
    /// - Parameter text: `nil` where there is no file yet.
    func added(to text: String?) -> String {
        let old = text.flatMap(removed)
        let isNew = old?.isFileOurs ?? (text == nil), text = old?.text ?? text ?? ""
        let mark = isNew ? Self.newFile : ""
        let begin = "\(comment) \(Self.opening)\(name)\(mark)", end = "\(comment) \(Self.closing)\(name)"
        let body = lines.joined(separator: "\n")
        if let section, let place = Self.line(section, in: text) {
            return text[..<place] + "\(begin)\n\(body)\n\(end)\n" + text[place...]
        }
        let head = section.map { $0 + "\n" } ?? ""
        if text.isEmpty || text.hasSuffix("\n") { return text + "\(begin)\n\(head)\(body)\n\(end)\n" }
        return text + "\n\(begin)\(Self.unended)\n\(head)\(body)\n\(end)\n"
    }

    /// The text without the block; `nil` where there is none.
    func removed(from text: String) -> Remainder? {
        let begin = "\(comment) \(Self.opening)\(name)", end = "\(comment) \(Self.closing)\(name)\n"
        for (mark, isNew) in [
            ("\n\(begin)\(Self.newFile)\(Self.unended)\n", true), ("\(begin)\(Self.newFile)\n", true),
            ("\n\(begin)\(Self.unended)\n", false), ("\(begin)\n", false),
        ] {
            guard let start = text.range(ofBytes: mark), let stop = text[start.upperBound...].range(ofBytes: end)
            else { continue }
            return Remainder(
                text: String(text[..<start.lowerBound] + text[stop.upperBound...]), isFileOurs: isNew)
        }
        return rewritten.flatMap { Self.withoutItem($0, text) }
    }

    /// The text without a line and the indented ones behind it.
    private static func withoutItem(_ first: String, _ text: String) -> Remainder? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0 == first }) else { return nil }
        let end = lines[(start + 1)...].firstIndex { !$0.hasPrefix(" ") } ?? lines.endIndex
        return Remainder(text: (lines[..<start] + lines[end...]).joined(separator: "\n"), isFileOurs: false)
    }

    /// The names of the blocks in a text.
    static func names(in text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            guard let place = line.range(ofBytes: opening) else { return nil }
            var name = line[place.upperBound...]
            for mark in [unended, newFile] where name.hasSuffix(mark) { name = name.dropLast(mark.count) }
            return String(name)
        }
    }

    /// Where the line behind a section's head begins.
    private static func line(_ section: String, in text: String) -> String.Index? {
        var start = text.startIndex
        while start < text.endIndex {
            let end = text[start...].firstIndex(of: "\n") ?? text.endIndex
            let line = text[start..<end]
            // The head of a table may have a comment behind it; a key of YAML may have its value there.
            let isHead =
                section.hasPrefix("[")
                ? line.drop { $0 == " " || $0 == "\t" }.hasPrefix(section) : line == section
            if end < text.endIndex, isHead { return text.index(after: end) }
            start = end < text.endIndex ? text.index(after: end) : end
        }
        return nil
    }
}
