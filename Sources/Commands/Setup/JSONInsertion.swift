import CredentialCore
import StrictJSON

/// An entry of ours at the beginning of an object or array that is a member of a JSON file of the user's. All other bytes
/// stay as they are, comments included.
struct JSONInsertion: Sendable, Equatable {
    /// The member of the file's object.
    let member: String
    /// Whether it is an array; else an object.
    let isArray: Bool
    /// The entry: `"registry.example.com": "credmgr"`.
    let entry: String

    private var brackets: (open: String, close: String) { isArray ? ("[", "]") : ("{", "}") }
    private var alone: String { "\n    \(entry)\n  " }
    private var first: String { "\n    \(entry)," }
    private var whole: String { "\n  \"\(member)\": \(brackets.open)\(alone)\(brackets.close)" }

    /// The text with the entry.
    ///
    /// - Throws: ``ErrorCode/configuration`` for what is no object, or has something else at the member.
    func added(to text: String?) throws(CredentialError) -> String {
        guard let text else { return Self.newFile.open + whole + Self.newFile.close }
        // What was blank comes behind the object.
        guard !text.allSatisfy(\.isWhitespace) else {
            return Self.blankFile.open + whole + Self.blankFile.close + text
        }
        if removed(from: text) != nil { return text }
        guard let value = try? JSONValue.parse(Array(text.utf8), dialect: .commented), let object = value.object,
            let start = Self.value(of: nil, in: text)
        else { throw CredentialError(.configuration, "the file is not a JSON object") }
        guard let known = object[member] else {
            let comma = object.isEmpty ? "" : ","
            return text[..<start] + whole + comma + text[start...]
        }
        guard isArray ? known.array != nil : known.object != nil, let place = Self.value(of: member, in: text)
        else {
            throw CredentialError(.configuration, "key '\(member)' is not what it should be")
        }
        let isEmpty = known.array?.isEmpty ?? known.object?.isEmpty ?? true
        return text[..<place] + (isEmpty ? alone : first) + text[place...]
    }

    /// The text without the entry; `nil` where it is not there as it was written.
    func removed(from text: String) -> ManagedBlock.Remainder? {
        for piece in [whole + ",", whole, first, alone] {
            guard let place = text.range(ofBytes: piece) else { continue }
            let rest = String(text[..<place.lowerBound] + text[place.upperBound...])
            if rest == Self.newFile.open + Self.newFile.close { return .init(text: "", isFileOurs: true) }
            let blank = Self.blankFile.open + Self.blankFile.close
            if rest.hasPrefix(blank), rest.dropFirst(blank.count).allSatisfy(\.isWhitespace) {
                return .init(text: String(rest.dropFirst(blank.count)), isFileOurs: false)
            }
            return .init(text: rest, isFileOurs: false)
        }
        return nil
    }

    /// The object of a file that was not there, and of one that was blank: what nobody writes by hand tells them apart.
    private static let newFile = (open: "{", close: "\n }\n"), blankFile = (open: "{", close: "\n  }")

    /// The place behind the bracket of the file's object, or of a member's value.
    private static func value(of member: String?, in text: String) -> String.Index? {
        let bytes = text.utf8
        var place = bytes.startIndex, depth = 0
        var word: String?, key: String?
        while place < bytes.endIndex {
            let next = bytes.index(after: place)
            switch bytes[place] {
            case UInt8(ascii: "/"):
                guard next < bytes.endIndex else { return nil }
                if bytes[next] == UInt8(ascii: "/") {
                    place = bytes[next...].firstIndex(of: 0x0A) ?? bytes.endIndex
                } else {
                    guard let end = text[next...].range(ofBytes: "*/") else { return nil }
                    place = end.upperBound
                }
                continue
            case UInt8(ascii: "\""):
                var end = next
                while end < bytes.endIndex, bytes[end] != UInt8(ascii: "\"") {
                    if bytes[end] == UInt8(ascii: "\\") { end = bytes.index(after: end) }
                    if end < bytes.endIndex { end = bytes.index(after: end) }
                }
                guard end < bytes.endIndex else { return nil }
                word = String(text[next..<end])
                place = bytes.index(after: end)
                continue
            case UInt8(ascii: ":"): key = word
            case UInt8(ascii: ","): key = nil
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if member == nil && depth == 1 || depth == 2 && key != nil && key == member { return next }
                if depth > 1 { key = nil }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                key = nil
            default: break
            }
            place = next
        }
        return nil
    }
}

extension StringProtocol {
    /// The first place of another text, by bytes.
    func range(ofBytes text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].utf8.starts(with: text.utf8) {
                return start..<utf8.index(start, offsetBy: text.utf8.count)
            }
            start = utf8.index(after: start)
        }
        return nil
    }
}
