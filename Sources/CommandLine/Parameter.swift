package import CredentialCore

/// A positional parameter of a command: declared once, as a value, and read through that value.
package struct Parameter<Value: Sendable>: DeclaredParameter {
    /// The description for parser, help, manual page and completion.
    package let spec: ParameterSpec
    /// Reads the given words. It cannot fail: the parser has counted and compared.
    let read: @Sendable ([String]) -> Value

    private init(_ spec: ParameterSpec, _ read: @escaping @Sendable ([String]) -> Value) {
        self.spec = spec
        self.read = read
    }
}

/// A parameter with a value of any type.
package protocol DeclaredParameter: Sendable {
    /// The description for parser, help, manual page and completion.
    var spec: ParameterSpec { get }
}

extension Parameter where Value == String {
    /// A parameter that must be given.
    package static func required(_ name: String, _ value: ValueSpec, _ summary: LocalizedMessage) -> Parameter {
        Parameter(ParameterSpec(name: name, value: value, arity: .required, summary: summary)) { $0[0] }
    }
}

extension Parameter where Value == String? {
    /// A parameter that may be left out.
    package static func optional(_ name: String, _ value: ValueSpec, _ summary: LocalizedMessage) -> Parameter {
        Parameter(ParameterSpec(name: name, value: value, arity: .optional, summary: summary)) { $0.first }
    }
}

extension Parameter where Value == [String] {
    /// A parameter that takes all that is left.
    package static func variadic(_ name: String, _ value: ValueSpec, _ summary: LocalizedMessage) -> Parameter {
        Parameter(ParameterSpec(name: name, value: value, arity: .variadic, summary: summary)) { $0 }
    }
}

extension Parameter {
    /// A parameter that must be given and is one of the words of `Choice`.
    package static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ placeholder: String, of choice: Choice.Type, _ summary: LocalizedMessage
    ) -> Parameter where Value == Choice? {
        let words = Choice.allCases.map(\.rawValue)
        return Parameter(
            ParameterSpec(name: name, value: .choice(placeholder, words), arity: .required, summary: summary)
        ) { $0.first.flatMap(Choice.init) }
    }
}

/// The description of a parameter for parser, help, manual page and completion.
package struct ParameterSpec: Sendable {
    /// The key of its values; distinct from the names of the command's options.
    package let name: String
    /// The value it takes.
    package let value: ValueSpec
    /// How often it may be given.
    package let arity: Arity
    /// The summary, in lower case and without a full stop.
    package let summary: LocalizedMessage

    /// How often a parameter may be given.
    package enum Arity: Sendable {
        /// Exactly once.
        case required
        /// Once or not at all.
        case optional
        /// Any number of times; only the last parameter may be.
        case variadic
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
