/// Words for the user: an English template with numbered places (`no account %1$s of the type %2$s`), and the
/// values for these places.
///
/// Made by a literal: `CredentialError(.usage, "no account \(name)")`. The template is the key of the translation,
/// so sentences are translated as a whole and in an order of their own (`LocalizedMessage/text(in:)`). JSON, logs
/// and programs get the English ``description``. `scripts/translations` finds every such literal.
public struct LocalizedMessage: Sendable, CustomStringConvertible, ExpressibleByStringInterpolation {
    /// The English, with `%1$s`, `%2$s` … for ``values`` and `%%` for a percent sign.
    package let template: String
    /// The values for the places.
    package let values: [Value]

    /// The value for a place.
    package indirect enum Value: Sendable {
        /// Data: a name, a path, a number. The same in each language.
        case text(String)
        /// A message in a message.
        case message(LocalizedMessage)
        /// A message that depends on a number: the English forms for one and for any other.
        case plural(Int, one: LocalizedMessage, other: LocalizedMessage)
    }

    package init(template: String, values: [Value]) {
        self.template = template
        self.values = values
    }

    /// Text that is shown as it is: a provider's words, or a command.
    public init(verbatim text: String) { self.init(template: "%1$s", values: [.text(text)]) }

    /// An English sentence that was kept as text: translated if it is, unchanged, one of the templates.
    package init(kept text: String) { self.init(stringLiteral: text) }

    /// Takes a literal without places.
    public init(stringLiteral value: String) {
        var interpolation = Interpolation()
        interpolation.appendLiteral(value)
        self.init(stringInterpolation: interpolation)
    }

    /// Takes a literal.
    public init(stringInterpolation: Interpolation) {
        self.init(template: stringInterpolation.template, values: stringInterpolation.values)
    }

    /// The English text.
    public var description: String {
        let texts = values.map { value in
            switch value {
            case .text(let text): text
            case .message(let message): message.description
            case .plural(let count, let one, let other): (count == 1 ? one : other).description
            }
        }
        return Self.filled(template, texts)
    }

    /// One message of two, a literal that is broken into lines: the whole of it is translated.
    package static func + (left: LocalizedMessage, right: LocalizedMessage) -> LocalizedMessage {
        let moved = Self.filled(
            right.template, right.values.indices.map { "%\($0 + left.values.count + 1)$s" }, percent: "%%")
        return LocalizedMessage(template: left.template + moved, values: left.values + right.values)
    }

    /// Messages one below the other.
    package static func lines(_ messages: [LocalizedMessage]) -> LocalizedMessage { joined(messages, by: "\n") }

    /// Messages one after the other.
    ///
    /// - Parameter separator: the text between them, the same in each language.
    package static func joined(_ messages: [LocalizedMessage], by separator: String) -> LocalizedMessage {
        LocalizedMessage(
            template: messages.indices.map { "%\($0 + 1)$s" }.joined(separator: separator),
            values: messages.map(Value.message))
    }

    /// A template with its places filled; all other text stays.
    ///
    /// - Parameter percent: the replacement of `%%`.
    package static func filled(_ template: String, _ texts: [String], percent: String = "%") -> String {
        var bytes: [UInt8] = []
        let source = Array(template.utf8)
        var index = 0
        while index < source.count {
            guard source[index] == UInt8(ascii: "%"), index + 1 < source.count else {
                bytes.append(source[index])
                index += 1
                continue
            }
            if source[index + 1] == UInt8(ascii: "%") {
                bytes += percent.utf8
                index += 2
                continue
            }
            var end = index + 1
            var number = 0
            while end < source.count, number < 1_000, case UInt8(ascii: "0")...UInt8(ascii: "9") = source[end] {
                number = number * 10 + Int(source[end] - UInt8(ascii: "0"))
                end += 1
            }
            if end + 1 < source.count, source[end] == UInt8(ascii: "$"), source[end + 1] == UInt8(ascii: "s"),
                number >= 1, number <= texts.count
            {
                bytes += texts[number - 1].utf8
                index = end + 2
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Takes the pieces of a literal.
    public struct Interpolation: StringInterpolationProtocol {
        fileprivate var template = ""
        fileprivate var values: [Value] = []

        fileprivate init() {}
        /// Takes no piece yet.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Takes English.
        public mutating func appendLiteral(_ literal: String) {
            guard literal.utf8.contains(UInt8(ascii: "%")) else {
                template += literal
                return
            }
            for character in literal.unicodeScalars {
                template += character == "%" ? "%%" : String(Character(character))
            }
        }

        /// Takes a message, a literal in a place among them: it is translated, too.
        public mutating func appendInterpolation(_ message: LocalizedMessage) { append(.message(message)) }

        /// Takes the words of an error.
        public mutating func appendInterpolation(_ error: CredentialError) { append(.message(error.text)) }

        /// Takes data.
        @_disfavoredOverload
        public mutating func appendInterpolation(_ text: String) { append(.text(text)) }

        /// Takes data.
        @_disfavoredOverload
        public mutating func appendInterpolation<Datum: CustomStringConvertible>(_ datum: Datum) {
            append(.text(datum.description))
        }

        /// Takes a message by a number: `\(count, one: "\(count) account", other: "\(count) accounts")`.
        public mutating func appendInterpolation(_ count: Int, one: LocalizedMessage, other: LocalizedMessage) {
            append(.plural(count, one: one, other: other))
        }

        private mutating func append(_ value: Value) {
            values.append(value)
            template += "%\(values.count)$s"
        }
    }
}

extension LocalizedMessage: Hashable {
    /// Messages with the same text are equal, however they were put together.
    public static func == (left: LocalizedMessage, right: LocalizedMessage) -> Bool {
        left.description == right.description
    }

    /// As ``==(_:_:)``.
    public func hash(into hasher: inout Hasher) { hasher.combine(description) }
}
