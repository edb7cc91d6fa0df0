package import StrictJSON

extension JSONValue {
    /// The kind of this value, for messages: "a string", "an array".
    package var kind: LocalizedMessage {
        switch self {
        case .null: LocalizedMessage(verbatim: "null")
        case .bool: "a boolean"
        case .integer, .decimal: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
