import CredentialCore
import StrictJSON

/// A member of ours, with a plain value, at the beginning of the object in a JSON file of the user's. All other
/// bytes stay as they are, comments included.
struct JSONMember: Sendable, Equatable {
    /// The name of the member.
    let name: String
    /// The value, as JSON text: `"credmgr token --type Work"`.
    let value: String
    /// The value that the record says was written; `nil` for a member that is not known to be ours.
    var written: String?

    private var whole: String { "\n  \(JSONValue.string(name).text()): \(value)" }

    /// The text with the member; one with the same value stays, and an earlier one of ours is replaced.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a text that is not an object, or has the member with another
    ///   value.
    func added(to text: String?) throws(CredentialError) -> String {
        guard let text else { return Self.newFile.open + whole + Self.newFile.close }
        guard !text.allSatisfy(\.isWhitespace) else {
            return Self.blankFile.open + whole + Self.blankFile.close + text
        }
        guard let object = Self.object(text), let file = JSONEntries(ofFile: text) else {
            throw CredentialError(.configuration, "the file is not a JSON object")
        }
        guard let there = object[name] else {
            return text[..<file.start] + whole + (object.isEmpty ? "" : ",") + text[file.start...]
        }
        if there == parsed(value) { return text }
        if isOurs(there), let place = place(in: file) {
            let range = file.ranges[place]
            let member = "\(JSONValue.string(name).text()): \(value)"
            return text[..<range.lowerBound] + member + text[range.upperBound...]
        }
        throw CredentialError(.configuration, "key '\(name)' has another value")
    }

    /// The text without the member; `nil` if the member is missing, or is no longer ours.
    func removed(from text: String) -> ManagedBlock.Remainder? {
        guard let there = Self.object(text)?[name], isOurs(there), let file = JSONEntries(ofFile: text),
            let place = place(in: file)
        else { return nil }
        let rest = file.without(place)
        if rest == Self.newFile.open + Self.newFile.close { return .init(text: "", isFileOurs: true) }
        let blank = Self.blankFile.open + Self.blankFile.close
        if rest.hasPrefix(blank), rest.dropFirst(blank.count).allSatisfy(\.isWhitespace) {
            return .init(text: String(rest.dropFirst(blank.count)), isFileOurs: false)
        }
        return .init(text: rest, isFileOurs: false)
    }

    /// The member as it is there already, unless an earlier setup wrote it.
    func rival(in text: String) -> ConflictingEntry? {
        guard let there = Self.object(text)?[name], let file = JSONEntries(ofFile: text),
            let place = place(in: file), !isOurs(there)
        else { return nil }
        let range = file.ranges[place]
        let line = text[..<range.lowerBound].utf8.count { $0 == 0x0A } + 1
        return ConflictingEntry(line: line, text: String(text[range]), isSame: there == parsed(value))
    }

    private func isOurs(_ there: JSONValue) -> Bool { written.flatMap(parsed) == there }

    private func parsed(_ value: String) -> JSONValue? {
        (try? JSONValue.parse("[\(value)]"))?.array?.first
    }

    private func place(in file: JSONEntries) -> Int? {
        file.ranges.firstIndex { file.value(of: $0)?.object?[name] != nil }
    }

    private static func object(_ text: String) -> JSONObject? {
        (try? JSONValue.parse(Array(text.utf8), dialect: .commented))?.object
    }

    /// The object of a file that was not there, and of one that was blank, told apart by their blanks.
    private static let newFile = (open: "{", close: "\n }\n"), blankFile = (open: "{", close: "\n  }")
}
