import Broker
import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr broker set`.
struct BrokerSetCommand: Command {
    static let spec = CommandSpec(
        ["broker", "set"], "change a broker's file",
        details: """
            Sets keys of the broker's file and keeps all others. A key is a path such as ask or entries.work.scope. A \
            value is JSON if it parses as JSON, else text. A running server narrows at once; it widens at its next \
            start.
            """,
        parameters: [BrokerCommands.name, changes], options: [unset],
        examples: [
            .init("ask for each request", "credmgr broker set dev ask=always"),
            .init("one scope", "credmgr broker set dev 'entries.work.scope=[\"read\"]'"),
        ],
        exitStatuses: [2])

    private static let changes = Parameter.variadic("changes", .any("KEY=VALUE"), "a key and its new value")
    private static let unset = Option.list("unset", .any("KEY"), "remove a key")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = try BrokerFiles.checked(arguments[BrokerCommands.name]), files = BrokerFiles(session.context)
        guard let object = try files.object(name) else { throw files.missing(name) }
        guard !arguments[Self.changes].isEmpty || !arguments[Self.unset].isEmpty else {
            throw CredentialError(.usage, "no key to change is named", hint: "credmgr broker set --help")
        }
        var value = JSONValue.object(object)
        for key in arguments[Self.unset] { value = try Self.put(nil, at: Self.path(key), in: value, key) }
        for change in arguments[Self.changes] {
            guard let equals = change.firstIndex(of: "="), equals != change.startIndex else {
                throw CredentialError(.usage, "a change must be KEY=VALUE", hint: "credmgr broker set --help")
            }
            let key = String(change[..<equals]), text = String(change[change.index(after: equals)...])
            let new = (try? JSONValue.parse(text)) ?? .string(text)
            value = try Self.put(new, at: Self.path(key), in: value, key)
        }
        guard let changed = value.object else {
            throw CredentialError(.internalFault, "the file of broker \(name) is not an object")
        }
        try files.write(changed, of: name)
        session.notices.note("broker \(name) is changed in \(UntrustedText.shown(files.path(of: name)))")
    }

    private static func path(_ key: String) -> ArraySlice<String> {
        key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    }

    /// Returns a value with another at a path; an element of an array is named by its `name`, which may have dots.
    private static func put(
        _ new: JSONValue?, at path: ArraySlice<String>, in value: JSONValue, _ key: String
    ) throws(CredentialError) -> JSONValue {
        guard let first = path.first else { return new ?? .null }
        switch value {
        case .object(var object):
            if path.count == 1 {
                object[first] = new
            } else {
                object[first] = try put(new, at: path.dropFirst(), in: object[first] ?? .object(JSONObject()), key)
            }
            return .object(object)
        case .array(var elements):
            for length in 1...path.count {
                let name = path.prefix(length).joined(separator: ".")
                guard let place = elements.firstIndex(where: { $0.object?["name"]?.string == name }) else {
                    continue
                }
                let rest = path.dropFirst(length)
                if rest.isEmpty, new == nil {
                    elements.remove(at: place)
                } else {
                    elements[place] = try put(new, at: rest, in: elements[place], key)
                }
                return .array(elements)
            }
            throw CredentialError(.usage, "no entry '\(UntrustedText.shown(first, limit: 60))' in the broker's file")
        default:
            throw CredentialError(
                .usage, "key '\(UntrustedText.shown(key, limit: 200))' leads through a value that is not an object")
        }
    }
}
