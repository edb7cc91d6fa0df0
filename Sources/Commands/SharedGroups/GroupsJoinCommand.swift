import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups join`: this host asks to be let into a shared group.
struct GroupsJoinCommand: Command {
    static let spec = CommandSpec(
        ["groups", "join"], "ask to be let into a group that other hosts share",
        details: """
            Makes a key for this host and asks to be let in. It prints the host's name and the fingerprint of its key: \
            'groups admit' on a host of the group takes both. With the group's passphrase nobody is needed.
            """,
        parameters: [ClusterOption.group],
        options: ClusterOption.all + [ClusterOption.passphraseFile, SharedOption.json],
        exitStatuses: [5, 6, 7])

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let stores = session.stores()
        let backend = try GroupBackend(arguments, keyStore: try StoreChoice(session, stores).kind, session)
        let passphrase = try session.groupPassphrase(arguments)
        let host: SharedHost
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

extension SharedHost {
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
        return object
    }
}
