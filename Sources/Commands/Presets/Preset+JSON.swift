package import CredentialCore
import StrictJSON

extension Preset {
    /// Reads a preset; comments and trailing commas are allowed.
    ///
    /// - Parameter place: the file, for messages.
    /// - Throws: ``ErrorCode/configuration``, naming the member.
    package init(name: String, _ bytes: [UInt8], place: String) throws(CredentialError) {
        let value: JSONValue
        do {
            value = try JSONValue.parse(bytes, dialect: .commented)
        } catch {
            throw CredentialError(.configuration, "\(place) is not JSON: \(error)")
        }
        guard let members = value.object else {
            throw CredentialError(.configuration, "\(place) must be a JSON object")
        }
        let reader = try DefinitionReader(
            members,
            known: [
                "title", "summary", "documentation", "placeholders", "notes", "needs_client_secret", "definition",
            ],
            place: LocalizedMessage(verbatim: place))
        self.name = try Identifier.checked(name, kind: .preset)
        guard let title = try reader.string("title") else { throw reader.fault("title", "is missing") }
        guard let summary = try reader.string("summary") else { throw reader.fault("summary", "is missing") }
        guard let definition = reader.value("definition")?.object else {
            throw reader.fault("definition", "is missing or not an object")
        }
        self.title = title
        self.summary = summary
        self.definition = definition
        documentation = try reader.string("documentation", DefinitionValidation.webAddress)
        needsClientSecret = try reader.flag("needs_client_secret") ?? false
        notes = try reader.strings("notes", DefinitionValidation.plainText)
        placeholders = try Self.placeholders(members, place: place)
        try checkDefinition(reader)
    }

    private static func placeholders(_ members: JSONObject, place: String) throws(CredentialError) -> [Placeholder]
    {
        guard let value = members["placeholders"] else { return [] }
        guard let object = value.object else {
            throw CredentialError(.configuration, "key 'placeholders' must be an object in \(place)")
        }
        var placeholders: [Placeholder] = []
        for (name, value) in object.members {
            guard Identifier.isValid(name), let members = value.object else {
                throw CredentialError(
                    .configuration, "key 'placeholders' has a member that is not a valid placeholder in \(place)")
            }
            let reader = try DefinitionReader(
                members, known: ["summary", "example", "default", "default_where", "form"],
                place: LocalizedMessage(verbatim: place),
                at: "placeholders.\(name)."
            )
            guard let summary = try reader.string("summary") else { throw reader.fault("summary", "is missing") }
            let form = try reader.choice("form", of: Form.self) ?? .name
            let standard = try reader.string("default")
            let exceptions = try reader.map("default_where") { DefinitionValidation.plainText($1) }
            try check(standard, exceptions, form, reader)
            placeholders.append(
                Placeholder(
                    name: name, summary: summary, example: try reader.string("example"), standard: standard,
                    exceptions: exceptions, form: form))
        }
        return placeholders
    }

    /// A default may hang on one other placeholder, and then differ for some of its values.
    private static func check(
        _ standard: String?, _ exceptions: [String: String], _ form: Form, _ reader: DefinitionReader
    ) throws(CredentialError) {
        guard let standard else {
            if exceptions.isEmpty { return }
            throw reader.fault("default_where", "requires a 'default'")
        }
        let names = PresetText.names(in: .string(standard))
        if names.count > 1 { throw reader.fault("default", "names more than one placeholder") }
        if names.isEmpty, !exceptions.isEmpty {
            throw reader.fault("default_where", "requires a 'default' that names another placeholder")
        }
        for text in [standard] + exceptions.values {
            let example = Dictionary(uniqueKeysWithValues: names.map { ($0, "example.com") })
            guard let filled = PresetText.filled(.string(text), with: example).string, form.value(filled) != nil
            else { throw reader.fault("default", "is not \(form.description)") }
        }
    }

    /// A preset has no client and no secret of anybody, and its placeholders are those that it explains.
    private func checkDefinition(_ reader: DefinitionReader) throws(CredentialError) {
        for key in definition.keys {
            guard AccountType.keys.contains(key) else {
                throw reader.fault(
                    "definition.\(UntrustedText.shown(key, limit: 60))", "is not a key of an account type")
            }
            if ["client_id", "client_secret", "private_key"].contains(key) {
                throw reader.fault("definition.\(key)", "is specific to the user and not allowed in a preset")
            }
        }
        let used = PresetText.names(in: .object(definition))
        let explained = Set(placeholders.map(\.name))
        if let name = used.subtracting(explained).sorted().first {
            throw reader.fault("placeholders", "does not explain {\(UntrustedText.shown(name, limit: 60))}")
        }
        if let name = explained.subtracting(used).sorted().first {
            throw reader.fault("placeholders.\(name)", "is not used")
        }
    }

    /// The preset for `presets --json`.
    var json: JSONObject {
        JSONObject([
            "name": .string(name), "title": .string(title), "summary": .string(summary),
            "documentation": JSONValue(documentation),
            "placeholders": .array(
                placeholders.map { placeholder in
                    var exceptions = JSONObject()
                    for (value, text) in placeholder.exceptions.sorted(by: { $0.key < $1.key }) {
                        exceptions[value] = .string(text)
                    }
                    return [
                        "name": .string(placeholder.name), "summary": .string(placeholder.summary),
                        "example": JSONValue(placeholder.example), "default": JSONValue(placeholder.standard),
                        "default_where": .object(exceptions),
                        "form": .string(placeholder.form.rawValue), "option": .string(placeholder.option),
                    ]
                }),
            "notes": JSONValue(notes), "needs_client_secret": .bool(needsClientSecret),
            "definition": .object(definition),
        ])
    }
}
