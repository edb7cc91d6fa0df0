import Broker
import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr broker grants`.
struct BrokerGrantsCommand: Command {
    static let spec = CommandSpec(
        ["broker", "grants"], "list the consents that brokers remember",
        details: "Lists the callers that receive tokens without a prompt, and the end of each consent.",
        parameters: [name], options: [SharedOption.json])

    private static let name = Parameter.optional("name", .any("NAME"), "the broker; all without one")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let grants = session.context.brokerRecords.grants, now = session.context.clock.now
        var rows: [(broker: String, grant: ConsentGrant)] = []
        let brokers: [String]
        if let given = arguments[Self.name] {
            brokers = [try BrokerFiles.checked(given)]
        } else {
            brokers = try grants.brokers()
        }
        for broker in brokers {
            for grant in try grants.grants(of: broker) where grant.until > now { rows.append((broker, grant)) }
        }
        if arguments.wantsJSON {
            return try session.print(
                .array(
                    rows.map { broker, grant in
                        var json = JSONObject()
                        json["broker"] = .string(broker)
                        for (name, value) in grant.json.members { json[name] = value }
                        return .object(json)
                    }))
        }
        guard !rows.isEmpty else { return session.notices.note("no broker remembers a consent") }
        var table = Table(["BROKER", "ENTRY", "PROGRAM", "CALLER", "UNTIL"], whole: ["CALLER"])
        for (broker, grant) in rows {
            table.add([broker, grant.entry, grant.executable ?? "-", grant.caller.description, grant.until.rfc3339])
        }
        try session.print(table)
    }
}

/// `credmgr broker forget`.
struct BrokerForgetCommand: Command {
    static let spec = CommandSpec(
        ["broker", "forget"], "forget consents of a broker",
        details: "Deletes the consents of a broker, or those of one caller: its next request leads to a prompt.",
        parameters: [name], options: [caller],
        examples: [.init("one caller", "credmgr broker forget agents --caller unit:backup.service")])

    private static let name = Parameter.required("name", .any("NAME"), "the broker")
    private static let caller = Option.value("caller", .any("KEY"), "the caller, as 'broker grants' prints it")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let broker = try BrokerFiles.checked(arguments[Self.name])
        var key: CallerKey?
        if let text = arguments[Self.caller] {
            guard let read = CallerKey(text) else {
                throw CredentialError(
                    .usage, "'\(UntrustedText.shown(text))' is not a caller",
                    hint: "credmgr broker grants \(broker)")
            }
            key = read
        }
        let count = try session.context.brokerRecords.grants.forget(key, of: broker)
        session.notices.note(
            "forgot \(count, one: "\(count) consent", other: "\(count) consents") of broker \(broker)")
    }
}
