import CredentialCore
package import StrictJSON

/// A provider's part of an account type, with placeholders for the values that only the user knows
/// (`docs/reference/presets.md`).
package struct Preset: Sendable {
    /// Something the user fills in: `{tenant}`.
    package struct Placeholder: Sendable {
        /// Its name.
        package let name: String
        /// The summary, on one line.
        package let summary: String
        /// An example of the value.
        package let example: String?
        /// The default value; it may name one other placeholder, whose value is inserted.
        package let standard: String?
        /// The values instead for particular values of the other placeholder, or for those that end as a pattern
        /// `*.…` does.
        package let exceptions: [String: String]
        /// The form that a value must have.
        package let form: Form

        /// The option that fills it in: `--tenant`, `--set realm=…`.
        package var option: String { name == "tenant" ? "--tenant" : "--set \(name)=VALUE" }
    }

    /// The form that the value of a placeholder must have.
    package enum Form: String, Sendable, CaseIterable {
        /// A word as names are made of.
        case name
        /// A GUID in its usual form.
        case guid
        /// A host, perhaps with a port.
        case host
        /// A URL, which goes in without a slash at its end.
        case url

        /// The value as it goes in; `nil` for one that does not do.
        func value(_ text: String) -> String? {
            switch self {
            case .name: return Identifier.isValid(text) ? text : nil
            case .guid:
                let lengths = text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count)
                return lengths == [8, 4, 4, 4, 12] && text.allSatisfy { $0.isHexDigit || $0 == "-" } ? text : nil
            case .host:
                guard let address = URI("https://\(text)"), address.path.isEmpty, address.query == nil,
                    address.fragment == nil
                else { return nil }
                return text
            case .url:
                guard DefinitionValidation.webAddress(text) == nil, URI(text)?.query == nil else { return nil }
                return text.hasSuffix("/") ? String(text.dropLast()) : text
            }
        }

        /// The form that a value must have, in words.
        var description: LocalizedMessage {
            switch self {
            case .name: "a word of letters, digits, '.', '_' and '-'"
            case .guid: "a GUID such as 7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"
            case .host: "a host such as login.example.com"
            case .url: "a URL such as https://login.example.com"
            }
        }
    }

    /// The name.
    package let name: String
    /// The provider's name.
    package let title: String
    /// The purpose, on one line.
    package let summary: String
    /// The address of the provider's documentation.
    package let documentation: String?
    /// The placeholders that the user fills in.
    package let placeholders: [Placeholder]
    /// The notes for the user: the client to register, and the quirks of the provider.
    package let notes: [String]
    /// Whether the provider requires the client secret, of native applications too.
    package let needsClientSecret: Bool
    /// The members of the definition, placeholders in them.
    package let definition: JSONObject

    /// Fills the placeholders of `definition` in, which is the preset's with the user's own members put over it.
    ///
    /// - Throws: ``ErrorCode/usage`` when one that is still there has no value, or a value does not do.
    func filled(_ definition: JSONObject, with values: [String: String]) throws(CredentialError) -> JSONObject {
        let used = PresetText.names(in: .object(definition))
        var filling: [String: String] = [:]
        var missing: [Placeholder] = []
        for placeholder in placeholders where used.contains(placeholder.name) {
            guard let given = values[placeholder.name] ?? standard(of: placeholder, values) else {
                missing.append(placeholder)
                continue
            }
            guard let value = placeholder.form.value(given) else {
                throw CredentialError(
                    .usage,
                    "'\(UntrustedText.shown(given, limit: 60))' is not valid as {\(placeholder.name)} of the "
                        + "preset \(name): \(LocalizedMessage(kept: placeholder.summary))",
                    hint: "use \(placeholder.form.description)")
            }
            filling[placeholder.name] = value
        }
        guard missing.isEmpty else {
            let options = missing.map { placeholder in
                let example = placeholder.example ?? "VALUE"
                return placeholder.name == "tenant"
                    ? "--tenant \(example)" : "--set \(placeholder.name)=\(example)"
            }
            let names: [LocalizedMessage] = missing.map { "{\($0.name)} (\(LocalizedMessage(kept: $0.summary)))" }
            let list = names.dropFirst().reduce(names[0]) { "\($0) and \($1)" }
            throw CredentialError(
                .usage, "the preset \(name) requires values for \(list)",
                hint: LocalizedMessage(verbatim: options.joined(separator: " ")))
        }
        return PresetText.filled(.object(definition), with: filling).object ?? definition
    }

    /// Returns the value of a placeholder that has no value: for a self-hosted server, its own API and no other's.
    private func standard(of placeholder: Placeholder, _ values: [String: String]) -> String? {
        guard let standard = placeholder.standard else { return nil }
        guard let name = PresetText.names(in: .string(standard)).first,
            let other = placeholders.first(where: { $0.name == name }),
            let value = values[name] ?? other.standard
        else { return standard }
        let lowered = value.lowercased()
        let fitting = placeholder.exceptions.keys.filter { pattern in
            pattern.hasPrefix("*.") ? lowered.hasSuffix(pattern.dropFirst()) : lowered == pattern
        }
        let text = fitting.max { $0.utf8.count < $1.utf8.count }.flatMap { placeholder.exceptions[$0] } ?? standard
        return PresetText.filled(.string(text), with: [name: value]).string
    }
}

/// The texts of a definition with their placeholders: `https://{host}/`.
enum PresetText {
    /// The names of the placeholders in a value.
    static func names(in value: JSONValue) -> Set<String> {
        switch value {
        case .string(let text): Set(pieces(text).compactMap(\.placeholder))
        case .array(let elements): elements.reduce(into: []) { $0.formUnion(names(in: $1)) }
        case .object(let object): object.members.reduce(into: []) { $0.formUnion(names(in: $1.value)) }
        case .null, .bool, .integer, .decimal: []
        }
    }

    /// The value with `values` in the place of placeholders; one without a value stays.
    static func filled(_ value: JSONValue, with values: [String: String]) -> JSONValue {
        switch value {
        case .string(let text):
            return .string(
                pieces(text).map { piece in piece.placeholder.flatMap { values[$0] } ?? piece.text }.joined())
        case .array(let elements): return .array(elements.map { filled($0, with: values) })
        case .object(var object):
            for (name, member) in object.members { object[name] = filled(member, with: values) }
            return .object(object)
        case .null, .bool, .integer, .decimal: return value
        }
    }

    private struct Piece {
        let text: String
        var placeholder: String?
    }

    private static func pieces(_ text: String) -> [Piece] {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            pieces.append(Piece(text: String(rest[..<open])))
            pieces.append(
                Piece(
                    text: String(rest[open...close]), placeholder: String(rest[open...close].dropFirst().dropLast())
                ))
            rest = rest[rest.index(after: close)...]
        }
        return pieces + [Piece(text: String(rest))]
    }
}
