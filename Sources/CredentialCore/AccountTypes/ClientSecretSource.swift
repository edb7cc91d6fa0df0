import StrictJSON

/// The source of a client's secret.
public enum ClientSecretSource: Sendable, Hashable {
    /// In the secret store, saved by `types add --client-secret-file`.
    case store
    /// In an environment variable.
    case environment(String)
    /// In a file of its own, one line.
    case file(String)
    /// Printed by a command, run without a shell.
    case command([String])
    /// In the definition itself, allowed only in a file of mode 0600.
    case literal(Secret)

    /// Reads the value of `client_secret`; `nil` when the value has an undocumented form.
    init?(_ value: JSONValue) {
        if let literal = value.string {
            self = .literal(Secret(literal))
            return
        }
        guard let object = value.object, object.count == 1, let form = object.keys.first else { return nil }
        switch (form, object[form]) {
        case ("store", .bool(true)?): self = .store
        case ("env", .string(let name)?) where !name.isEmpty: self = .environment(name)
        case ("file", .string(let path)?) where !path.isEmpty: self = .file(path)
        case ("command", .array(let words)?):
            let words = words.compactMap(\.string)
            guard !words.isEmpty, words.count == object[form]?.array?.count else { return nil }
            self = .command(words)
        default: return nil
        }
    }

    /// The value in the form of a definition.
    var json: JSONValue {
        switch self {
        case .store: ["store": true]
        case .environment(let name): ["env": .string(name)]
        case .file(let path): ["file": .string(path)]
        case .command(let words): ["command": JSONValue(words)]
        case .literal(let secret): .string(secret.reveal())
        }
    }
}
