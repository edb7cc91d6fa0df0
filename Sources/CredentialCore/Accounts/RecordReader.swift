package import StrictJSON

/// Reads the members of a record of our own and says which of them is damaged.
package struct RecordReader {
    private let json: JSONObject
    private let kind: String

    /// Reads `json`.
    ///
    /// - Parameter kind: the kind of the record, for messages: "account".
    package init(_ json: JSONObject, of kind: String) {
        self.json = json
        self.kind = kind
    }

    /// A member that must be a string.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``, as do all the others.
    package func string(_ name: String) throws(CredentialError) -> String {
        guard case .string(let value) = json[name] else { throw damage(name) }
        return value
    }

    /// A member that is a string, or absent or `null`.
    package func optionalString(_ name: String) throws(CredentialError) -> String? {
        switch json[name] {
        case nil, .null: nil
        case .string(let value): value
        default: throw damage(name)
        }
    }

    /// A member that must be an array of strings.
    package func strings(_ name: String) throws(CredentialError) -> [String] {
        guard case .array(let elements) = json[name] else { throw damage(name) }
        var strings: [String] = []
        strings.reserveCapacity(elements.count)
        for element in elements {
            guard case .string(let value) = element else { throw damage(name) }
            strings.append(value)
        }
        return strings
    }

    /// A member that must be a time in seconds since the epoch.
    package func instant(_ name: String) throws(CredentialError) -> Timestamp {
        guard case .integer(let seconds) = json[name] else { throw damage(name) }
        return Timestamp(epochSeconds: seconds)
    }

    /// A member that is such a time, or absent or `null`.
    package func optionalInstant(_ name: String) throws(CredentialError) -> Timestamp? {
        switch json[name] {
        case nil, .null: nil
        case .integer(let seconds): Timestamp(epochSeconds: seconds)
        default: throw damage(name)
        }
    }

    /// The error for a member that is missing or not valid.
    package func damage(_ name: String) -> CredentialError {
        CredentialError(.storeDamaged, "the \(kind) record has no usable '\(name)'")
    }
}
