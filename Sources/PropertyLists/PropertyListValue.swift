package import CredentialCore

/// A value of a property list, Apple's format for settings.
package enum PropertyListValue: Sendable, Hashable {
    /// A string.
    case string(String)
    /// An integer that fits 64 bits.
    case integer(Int64)
    /// A real number, as written.
    case real(String)
    /// A boolean.
    case boolean(Bool)
    /// A date, as RFC 3339 in UTC.
    case date(String)
    /// Bytes.
    case data([UInt8])
    /// An array.
    case array([PropertyListValue])
    /// A dictionary.
    case dictionary(PropertyListDictionary)

    /// The string, if this is one.
    package var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The boolean, if this is one.
    package var boolean: Bool? {
        if case .boolean(let value) = self { value } else { nil }
    }

    /// The elements, if this is an array.
    package var array: [PropertyListValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The entries, if this is a dictionary.
    package var dictionary: PropertyListDictionary? {
        if case .dictionary(let value) = self { value } else { nil }
    }

    /// The kind of this value, in words for messages: "a string", "an array".
    package var kindDescription: LocalizedMessage {
        switch self {
        case .string: "a string"
        case .integer, .real: "a number"
        case .boolean: "a boolean"
        case .date: "a date"
        case .data: "data"
        case .array: "an array"
        case .dictionary: "a dictionary"
        }
    }
}

/// The entries of a dictionary: unique keys in the order they were written, each with its line.
package struct PropertyListDictionary: Sendable, Hashable {
    /// One key and its value.
    package struct Entry: Sendable, Hashable {
        /// The key.
        package let key: String
        /// The value.
        package let value: PropertyListValue
        /// The line of the key, counted from 1; `nil` in forms without lines.
        package let line: Int?
    }

    /// The entries, in order.
    package private(set) var entries: [Entry] = []
    private var places: [String: Int] = [:]

    /// Makes an empty dictionary.
    package init() {}

    /// The entry of `key`.
    package subscript(key: String) -> Entry? { places[key].map { entries[$0] } }

    /// Adds an entry unless its key is taken.
    ///
    /// - Returns: whether it was added.
    mutating func insert(_ entry: Entry) -> Bool {
        guard places[entry.key] == nil else { return false }
        places[entry.key] = entries.count
        entries.append(entry)
        return true
    }
}
