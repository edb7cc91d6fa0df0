import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups hosts`.
struct GroupsHostsCommand: Command {
    static let spec = CommandSpec(
        ["groups", "hosts"], "list the hosts of a shared group",
        details:
            "Lists the hosts that belong to a shared group, or have asked to, with the fingerprints of their keys.",
        parameters: [ClusterOption.group], options: [SharedOption.json], exitStatuses: [5, 6, 7])

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let sharing = session.context.machine.sharing
        let hosts = try sharing.membership.hosts(of: group)
        let own = try sharing.backend(of: group)?.host
        if arguments.wantsJSON {
            return try session.print(
                .array(
                    hosts.map { host in
                        var object = host.json
                        object["this_host"] = .bool(host.name == own)
                        return .object(object)
                    }))
        }
        var table = Table(["HOST", "FINGERPRINT", "STATUS", "JOINED"])
        for host in hosts {
            table.add([
                host.name + (host.name == own ? " (this one)" : ""), host.fingerprint,
                host.isAdmitted ? "admitted" : "waits", host.joinedAt.rfc3339,
            ])
        }
        try session.print(table)
    }
}
