import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr types show`.
struct TypesShowCommand: Command {
    static let spec = CommandSpec(
        ["types", "show"], "show one account type", parameters: [name], options: [SharedOption.json])

    private static let name = Parameter.required("name", .type, "the account type")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let definition = try session.catalog.definition(of: arguments[Self.name])
        var json = definition.type.json
        // A secret in the file itself is not shown.
        if json["client_secret"]?.string != nil { json["client_secret"] = "[redacted]" }
        if json["private_key"]?.string != nil { json["private_key"] = "[redacted]" }
        if arguments.wantsJSON {
            var object = JSONObject()
            object["name"] = .string(definition.type.name)
            object["path"] = .string(definition.path)
            for (name, value) in json.members { object[name] = value }
            return try session.print(.object(object))
        }
        session.notices.note("\(definition.type.name) is defined in \(definition.path)")
        let width = json.keys.map(\.count).max() ?? 0
        let lines = json.members.map { name, value in
            name + String(repeating: " ", count: width - name.count + 2)
                + UntrustedText.shown(value.string ?? value.text(), limit: 1_000) + "\n"
        }
        try session.print(lines.joined())
        if let redirect = defaultRedirectURI(of: definition.type, session) {
            session.notices.note(
                "redirect_uri is not set: register \(redirect) at the provider (each sign-in chooses a port)")
        }
    }
    /// The redirect URI that sign-ins use, if the definition does not name one.
    private func defaultRedirectURI(of type: AccountType, _ session: CommandSession) -> String? {
        guard type.redirectURI == nil, type.signInFlow == .code,
            // Commands that use the type report a missing adapter.
            let adapter = try? session.context.adapters.adapter(of: type),
            adapter.defaultRedirectURI.hasPrefix("http")
        else { return nil }
        return adapter.defaultRedirectURI
    }
}
