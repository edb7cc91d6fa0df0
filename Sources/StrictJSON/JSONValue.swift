/// A JSON value (RFC 8259) as it stood in the text.
///
/// Numbers keep their meaning exactly: an integer that fits 64 bits is ``integer(_:)``; every other number keeps
/// its text in ``decimal(_:)``, so that no conversion can trap or round before a caller asks for it.
public enum JSONValue: Sendable, Hashable {
    /// The literal `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction or exponent that fits 64 bits.
    case integer(Int64)
    /// Any other number, as written.
    case decimal(String)
    /// A string, its escapes decoded.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; member names are unique.
    case object(JSONObject)

    /// The string, if this is one.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The integer, if this is a number that is one exactly.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .decimal(let text): Double(text).flatMap { Int64(exactly: $0) }
        default: nil
        }
    }

    /// The boolean, if this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements, if this is an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, if this is an object.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Makes an integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Makes a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Makes an object with its members in the order written.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }

    /// Makes a string, or `null` for `nil`.
    public init(_ string: String?) { self = string.map(JSONValue.string) ?? .null }
    /// Makes an integer, or `null` for `nil`.
    public init(_ integer: Int64?) { self = integer.map(JSONValue.integer) ?? .null }
    /// Makes an array of strings.
    public init(_ strings: [String]) { self = .array(strings.map(JSONValue.string)) }
}
