import CommandLine
import CredentialCore

/// `credmgr groups share`: a group of this machine becomes one of several hosts.
struct GroupsShareCommand: Command {
    static let spec = CommandSpec(
        ["groups", "share"], "share a group with other hosts through etcd",
        details: """
            Moves the accounts of a group into an etcd cluster, encrypted, so that other hosts can use the same \
            sign-ins: each refresh token is used by exactly one of them. Only ciphertext is written there; its key is \
            wrapped for each host, and this one is the first that has it. Further hosts come with 'groups join' and \
            'groups admit'.
            """,
        parameters: [ClusterOption.group],
        options: ClusterOption.all + [
            ClusterOption.passphraseFile, cacheTTL, takeOver, printSetup, SharedOption.json,
        ],
        examples: [
            .init(
                "share the group work",
                "credmgr groups share work --etcd https://etcd1:2379,https://etcd2:2379 --ca ca.pem --cert host.pem --key host.key"
            ),
            .init(
                "what an administrator of the cluster has to do once",
                "credmgr groups share work --print-etcd-setup"),
        ],
        exitStatuses: [5, 6, 7])

    private static let cacheTTL = Option.time(
        "cache-ttl", atLeast: 0, "how long a host keeps an access token before it asks the cluster again; 60 s")
    private static let takeOver = Option.time(
        "take-over", atLeast: 30, "when another host repeats a refresh that nobody knows the end of; else never")
    private static let printSetup = Option.flag(
        "print-etcd-setup", "print the commands that make user and role in the cluster, and end")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        if arguments[Self.printSetup] { return try printSetup(group, session) }
        let stores = session.stores()
        let passphrase = try session.groupPassphrase(arguments)
        if let passphrase {
            try NewPassphrase.check(
                passphrase, "the group's passphrase",
                hint: "use one of at least \(NewPassphrase.shortest) characters")
        }
        var backend = try GroupBackend(
            arguments, keyStore: try StoreChoice(session, stores).kind, session)
        if let seconds = arguments[Self.cacheTTL] { backend.cacheSeconds = seconds }
        backend.takeOverSeconds = arguments[Self.takeOver]
        let (host, count) = try session.services(stores).groupMove.share(group, by: backend, passphrase: passphrase)
        try session.printHost(host, arguments)
        session.notices.note(
            "the group \(group) is shared; \(count, one: "\(count) account", other: "\(count) accounts") moved into the cluster"
        )
    }

    private func printSetup(_ group: KeychainGroup, _ session: Session) throws(CredentialError) {
        let host = try GroupBackend.hostName(arguments)
        let prefix = arguments[ClusterOption.prefix] ?? GroupBackend.standardPrefix
        let role = "credmgr-\(group)"
        for words in [
            ["role", "add", role],
            [
                "role", "grant-permission", role, "--prefix=true", "readwrite",
                GroupBackend.path(of: group, below: prefix),
            ],
            ["user", "add", host, "--no-password"],
            ["user", "grant-role", host, role],
        ] { try session.print(ShellQuote.line(["etcdctl"] + words) + "\n") }
        session.notices.note(
            "the user is the common name of the host's certificate; the last two commands are for each host, and "
                + "'etcdctl auth enable' turns users on")
    }
}
