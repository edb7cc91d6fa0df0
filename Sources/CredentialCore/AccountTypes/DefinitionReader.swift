package import StrictJSON

/// Reads the members of a configuration file; each error names the key, the file and the expected value.
package struct DefinitionReader {
    private let members: JSONObject
    /// The file, for messages.
    let place: LocalizedMessage?
    private let path: String

    /// Takes an object to read.
    ///
    /// - Parameters:
    ///   - known: the keys it may have.
    ///   - place: the file, for messages; `nil` if there is no file.
    ///   - path: the key of the object, with a dot at its end; empty for the whole file.
    /// - Throws: ``ErrorCode/configuration`` for a key that is not known, naming the nearest one.
    package init(_ members: JSONObject, known: [String], place: LocalizedMessage?, at path: String = "")
        throws(CredentialError)
    {
        self.members = members
        self.place = place
        self.path = path
        let ending: LocalizedMessage = place.map { " in \($0)" } ?? ""
        for key in members.keys where !known.contains(key) {
            throw CredentialError(
                .configuration, "unknown key '\(path)\(UntrustedText.shown(key, limit: 60))'\(ending)",
                hint: SpellingSuggestion.to(key, among: known).map { "did you mean '\(path)\($0)'?" }
                    ?? "known keys: \(known.joined(separator: ", "))")
        }
    }

    /// Whether `key` is there.
    package func has(_ key: String) -> Bool { members[key] != nil }

    /// The unchecked value of `key`.
    package func value(_ key: String) -> JSONValue? { members[key] }

    /// A string that is not empty and obeys `rule`, one of ``DefinitionValidation``.
    package func string(_ key: String, _ rule: (String) -> LocalizedMessage? = DefinitionValidation.plainText)
        throws(CredentialError)
        -> String?
    {
        guard let value = members[key] else { return nil }
        guard let text = value.string else { throw wrongKind(key, expected: "a string") }
        try check(text, at: key, rule)
        return text
    }

    /// An array of strings of which each obeys `rule`; empty when it is not there.
    package func strings(_ key: String, _ rule: (String) -> LocalizedMessage?) throws(CredentialError) -> [String] {
        guard let value = members[key] else { return [] }
        guard let elements = value.array else { throw wrongKind(key, expected: "an array of strings") }
        var strings: [String] = []
        for element in elements {
            guard let text = element.string else { throw wrongKind(key, expected: "an array of strings") }
            try check(text, at: key, rule)
            strings.append(text)
        }
        return strings
    }

    /// A list of scopes: a string with spaces between them (RFC 6749 §3.3), or an array; each once, in order.
    package func scope(_ key: String) throws(CredentialError) -> [String] {
        var scopes: [String]
        switch members[key] {
        case nil: return []
        case .string(let text)?: scopes = text.split(separator: " ").map(String.init)
        case .array?: scopes = try strings(key, DefinitionValidation.scopeToken)
        default: throw wrongKind(key, expected: "a string or an array of strings")
        }
        for scope in scopes { try check(scope, at: key, DefinitionValidation.scopeToken) }
        var seen: Set<String> = []
        scopes = scopes.filter { seen.insert($0).inserted }
        return scopes
    }

    /// An object of strings of which each name and value obey `rule`; empty when it is not there.
    package func map(_ key: String, _ rule: (String, String) -> LocalizedMessage?) throws(CredentialError)
        -> [String:
        String]
    {
        guard let value = members[key] else { return [:] }
        guard let object = value.object else { throw wrongKind(key, expected: "an object of strings") }
        var map: [String: String] = [:]
        for (name, value) in object.members {
            let key = "\(key).\(UntrustedText.shown(name, limit: 60))"
            guard let text = value.string else { throw wrongKind(key, value, expected: "a string") }
            if let problem = rule(name, text) { throw fault(key, problem) }
            map[name] = text
        }
        return map
    }

    /// An object with the keys of `known`, to be read in its turn; an empty one when it is not there.
    package func object(_ key: String, known: [String]) throws(CredentialError) -> DefinitionReader {
        guard let value = members[key] else {
            return try DefinitionReader(JSONObject(), known: known, place: place, at: "\(path)\(key).")
        }
        guard let object = value.object else { throw wrongKind(key, expected: "an object") }
        return try DefinitionReader(object, known: known, place: place, at: "\(path)\(key).")
    }

    /// An array of objects with the keys of `known`, each to be read in its turn.
    package func objects(_ key: String, known: [String]) throws(CredentialError) -> [DefinitionReader] {
        guard let value = members[key] else { return [] }
        guard let elements = value.array else { throw wrongKind(key, expected: "an array of objects") }
        var readers: [DefinitionReader] = []
        for (index, element) in elements.enumerated() {
            guard let object = element.object else { throw wrongKind(key, expected: "an array of objects") }
            readers.append(
                try DefinitionReader(object, known: known, place: place, at: "\(path)\(key)[\(index)]."))
        }
        return readers
    }

    /// A boolean.
    package func flag(_ key: String) throws(CredentialError) -> Bool? {
        guard let value = members[key] else { return nil }
        guard let flag = value.bool else { throw wrongKind(key, expected: "true or false") }
        return flag
    }

    /// A time in seconds: a whole number, or a text as options take it (``DurationText``).
    package func time(_ key: String, atLeast least: Int64) throws(CredentialError) -> Int64? {
        guard let value = members[key] else { return nil }
        guard let number = value.integer ?? value.string.flatMap(DurationText.seconds),
            (least...DurationText.longest).contains(number)
        else { throw fault(key, "must be a time such as 90, \"90s\" or \"8h\", from \(least) s to a year") }
        return number
    }

    /// One of the words of `type`.
    package func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ key: String, of type: Choice.Type
    ) throws(CredentialError) -> Choice? {
        guard let word = try string(key) else { return nil }
        guard let choice = Choice(rawValue: word) else {
            let words = Choice.allCases.map(\.rawValue)
            throw fault(
                key, "must be one of \(words.joined(separator: ", "))",
                hint: SpellingSuggestion.to(word, among: words).map { "did you mean '\($0)'?" })
        }
        return choice
    }

    /// The error for a value that does not do.
    package func fault(_ key: String, _ problem: LocalizedMessage, hint: LocalizedMessage? = nil) -> CredentialError
    {
        let problem = place.map { "\(problem) in \($0)" } ?? problem
        return CredentialError(.configuration, "key '\(path)\(key)' \(problem)", hint: hint)
    }

    /// The error for a value of the wrong kind.
    package func wrongKind(_ key: String, expected: LocalizedMessage) -> CredentialError {
        wrongKind(key, members[key] ?? .null, expected: expected)
    }

    private func wrongKind(_ key: String, _ value: JSONValue, expected: LocalizedMessage) -> CredentialError {
        fault(key, "must be \(expected), not \(value.kind)\(place == nil ? "" : ",")")
    }

    private func check(_ text: String, at key: String, _ rule: (String) -> LocalizedMessage?)
        throws(CredentialError)
    {
        if text.isEmpty { throw fault(key, "is empty") }
        if text.first == "<", text.last == ">" { throw fault(key, "still contains a placeholder") }
        if let problem = rule(text) { throw fault(key, problem) }
    }
}
