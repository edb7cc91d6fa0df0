import CommandLine
import CredentialCore

/// `credmgr groups admit`: gives a host that has asked the group's key.
struct GroupsAdmitCommand: Command {
    static let spec = CommandSpec(
        ["groups", "admit"], "let a host into a shared group",
        details: """
            Gives a host that has asked with 'groups join' the group's key. Its fingerprint is the one that was printed \
            there: give it with --fingerprint, or compare it when asked. It prints the group's own fingerprint, which \
            that host may ask for with --group-fingerprint.
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
                .usage, "nobody can be asked here whether the fingerprint is right",
                hint: "give it with --fingerprint, as \(name) itself has printed it")
        }
        guard let host = try membership.hosts(of: group).first(where: { $0.name == name }) else {
            throw CredentialError(
                .noSuchAccount, "no host called \(UntrustedText.shown(name, limit: 80)) has asked to join",
                hint: "credmgr groups hosts \(group)")
        }
        session.notices.say("fingerprint: \(host.fingerprint)")
        let answer = try session.context.console.ask("Does \(name) show the same? [y/N] ", isSecret: false).reveal()
        guard ["y", "Y", "yes"].contains(answer) else {
            throw CredentialError(.denied, "\(name) was not admitted")
        }
        return host.fingerprint
    }
}
