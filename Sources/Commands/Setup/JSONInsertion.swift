import CredentialCore
import StrictJSON

/// An entry of ours at the beginning of an object or array that is a member of a JSON file of the user's. All other
/// bytes stay as they are, comments included.
struct JSONInsertion: Sendable, Equatable {
    /// The member of the file's object.
    let member: String
    /// Whether it is an array; else an object.
    let isArray: Bool
    /// The entry: `"registry.example.com": "credmgr"`.
    let entry: String
    /// Whether it is known that we wrote it: then it is found however the file was written since.
    var isKnown = false
    /// Whether the member came with an entry of ours.
    var isMemberOurs = true
    /// Whether the user chose the file: an entry of the same words in another file is another setup.
    var isPathChosen = false

    private var brackets: (open: String, close: String) { isArray ? ("[", "]") : ("{", "}") }
    private var alone: String { "\n    \(entry)\n  " }
    private var first: String { "\n    \(entry)," }
    private var whole: String { "\n  \"\(member)\": \(brackets.open)\(alone)\(brackets.close)" }

    /// The text with the entry; one that is there already stays, however it is written.
    ///
    /// - Throws: ``ErrorCode/configuration`` if the text is no object, or has something else at the member.
    func added(to text: String?) throws(CredentialError) -> String {
        guard let text else { return Self.newFile.open + whole + Self.newFile.close }
        // Blank content goes after the object.
        guard !text.allSatisfy(\.isWhitespace) else {
            return Self.blankFile.open + whole + Self.blankFile.close + text
        }
        guard let object = Self.object(text), let file = JSONEntries(ofFile: text) else {
            throw CredentialError(.configuration, "the file is not a JSON object")
        }
        guard let known = object[member] else {
            let comma = object.isEmpty ? "" : ","
            return text[..<file.start] + whole + comma + text[file.start...]
        }
        guard isArray ? known.array != nil : known.object != nil, let inner = entries(of: file) else {
            throw CredentialError(.configuration, "key '\(member)' has the wrong type")
        }
        if rival(in: text)?.isSame == true { return text }
        return text[..<inner.start] + (inner.ranges.isEmpty ? alone : first) + text[inner.start...]
    }

    /// The text without the entry; `nil` if it is not there as it was written, or in no form if it is known to be
    /// ours.
    func removed(from text: String) -> ManagedBlock.Remainder? {
        guard Self.object(text) != nil, let file = JSONEntries(ofFile: text),
            let outer = place(in: file), let inner = JSONEntries(ofMember: file.ranges[outer], in: text),
            let place = inner.ranges.firstIndex(where: { inner.value(of: $0) == value })
        else { return nil }
        guard isKnown || Self.isWritten(inner.ranges[place], as: "\n    \(entry)", in: text) else { return nil }
        guard inner.ranges.count == 1 else { return .init(text: inner.without(place), isFileOurs: false) }
        guard isMemberOurs, isKnown || Self.isWritten(file.ranges[outer], as: whole, in: text) else {
            // The blanks behind the entry are ours if the member was empty before.
            let isAlone = text[inner.start...].utf8.starts(with: alone.utf8)
            let end = text.utf8.index(inner.start, offsetBy: isAlone ? alone.utf8.count : 0)
            let rest = isAlone ? text[..<inner.start] + text[end...] : inner.without(place)[...]
            return .init(text: String(rest), isFileOurs: false)
        }
        let rest = file.without(outer)
        if rest == Self.newFile.open + Self.newFile.close { return .init(text: "", isFileOurs: true) }
        let blank = Self.blankFile.open + Self.blankFile.close
        if rest.hasPrefix(blank), rest.dropFirst(blank.count).allSatisfy(\.isWhitespace) {
            return .init(text: String(rest.dropFirst(blank.count)), isFileOurs: false)
        }
        return .init(text: rest, isFileOurs: false)
    }

    /// Whether a range and the blanks before it are these bytes.
    private static func isWritten(_ range: Range<String.Index>, as bytes: String, in text: String) -> Bool {
        text[..<range.upperBound].utf8.reversed().starts(with: bytes.utf8.reversed())
    }

    /// Returns an entry that has our key already, or the same value.
    func rival(in text: String) -> ConflictingEntry? {
        guard Self.object(text) != nil, let inner = JSONEntries(ofFile: text).flatMap(entries) else { return nil }
        for range in inner.ranges {
            let other = inner.value(of: range)
            let isSame = other == value
            guard isSame || !isArray && other?.object?.keys == value?.object?.keys else { continue }
            let line = text[..<range.lowerBound].utf8.count { $0 == 0x0A } + 1
            return ConflictingEntry(line: line, text: String(text[range]), isSame: isSame)
        }
        return nil
    }

    private var value: JSONValue? { JSONEntries.value(of: entry, isElement: isArray) }

    /// Whether a text has the member.
    func hasMember(in text: String?) -> Bool { text.flatMap(Self.object)?[member] != nil }

    private static func object(_ text: String) -> JSONObject? {
        (try? JSONValue.parse(Array(text.utf8), dialect: .commented))?.object
    }

    /// The entries of our member.
    private func entries(of file: JSONEntries) -> JSONEntries? {
        place(in: file).flatMap { JSONEntries(ofMember: file.ranges[$0], in: file.text) }
    }

    private func place(in file: JSONEntries) -> Int? {
        file.ranges.firstIndex { file.value(of: $0)?.object?[member] != nil }
    }

    /// The object of a file that was not there, and of one that was blank: a form that no user writes by hand tells
    /// them apart.
    private static let newFile = (open: "{", close: "\n }\n"), blankFile = (open: "{", close: "\n  }")
}
