package import CredentialCore
internal import StrictJSON

/// Reads property lists: XML, binary (`bplist00`), JSON and old OpenStep ones, strictly and within limits.
///
/// It fetches no DTD, defines no entity and executes no code: it is safe for foreign files.
package enum PropertyList {
    /// The size of a file in bytes, at most.
    static let maximumBytes = 1 << 20
    /// How deep arrays and dictionaries may nest.
    static let maximumDepth = 16
    /// How many values there may be in all.
    static let maximumNodes = 10_000

    /// Reads a property list.
    ///
    /// A `<placeholder>` left in a string makes an XML file ill-formed; it is distinguished from other faults, and
    /// every one of them is named. It counts as one too if it is escaped, or the form is another: no setting has
    /// use for such a string.
    ///
    /// - Parameter place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``.
    package static func parse(_ bytes: [UInt8], place: String) throws(CredentialError) -> PropertyListValue {
        let value: PropertyListValue
        var placeholders: [Placeholder] = []
        let bytes = bytes.withoutByteOrderMark
        do throws(PropertyListFault) {
            if bytes.count > maximumBytes {
                throw PropertyListFault("it is larger than \(maximumBytes) bytes")
            }
            if bytes.starts(with: BinaryPropertyListReader.signature) {
                var reader = BinaryPropertyListReader(bytes)
                value = try reader.document()
                collectPlaceholders(in: value, key: nil, into: &placeholders)
            } else if OpenStepPropertyListReader.isOne(bytes) {
                var reader = OpenStepPropertyListReader(bytes)
                value = try reader.document()
                placeholders = reader.placeholders
            } else if bytes.first(where: { !isSpace($0) }) == UInt8(ascii: "{") {
                value = try convert(try json(bytes))
                collectPlaceholders(in: value, key: nil, into: &placeholders)
            } else {
                var reader = XMLPropertyListReader(try XMLText.utf8(bytes))
                value = try reader.document()
                placeholders = reader.placeholders
            }
        } catch {
            throw CredentialError(.configuration, "\(place) is not a property list: \(error.text)")
        }
        if !placeholders.isEmpty {
            let places = LocalizedMessage.joined(placeholders.map(\.text), by: "; ")
            throw CredentialError(
                .configuration, "placeholder not filled in at \(places) (in \(place))",
                hint: "replace <…>, including the brackets, with your own values")
        }
        return value
    }

    // MARK: Placeholders

    /// A place at which a value was never filled in.
    struct Placeholder: Equatable {
        let key: String?
        let line: Int?

        /// The position for messages: "key tenant, line 3".
        var text: LocalizedMessage {
            let key: LocalizedMessage = key.map { "key \(UntrustedText.shown($0, limit: 60))" } ?? "the top"
            return line.map { "\(key), line \($0)" } ?? key
        }
    }

    /// Whether `text` has something in angle brackets.
    static func hasPlaceholder(_ text: String) -> Bool {
        var isOpen = false, isFilled = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): (isOpen, isFilled) = (true, false)
            case UInt8(ascii: ">"):
                if isOpen && isFilled { return true }
                isOpen = false
            default: isFilled = true
            }
        }
        return false
    }

    static func collectPlaceholders(
        in value: PropertyListValue, key: String?, into placeholders: inout [Placeholder]
    ) {
        switch value {
        case .string(let text):
            let placeholder = Placeholder(key: key, line: nil)
            if hasPlaceholder(text), placeholders.last != placeholder { placeholders.append(placeholder) }
        case .array(let elements):
            for element in elements { collectPlaceholders(in: element, key: key, into: &placeholders) }
        case .dictionary(let dictionary):
            for entry in dictionary.entries {
                collectPlaceholders(in: entry.value, key: entry.key, into: &placeholders)
            }
        default: break
        }
    }

    // MARK: JSON

    private static func json(_ bytes: [UInt8]) throws(PropertyListFault) -> JSONValue {
        do {
            return try JSONValue.parse(
                bytes, dialect: .commented,
                limits: JSONLimits(bytes: maximumBytes, depth: maximumDepth, nodes: maximumNodes))
        } catch {
            throw PropertyListFault(error.reason.text, line: error.line)
        }
    }

    private static func convert(_ json: JSONValue) throws(PropertyListFault) -> PropertyListValue {
        switch json {
        case .null: throw PropertyListFault("a property list has no null")
        case .bool(let value): return .boolean(value)
        case .integer(let value): return .integer(value)
        case .decimal(let text): return .real(text)
        case .string(let text): return .string(text)
        case .array(let elements):
            var array: [PropertyListValue] = []
            for element in elements { array.append(try convert(element)) }
            return .array(array)
        case .object(let object):
            var dictionary = PropertyListDictionary()
            for (name, value) in object.members {
                _ = dictionary.insert(.init(key: name, value: try convert(value), line: nil))
            }
            return .dictionary(dictionary)
        }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }
}

/// Why a property list cannot be read; it never quotes a value.
struct PropertyListFault: Error {
    let reason: LocalizedMessage
    let line: Int?

    init(_ reason: LocalizedMessage, line: Int? = nil) {
        self.reason = reason
        self.line = line
    }

    /// The reason and the place, for messages.
    var text: LocalizedMessage { line.map { "\(reason) at line \($0)" } ?? reason }
}
