/// One option of a command, or of every command.
package struct OptionSpec: Sendable {
    /// The long name without dashes; also the key in ``ParsedArguments``.
    package let name: String
    /// The one-letter name, if there is one.
    package let short: Character?
    /// The value it takes; `nil` for a flag.
    package let value: ValueSpec?
    /// Whether the value may be left out; then it is taken only from the same word, `--name=VALUE`.
    package let valueIsOptional: Bool
    /// Whether it may be given more than once.
    package let isRepeatable: Bool
    /// What it does, in lower case and without a full stop.
    package let summary: String

    /// An option without a value.
    package static func flag(_ name: String, short: Character? = nil, _ summary: String) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: nil, valueIsOptional: false, isRepeatable: true, summary: summary)
    }

    /// An option with a value, given at most once.
    package static func value(
        _ name: String, short: Character? = nil, _ value: ValueSpec, _ summary: String
    ) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: value, valueIsOptional: false, isRepeatable: false, summary: summary)
    }

    /// An option with a value, given any number of times.
    package static func list(
        _ name: String, short: Character? = nil, _ value: ValueSpec, _ summary: String
    ) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: value, valueIsOptional: false, isRepeatable: true, summary: summary)
    }

    /// An option whose value may be left out.
    package static func optional(
        _ name: String, short: Character? = nil, _ value: ValueSpec, _ summary: String
    ) -> OptionSpec {
        OptionSpec(
            name: name, short: short, value: value, valueIsOptional: true, isRepeatable: false, summary: summary)
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
