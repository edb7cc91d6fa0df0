import CommandLine
import CredentialCore

/// `credmgr groups leave`: this host leaves a shared group.
struct GroupsLeaveCommand: Command {
    static let spec = CommandSpec(
        ["groups", "leave"], "remove this host from a shared group",
        details: """
            Removes this host from the group and forgets the group's accounts here. With --keep, the accounts \
            stay, with their labels and valid access tokens, but without the refresh tokens that the group still \
            uses. You have to sign in again. Only the last host also keeps the refresh tokens, and leaves the \
            cluster empty. With --forget, credmgr does not contact the cluster: use it for a host without access. \
            The other hosts list this host until one of them runs credmgr groups expel.
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
                ? "this host has left the group \(group), which is no longer shared"
                : "this host has left the group \(group)")
        if kept > 0 { session.notices.note("\(kept, one: "\(kept) account", other: "\(kept) accounts") kept here") }
        if let host = departure.untold {
            session.notices.warning(
                "the cluster does not list this host in the group; the group's other hosts may list it until one "
                    + "of them runs: credmgr groups expel \(group) \(host)")
        }
        guard let abandoned = departure.abandoned else { return }
        let many: LocalizedMessage =
            "\(abandoned.accounts, one: "\(abandoned.accounts) account", other: "\(abandoned.accounts) accounts")"
        session.notices.warning(
            "no host can decrypt the data of the group \(group) (\(many)) in the cluster; hosts with the group's "
                + "passphrase can still join; to remove the data: etcdctl del --prefix \(abandoned.path)")
    }

    private func forget(
        _ group: KeychainGroup, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) {
        let (host, lost) = try session.services(stores).groupMove.forget(group)
        session.notices.note(
            "this host has forgotten the group \(group); its other hosts list this host until one of them runs: "
                + "credmgr groups expel \(group) \(host)")
        guard lost > 0 else { return }
        session.notices.warning(
            "lost the data of \(lost, one: "\(lost) account", other: "\(lost) accounts") that only this host had")
    }
}
