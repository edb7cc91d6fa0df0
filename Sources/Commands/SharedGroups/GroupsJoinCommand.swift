import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups join`: this host asks to be let into a shared group.
struct GroupsJoinCommand: Command {
    static let spec = CommandSpec(
        ["groups", "join"], "ask to join a group that other hosts share",
        details: """
            Makes a key for this host and asks to join the group. It prints the host's name and the fingerprint of \
            its key. 'groups admit' on a host of the group requires both. With the group's passphrase, no approval \
            is needed. A host that waits can run this command again. credmgr accepts the first key that the \
            cluster has for this host as the group's key. With --group-fingerprint, it accepts only the key with \
            that fingerprint, and otherwise exits with 7. 'groups hosts' and 'groups admit' print the fingerprint \
            on a host of the group.
            """,
        parameters: [ClusterOption.group],
        options: ClusterOption.all + [ClusterOption.passphraseFile, groupFingerprint, SharedOption.json],
        exitStatuses: [5, 6, 7])

    private static let groupFingerprint = Option.value(
        "group-fingerprint", .any("FINGERPRINT"), "the required fingerprint of the group")

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
                .usage,
                "--group-fingerprint must be eight groups of four digits, as a host of the group prints them",
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
