import CommandLine
import CredentialCore

/// `credmgr groups leave`: this host leaves a shared group.
struct GroupsLeaveCommand: Command {
    static let spec = CommandSpec(
        ["groups", "leave"], "take this host out of a shared group",
        details: """
            Takes this host out of the group and forgets the group's accounts here. With --keep they stay, with their \
            labels and the access tokens that are still valid, but without the refresh tokens that the group goes on using: \
            they have to sign in again. Only the last host keeps those, too, and the cluster is left empty. With --forget the \
            cluster is not asked, for a host that it lets in no more: the others have this host as one of theirs until one of them \
            says credmgr groups expel.
            """,
        parameters: [ClusterOption.group], options: [keep, forget], exitStatuses: [5, 6, 7])

    private static let keep = Option.flag("keep", "keep the accounts here")
    private static let forget = Option.flag("forget", "forget the group here without asking the cluster")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let stores = session.stores()
        guard !arguments[Self.forget] || !arguments[Self.keep] else {
            throw CredentialError(.usage, "--keep and --forget cannot go together")
        }
        if arguments[Self.forget] { return try forget(group, session, stores) }
        let store = arguments[Self.keep] ? try StoreChoice(session, stores).kind : nil
        let (kept, wasLast, departure) = try session.services(stores).groupMove.leave(group, keepingIn: store)
        session.notices.note(
            wasLast
                ? "this host has left the group \(group), which is shared no more"
                : "this host has left the group \(group)")
        if kept > 0 { session.notices.note("\(kept, one: "\(kept) account", other: "\(kept) accounts") kept here") }
        if let host = departure.untold {
            session.notices.warning(
                "the cluster does not know this host as one of the group; where the group is, its other hosts may have it as one of "
                    + "theirs until one of them says: credmgr groups expel \(group) \(host)")
        }
        guard let abandoned = departure.abandoned else { return }
        let many: LocalizedMessage =
            "\(abandoned.accounts, one: "\(abandoned.accounts) account", other: "\(abandoned.accounts) accounts")"
        session.notices.warning(
            "no host can open any more what the cluster still has of the group \(group) (\(many)); who has the group's passphrase "
                + "can still join; to take it away: etcdctl del --prefix \(abandoned.path)")
    }

    private func forget(
        _ group: KeychainGroup, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) {
        let (host, lost) = try session.services(stores).groupMove.forget(group)
        session.notices.note(
            "this host has forgotten the group \(group), whose other hosts have it as one of theirs until one of them says: "
                + "credmgr groups expel \(group) \(host)")
        guard lost > 0 else { return }
        session.notices.warning(
            "what only this host had of \(lost, one: "\(lost) account", other: "\(lost) accounts") is gone with it")
    }
}
