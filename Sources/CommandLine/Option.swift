package import CredentialCore

/// An option of a command: declared once, as a value, and read through that value.
///
/// ```swift
/// static let type = Option.value("type", .type, "the account type")      // in the command's `options`
/// let name = arguments[Self.type]                                        // String?
/// ```
package struct Option<Value: Sendable>: DeclaredOption {
    /// The description for parser, help, manual page and completion.
    package let spec: OptionSpec
    /// Reads the given values; `nil` if the option is absent. It cannot fail: the parser has asked
    /// ``OptionSpec/fault``.
    let read: @Sendable ([String]?) -> Value

    private init(_ spec: OptionSpec, _ read: @escaping @Sendable ([String]?) -> Value) {
        self.spec = spec
        self.read = read
    }

    /// The same option with another summary, for a command that does something of its own with it.
    package func described(_ summary: LocalizedMessage) -> Option {
        var spec = spec
        spec.summary = summary
        return Option(spec, read)
    }
}

/// An option with a value of any type.
package protocol DeclaredOption: Sendable {
    /// The description for parser, help, manual page and completion.
    var spec: OptionSpec { get }
}

extension Option where Value == Bool {
    /// An option without a value.
    package static func flag(_ name: String, short: Character? = nil, _ summary: LocalizedMessage) -> Option {
        Option(OptionSpec(name: name, short: short, isRepeatable: true, summary: summary)) { $0 != nil }
    }
}

extension Option where Value == String? {
    /// An option with a value, given at most once.
    package static func value(
        _ name: String, short: Character? = nil, _ value: ValueSpec, _ summary: LocalizedMessage
    ) -> Option {
        Option(OptionSpec(name: name, short: short, value: value, summary: summary)) { $0?.last }
    }
}

extension Option where Value == String? {
    /// An option with a name, see ``Identifier``, given at most once.
    package static func name(_ name: String, _ value: ValueSpec, _ summary: LocalizedMessage) -> Option {
        var spec = OptionSpec(name: name, short: nil, value: value, summary: summary)
        spec.fault = { text in
            Identifier.isValid(text)
                ? nil : "must be 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or digit"
        }
        return Option(spec) { $0?.last }
    }
}

extension Option where Value == String? {
    /// An option with a resource indicator (RFC 8707 §2), given at most once.
    package static func resource(_ name: String, _ summary: LocalizedMessage) -> Option {
        var spec = OptionSpec(name: name, value: .any("URI"), summary: summary)
        spec.fault = DefinitionValidation.resource
        return Option(spec) { $0?.last }
    }
}

extension Option where Value == [String] {
    /// An option with a value, given any number of times.
    package static func list(
        _ name: String, short: Character? = nil, _ value: ValueSpec, _ summary: LocalizedMessage
    ) -> Option {
        Option(OptionSpec(name: name, short: short, value: value, isRepeatable: true, summary: summary)) {
            $0 ?? []
        }
    }

    /// An option whose values are words separated by spaces, given any number of times.
    package static func words(
        _ name: String, short: Character? = nil, _ value: ValueSpec, _ summary: LocalizedMessage
    )
        -> Option
    {
        Option(OptionSpec(name: name, short: short, value: value, isRepeatable: true, summary: summary)) {
            ($0 ?? []).flatMap { $0.split(separator: " ").map(String.init) }
        }
    }
}

extension Option where Value == Int64? {
    /// An option with a whole number of `range`, given at most once.
    package static func integer(
        _ name: String, short: Character? = nil, _ placeholder: String, in range: ClosedRange<Int64>,
        _ summary: LocalizedMessage
    ) -> Option {
        @Sendable func number(_ text: String) -> Int64? { Int64(text).flatMap { range.contains($0) ? $0 : nil } }
        var spec = OptionSpec(name: name, short: short, value: .any(placeholder), summary: summary)
        spec.fault = { text in
            number(text) == nil ? "must be a whole number from \(range.lowerBound) to \(range.upperBound)" : nil
        }
        return Option(spec) { $0?.last.flatMap(number) }
    }

    /// An option with a time in seconds: `90`, `90s`, `30m`, `8h`, `2d`, at most a year; given at most once.
    ///
    /// - Parameter least: the fewest seconds that make sense.
    package static func time(
        _ name: String, short: Character? = nil, atLeast least: Int64, _ summary: LocalizedMessage
    ) -> Option {
        @Sendable func seconds(_ text: String) -> Int64? {
            DurationText.seconds(text).flatMap { $0 >= least ? $0 : nil }
        }
        var spec = OptionSpec(name: name, short: short, value: .any("TIME"), summary: summary)
        spec.fault = { text in
            seconds(text) == nil
                ? "must be a time such as 90, 90s, 30m, 8h or 2d, from \(least) s to a year" : nil
        }
        return Option(spec) { $0?.last.flatMap(seconds) }
    }
}

/// A duration, or never.
package enum DurationOrNever: Sendable, Hashable {
    case seconds(Int64)
    case never
}

extension Option where Value == DurationOrNever? {
    /// An option with a time as with ``Option/time(_:short:atLeast:_:)``, or the word `never`; given at most once.
    package static func timeOrNever(_ name: String, atLeast least: Int64, _ summary: LocalizedMessage) -> Option {
        @Sendable func value(_ text: String) -> DurationOrNever? {
            if text == "never" { return .never }
            return DurationText.seconds(text).flatMap { $0 >= least ? .seconds($0) : nil }
        }
        var spec = OptionSpec(name: name, value: .any("TIME"), summary: summary)
        spec.fault = { text in
            value(text) == nil
                ? "must be a time such as 90, 90s, 30m, 8h or 2d, from \(least) s to a year, or never" : nil
        }
        return Option(spec) { $0?.last.flatMap(value) }
    }
}

extension Option {
    /// An option with one of the words of `Choice`, given at most once.
    package static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, short: Character? = nil, _ placeholder: String, of choice: Choice.Type,
        _ summary: LocalizedMessage
    ) -> Option where Value == Choice? {
        Option(
            OptionSpec(
                name: name, short: short, value: .choice(placeholder, Choice.allCases.map(\.rawValue)),
                summary: summary)
        ) { $0?.last.flatMap(Choice.init) }
    }
}

/// A name and its value: `KEY=VALUE`.
package typealias KeyValue = (name: String, value: String)

extension Option where Value == [KeyValue] {
    /// An option with pairs separated by the first `separator`, given any number of times. Space around is kept. A
    /// fault does not quote the pair, as it may be a secret.
    package static func pairs(
        _ name: String, _ placeholder: String, separator: Unicode.Scalar = "=", _ summary: LocalizedMessage
    ) -> Option {
        var spec = OptionSpec(name: name, value: .any(placeholder), isRepeatable: true, summary: summary)
        spec.fault = { text in pair(text, separator) == nil ? "must be NAME\(separator)VALUE" : nil }
        return Option(spec) { ($0 ?? []).compactMap { pair($0, separator) } }
    }

    /// By scalars, not characters: an accent behind the separator would make one character of both.
    private static func pair(_ text: String, _ separator: Unicode.Scalar) -> KeyValue? {
        let scalars = text.unicodeScalars
        guard let place = scalars.firstIndex(of: separator), place != scalars.startIndex else { return nil }
        return (String(scalars[..<place]), String(scalars[scalars.index(after: place)...]))
    }
}

/// An option that was given, perhaps with a value.
package struct ParsedOption: Sendable {
    /// The value; `nil` if the option has no value.
    package let value: String?
}

extension Option where Value == ParsedOption? {
    /// An option whose value may be left out; it is taken only from the same word, `--name=VALUE`.
    package static func optional(
        _ name: String, short: Character? = nil, _ value: ValueSpec, _ summary: LocalizedMessage
    ) -> Option {
        Option(OptionSpec(name: name, short: short, value: value, valueIsOptional: true, summary: summary)) {
            $0.map { ParsedOption(value: $0.last) }
        }
    }
}

/// The description of an option for parser, help, manual page and completion.
package struct OptionSpec: Sendable {
    /// The long name without dashes.
    package let name: String
    /// The one-letter name, if there is one.
    package let short: Character?
    /// The value it takes; `nil` for a flag.
    package let value: ValueSpec?
    /// Whether the value may be left out; then it is taken only from the same word, `--name=VALUE`.
    package let valueIsOptional: Bool
    /// Whether it may be given more than once.
    package let isRepeatable: Bool
    /// The effect, in lower case and without a full stop.
    package fileprivate(set) var summary: LocalizedMessage
    /// The error in a value, to follow the option's name; `nil` for a valid value.
    fileprivate(set) var fault: @Sendable (String) -> LocalizedMessage? = { _ in nil }

    fileprivate init(
        name: String, short: Character? = nil, value: ValueSpec? = nil, valueIsOptional: Bool = false,
        isRepeatable: Bool = false, summary: LocalizedMessage
    ) {
        self.name = name
        self.short = short
        self.value = value
        self.valueIsOptional = valueIsOptional
        self.isRepeatable = isRepeatable
        self.summary = summary
    }

    /// The long name as written: `--type`.
    package var written: String { "--" + name }

    /// How help shows it: `-o, --output FILE`.
    var label: String {
        let prefix = short.map { "-\($0), " } ?? "    "
        return prefix + written
            + (value.map { valueIsOptional ? "[=\($0.placeholder)]" : " " + $0.placeholder } ?? "")
    }
}
