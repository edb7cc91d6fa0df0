import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups hosts`.
struct GroupsHostsCommand: Command {
    static let spec = CommandSpec(
        ["groups", "hosts"], "list the hosts of a shared group",
        details:
            "Lists the hosts that belong to a shared group or have asked to join, with the fingerprints of their "
            + "keys, and prints the group's own fingerprint.",
        parameters: [ClusterOption.group], options: [SharedOption.json], exitStatuses: [5, 6, 7])

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let sharing = session.context.machine.sharing
        let hosts = try sharing.membership.hosts(of: group)
        let backend = try sharing.backend(of: group)
        let own = backend?.host, fingerprint = try sharing.membership.fingerprint(of: group)
        if arguments.wantsJSON {
            return try session.print(
                .array(
                    hosts.map { host in
                        var object = host.json
                        object["this_host"] = .bool(host.name == own)
                        object["group_fingerprint"] = .string(fingerprint)
                        return .object(object)
                    }))
        }
        var table = Table(["HOST", "FINGERPRINT", "STATUS", "JOINED"])
        for host in hosts {
            if host.isDamaged {
                session.notices.warning(
                    CredentialError(
                        .storeDamaged,
                        "the record of the host \(UntrustedText.shown(host.name, limit: 80)) is damaged",
                        hint: LocalizedMessage(
                            verbatim: ShellQuoting.line(["credmgr", "groups", "expel", group.name, host.name]))))
                table.add([UntrustedText.shown(host.name, limit: 80), "", "damaged", ""])
                continue
            }
            table.add([
                host.name + (host.name == own ? " (this one)" : ""), host.fingerprint,
                host.isAdmitted ? "admitted" : "waits", host.joinedAt.rfc3339,
            ])
        }
        try session.print(table)
        session.notices.note("the group has the fingerprint \(fingerprint)")
        if let backend { session.notices.note("the hosts agreed on: \(backend.agreed)") }
    }
}

extension ClusterConfiguration {
    /// The settings that the hosts agree on.
    var agreed: LocalizedMessage {
        let takeOver: LocalizedMessage = takeOverSeconds.map { "\($0) s" } ?? "never"
        return "--cache-ttl \(cacheSeconds) s, --take-over \(takeOver)"
    }

    /// The same as `--json` shows it.
    var agreedJSON: JSONObject {
        var object = JSONObject()
        object["cache_ttl"] = .integer(cacheSeconds)
        object["take_over"] = takeOverSeconds.map(JSONValue.integer) ?? .null
        return object
    }
}
