package import CredentialCore

/// The arguments of one command, checked against its ``CommandSpec``.
///
/// Options and positional parameters are asked for by the names of the specification. Asking for a name that the
/// command does not declare is a mistake of the program, caught in debug builds.
package struct ParsedArguments: Sendable {
    /// The command.
    package let command: CommandSpec
    private let values: [String: [String]]
    private let declared: Set<String>

    /// Makes the arguments of a command.
    ///
    /// - Parameters:
    ///   - declared: the names that may be asked for.
    ///   - values: the values by name; a flag that was given has an empty list.
    init(command: CommandSpec, declared: Set<String>, values: [String: [String]]) {
        self.command = command
        self.declared = declared
        self.values = values
    }

    /// Whether an option or parameter was given.
    package func flag(_ name: String) -> Bool { given(name) != nil }

    /// The value given, the last where there are several.
    package func string(_ name: String) -> String? { given(name)?.last }

    /// All values given, in order.
    package func strings(_ name: String) -> [String] { given(name) ?? [] }

    /// The value given.
    ///
    /// - Throws: ``ErrorCode/usage`` when there is none.
    package func required(_ name: String) throws(CredentialError) -> String {
        guard let value = string(name) else { throw usage("\(label(name)) is missing") }
        return value
    }

    /// The value given as an integer of `range`.
    ///
    /// - Throws: ``ErrorCode/usage`` when it is not one.
    package func integer(_ name: String, in range: ClosedRange<Int64>) throws(CredentialError) -> Int64? {
        guard let text = string(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw usage("\(label(name)) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// The value given as a case of `Choice`.
    ///
    /// - Throws: ``ErrorCode/usage`` when it is none, which a specification that lists the cases rules out.
    package func choice<Choice: RawRepresentable<String>>(
        _ name: String, as: Choice.Type = Choice.self
    ) throws(CredentialError) -> Choice? {
        guard let text = string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else { throw usage("\(label(name)) has no such value") }
        return choice
    }

    /// All values given as pairs parted by the first `separator`: `K=V`, `K:V`. Space around is kept.
    ///
    /// - Throws: ``ErrorCode/usage`` for a value without separator or with nothing before it; the message does not
    ///   quote it, as it may be a secret.
    package func pairs(
        _ name: String, separator: Unicode.Scalar = "="
    ) throws(CredentialError) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for text in strings(name) {
            let scalars = text.unicodeScalars
            guard let place = scalars.firstIndex(of: separator), place != scalars.startIndex else {
                throw usage("\(label(name)) takes NAME\(separator)VALUE")
            }
            pairs.append((String(scalars[..<place]), String(scalars[scalars.index(after: place)...])))
        }
        return pairs
    }

    /// Whether the result is wanted as JSON; a failure is then told as JSON too.
    package var wantsJSON: Bool {
        command.options.contains { $0.name == "json" && $0.value == nil } && flag("json")
    }

    private func given(_ name: String) -> [String]? {
        assert(declared.contains(name), "'\(command.name)' declares no '\(name)'")
        return values[name]
    }

    private func label(_ name: String) -> String {
        command.parameters.first { $0.name == name }?.value.placeholder ?? "--" + name
    }

    private func usage(_ message: String) -> CredentialError {
        CredentialError(.usage, message, hint: "credmgr \(command.name) --help")
    }
}
