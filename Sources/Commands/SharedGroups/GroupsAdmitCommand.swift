import CommandLine
import CredentialCore

/// `credmgr groups admit`: gives a host that has asked the group's key.
struct GroupsAdmitCommand: Command {
    static let spec = CommandSpec(
        ["groups", "admit"], "approve a host for a shared group",
        details: """
            Gives the group's key to a host that has run 'groups join'. That host printed its fingerprint: pass \
            the fingerprint with --fingerprint, or compare it when asked. The command prints the group's own \
            fingerprint, which that host can require with --group-fingerprint.
            """,
        parameters: [ClusterOption.group, ClusterOption.host], options: [fingerprint],
        exitStatuses: [3, 5, 6, 7])

    private static let fingerprint = Option.value(
        "fingerprint", .any("FINGERPRINT"), "the fingerprint that the host itself has printed")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let name = arguments[ClusterOption.host]
        let membership = session.context.machine.sharing.membership
        let fingerprint =
            if let given = arguments[Self.fingerprint] { given } else {
                try compared(name, group, membership, session)
            }
        try membership.admit(name, fingerprint: fingerprint, to: group)
        session.notices.note("\(name) belongs to the group \(group)")
        try session.print("group fingerprint: \(try membership.fingerprint(of: group))\n")
    }

    /// Has a person compare the fingerprint.
    private func compared(
        _ name: String, _ group: KeychainGroup, _ membership: any GroupMembershipService, _ session: CommandSession
    ) throws(CredentialError) -> String {
        guard session.mayAsk else {
            throw CredentialError(
                .usage, "cannot ask whether the fingerprint is right without a terminal",
                hint: "use --fingerprint with the fingerprint that \(name) itself has printed")
        }
        guard let host = try membership.hosts(of: group).first(where: { $0.name == name }) else {
            throw CredentialError(
                .noSuchAccount, "no host called \(UntrustedText.shown(name, limit: 80)) has asked to join",
                hint: "credmgr groups hosts \(group)")
        }
        session.notices.say("fingerprint: \(host.fingerprint)")
        let answer = try session.context.console.ask("Does \(name) show the same? [y/N] ", isSecret: false).reveal()
        guard ["y", "Y", "yes"].contains(answer) else {
            throw CredentialError(.denied, "\(name) was not approved")
        }
        return host.fingerprint
    }
}
