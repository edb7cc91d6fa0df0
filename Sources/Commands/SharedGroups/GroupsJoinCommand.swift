import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups join`: this host asks to be let into a shared group.
struct GroupsJoinCommand: Command {
    static let spec = CommandSpec(
        ["groups", "join"], "ask to be let into a group that other hosts share",
        details: """
            Makes a key for this host and asks to be let in. It prints the host's name and the fingerprint of its key: \
            'groups admit' on a host of the group takes both. With the group's passphrase nobody is needed. A host that \
            waits may say it again. The first key that the cluster has for this host is taken for the group's, unless \
            --group-fingerprint says which it has, as 'groups hosts' and 'groups admit' show it on a host of the group: \
            then no other is taken (exit status 7).
            """,
        parameters: [ClusterOption.group],
        options: ClusterOption.all + [ClusterOption.passphraseFile, groupFingerprint, SharedOption.json],
        exitStatuses: [5, 6, 7])

    private static let groupFingerprint = Option.value(
        "group-fingerprint", .any("FINGERPRINT"), "the fingerprint that the group must have")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let stores = session.stores()
        var backend = try ClusterConfiguration(arguments, keyStore: try StoreChoice(session, stores).kind, session)
        backend.groupFingerprint = try arguments[Self.groupFingerprint].map(Self.checked)
        let passphrase = try session.groupPassphrase(arguments)
        let host: GroupMember
        do throws(CredentialError) {
            host = try session.services(stores).groupMove.join(group, by: backend, passphrase: passphrase)
        } catch { throw backend.explained(error, of: group, session) }
        try session.printHost(host, arguments)
        session.notices.note(
            host.isAdmitted
                ? "this host belongs to the group \(group)"
                : "on a host of the group: credmgr groups admit \(group) \(host.name) --fingerprint \(host.fingerprint)"
        )
    }
}

extension GroupsJoinCommand {
    /// The fingerprint of the option, in its usual form.
    private static func checked(_ text: String) throws(CredentialError) -> String {
        guard let fingerprint = KeyFingerprint.normalized(text) else {
            throw CredentialError(
                .usage, "--group-fingerprint takes eight groups of four digits, as a host of the group shows them",
                hint: "credmgr groups join --help")
        }
        return fingerprint
    }
}

extension GroupMember {
    /// The host as `--json` shows it.
    var json: JSONObject {
        var object = JSONObject()
        object["host"] = .string(name)
        if isDamaged {
            object["damaged"] = true
            return object
        }
        object["fingerprint"] = .string(fingerprint)
        object["admitted"] = .bool(isAdmitted)
        object["joined_at"] = .string(joinedAt.rfc3339)
        object["group_fingerprint"] = groupFingerprint.map(JSONValue.string)
        return object
    }
}
