import Broker
import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr broker add`.
struct BrokerAddCommand: Command {
    static let spec = CommandSpec(
        ["broker", "add"], "define a broker, or add entries to it",
        details: """
            Adds an entry for each --type, named as the type, and prints the path of the socket. The scopes, \
            resources and audiences are the most that a caller may request.
            """,
        parameters: [BrokerCommands.name],
        options: [type, account, scope, resource, audience, origin, release, lifetime, ask, speak],
        examples: [
            .init(
                "read access for eight hours", "credmgr broker add dev --type Work --scope read --release token --for 8h")
        ],
        exitStatuses: [2])

    private static let type = Option.list("type", .type, "the account type; repeat for more entries")
    private static let account = Option.value("account", .account, "the account; else the type's default")
    private static let scope = Option.words("scope", .any("SCOPES"), "the scopes that callers may request")
    private static let resource = Option.list("resource", .any("URI"), "a resource that callers may request")
    private static let audience = Option.list("audience", .any("AUDIENCE"), "an audience that callers may request")
    private static let origin = Option.list("origin", .any("ORIGIN"), "an origin that the token may go to")
    private static let release = Option.choice(
        "release", "RELEASE", of: BrokerEntry.Release.self, "the form in which callers get tokens")
    private static let lifetime = Option.time("for", atLeast: 1, "end the broker this long after the first connection")
    private static let ask = Option.choice(
        "ask", "WHEN", of: BrokerConfiguration.Ask.self, "when to ask for consent")
    private static let speak = Option.choice(
        "speak", "LANGUAGE", of: BrokerConfiguration.Language.self, "a further language of the socket")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = try BrokerFiles.checked(arguments[BrokerCommands.name]), files = BrokerFiles(session.context)
        let types = arguments[Self.type]
        guard !types.isEmpty else {
            throw CredentialError(.usage, "--type is required", hint: "credmgr broker add --help")
        }
        guard arguments[Self.release] != nil || !arguments[Self.origin].isEmpty else {
            throw CredentialError(
                .usage, "--release or --origin is required",
                hint: "to release tokens: credmgr broker add \(name) --type \(types[0]) --release token")
        }
        var object = try files.object(name) ?? JSONObject()
        var entries = object["entries"]?.array ?? []
        for typeName in types {
            let type = try TargetResolver(session).type(named: typeName)
            try checkOrigins(of: type, session)
            guard !entries.contains(where: { $0.object?["name"]?.string == typeName }) else {
                throw CredentialError(
                    .usage, "broker \(name) has an entry \(typeName) already",
                    hint: "credmgr broker set \(name) entries.\(typeName).KEY=VALUE")
            }
            entries.append(.object(entry(of: typeName)))
        }
        object["entries"] = .array(entries)
        if let seconds = arguments[Self.lifetime] { object["for"] = .integer(seconds) }
        if let ask = arguments[Self.ask] { object["ask"] = .string(ask.rawValue) }
        if let language = arguments[Self.speak] {
            var speak = object["speak"]?.array ?? [.string(BrokerConfiguration.Language.credmgr.rawValue)]
            if !speak.contains(.string(language.rawValue)) { speak.append(.string(language.rawValue)) }
            object["speak"] = .array(speak)
        }
        try files.write(object, of: name)
        session.notices.note("broker \(name) is defined in \(UntrustedText.shown(files.path(of: name)))")
        try session.print(session.context.brokers.socketPath(of: name) + "\n")
    }

    private func entry(of type: String) -> JSONObject {
        var entry = JSONObject(["name": .string(type), "type": .string(type)])
        entry["account"] = arguments[Self.account].map(JSONValue.string)
        if !arguments[Self.scope].isEmpty { entry["scope"] = JSONValue(arguments[Self.scope]) }
        if !arguments[Self.resource].isEmpty { entry["resource"] = JSONValue(arguments[Self.resource]) }
        if !arguments[Self.audience].isEmpty { entry["audience"] = JSONValue(arguments[Self.audience]) }
        if !arguments[Self.origin].isEmpty { entry["origins"] = JSONValue(arguments[Self.origin]) }
        entry["release"] = arguments[Self.release].map { .string($0.rawValue) }
        return entry
    }

    /// Refuses an origin that tokens of the type do not go to.
    private func checkOrigins(of type: AccountType, _ session: CommandSession) throws(CredentialError) {
        for text in arguments[Self.origin] {
            let shown = UntrustedText.shown(text, limit: 200)
            guard let origin = BrokerOrigin(text) else {
                throw CredentialError(.usage, "'\(shown)' is not an origin such as https://api.example.com")
            }
            let rules = TargetResolver(session).authority.rules(for: origin.destination)
            guard
                TokenDestinationPolicy.isAPI(of: type, origin.destination)
                    || rules.contains(where: { $0.type == nil || $0.type == type.name })
            else {
                throw CredentialError(
                    .usage, "tokens of account type \(type.name) do not go to \(shown)",
                    hint: "credmgr types set \(type.name) api_origins='[\"\(shown)\"]'")
            }
        }
    }
}
