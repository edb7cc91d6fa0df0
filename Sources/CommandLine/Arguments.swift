/// The arguments of one command, checked against its ``CommandSpec``.
///
/// They are read through the declarations of options and parameters: `arguments[Self.type]`. To read an option that
/// the command does not list is a mistake of the program, caught in debug builds.
package struct Arguments: Sendable {
    /// The command.
    package let command: CommandSpec
    private let words: [String]
    private let values: [String: [String]]
    private let declared: Set<String>

    /// Makes the arguments of a command.
    ///
    /// - Parameters:
    ///   - words: the command line, without the program's name.
    ///   - declared: the names of options and parameters that may be asked for.
    ///   - values: the values by name; a flag that was given has an empty list.
    init(command: CommandSpec, words: [String], declared: Set<String>, values: [String: [String]]) {
        self.command = command
        self.words = words
        self.declared = declared
        self.values = values
    }

    /// The value given for an option.
    package subscript<Value>(_ option: Option<Value>) -> Value { option.read(given(option.spec.name)) }

    /// The value given for a parameter.
    package subscript<Value>(_ parameter: Parameter<Value>) -> Value {
        parameter.read(given(parameter.spec.name) ?? [])
    }

    /// The value given for an option that not every command of a kind lists; if it is not listed, the same as if no
    /// value was given.
    package subscript<Value>(ifListed option: Option<Value>) -> Value { option.read(values[option.spec.name]) }

    /// The command line as it was typed, with further words: for hints of commands that hold no secret.
    package func commandLine(adding further: [String], quoting quote: (String) -> String) -> String {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return (["credmgr"] + (words[..<end] + further + words[end...]).map(quote)).joined(separator: " ")
    }

    /// Whether the command line has only options of every command.
    package var isBare: Bool { hasOnly([]) }

    /// Whether the command line has only these options and parameters, and options of every command.
    package func hasOnly(_ names: Set<String>) -> Bool {
        let own = Set(command.options.map(\.name) + command.parameters.map(\.name)).subtracting(names)
        return values.keys.allSatisfy { !own.contains($0) }
    }

    /// Whether the result is wanted as JSON; a failure is then told as JSON too.
    package var wantsJSON: Bool { command.hasJSONFlag && values["json"] != nil }

    private func given(_ name: String) -> [String]? {
        assert(declared.contains(name), "'\(command.name)' lists no '\(name)'")
        return values[name]
    }
}
