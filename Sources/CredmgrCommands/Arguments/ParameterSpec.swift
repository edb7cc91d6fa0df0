/// One positional parameter of a command.
package struct ParameterSpec: Sendable {
    /// The key in ``ParsedArguments``; distinct from the names of the command's options.
    package let name: String
    /// The value it takes.
    package let value: ValueSpec
    /// How often it may be given.
    package let arity: Arity
    /// What it is, in lower case and without a full stop.
    package let summary: String

    /// How often a parameter may be given.
    package enum Arity: Sendable {
        /// Exactly once.
        case required
        /// Once or not at all.
        case optional
        /// Any number of times; only the last parameter may be.
        case variadic
    }

    /// A parameter that must be given.
    package static func required(_ name: String, _ value: ValueSpec, _ summary: String) -> ParameterSpec {
        ParameterSpec(name: name, value: value, arity: .required, summary: summary)
    }

    /// A parameter that may be left out.
    package static func optional(_ name: String, _ value: ValueSpec, _ summary: String) -> ParameterSpec {
        ParameterSpec(name: name, value: value, arity: .optional, summary: summary)
    }

    /// A parameter that takes all that is left.
    package static func variadic(_ name: String, _ value: ValueSpec, _ summary: String) -> ParameterSpec {
        ParameterSpec(name: name, value: value, arity: .variadic, summary: summary)
    }

    /// How a usage line shows it: `FILE`, `[FILE]`, `[FILE…]`.
    var usage: String {
        switch arity {
        case .required: value.placeholder
        case .optional: "[\(value.placeholder)]"
        case .variadic: "[\(value.placeholder)…]"
        }
    }
}
