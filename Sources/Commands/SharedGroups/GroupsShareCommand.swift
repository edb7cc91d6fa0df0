import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups share`: a group of this machine becomes one of several hosts.
struct GroupsShareCommand: Command {
    static let spec = CommandSpec(
        ["groups", "share"], "share a group with other hosts through etcd",
        details: """
            Moves the accounts of a group into an etcd cluster, encrypted, so that other hosts can use the same \
            accounts. Exactly one host uses each refresh token. credmgr writes only ciphertext to the cluster. It \
            wraps the key for each host, and this host is the first. Further hosts join with 'groups join' and \
            'groups admit'. For a shared group, --cache-ttl and --take-over without --etcd change the settings of \
            the group. --print-etcd-setup and --print-etcd-cluster share no group. They print shell commands: for \
            the administrator of a cluster, or for a node on this machine with an authority, certificates and \
            users. You can run the commands again: they do only what is missing.
            """,
        parameters: [ClusterOption.group],
        options: ClusterOption.all + [
            ClusterOption.passphraseFile, cacheTTL, takeOver, printSetup, printCluster, ClusterOption.hosts,
            SharedOption.json,
        ],
        examples: [
            .init(
                "share the group work",
                "credmgr groups share work --etcd https://etcd1:2379,https://etcd2:2379 --ca ca.pem --cert host.pem --key host.key"
            ),
            .init(
                "commands for the administrator of a cluster for three hosts",
                "credmgr groups share work --print-etcd-setup --hosts alpha,beta,gamma"),
            .init(
                "without etcd: a node on this machine, alpha, for three hosts",
                "credmgr groups share work --print-etcd-cluster --etcd https://alpha:2389 --hosts alpha,beta,gamma | sh"
            ),
        ],
        exitStatuses: [5, 6, 7])

    private static let cacheTTL = Option.time(
        "cache-ttl", atLeast: 0, "the time that a host caches an access token (default: 60 s)")
    private static let takeOver = Option.timeOrNever(
        "take-over", atLeast: 30, "time until another host repeats an unfinished refresh (default: never)")
    private static let printSetup = Option.flag(
        "print-etcd-setup", "print commands that create users and role in the cluster, and exit")
    private static let printCluster = Option.flag(
        "print-etcd-cluster", "print commands that start a cluster node on this machine, and exit")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        if arguments[Self.printCluster] { return try printCluster(group, session) }
        if arguments[Self.printSetup] { return try printSetup(group, session) }
        guard arguments[ClusterOption.hosts] == nil else {
            throw CredentialError(.usage, "--hosts requires --print-etcd-setup or --print-etcd-cluster")
        }
        let isChange = arguments[Self.cacheTTL] != nil || arguments[Self.takeOver] != nil
        if isChange, arguments[ClusterOption.etcd] == nil, try session.context.machine.sharing.isShared(group) {
            return try change(group, session)
        }
        let stores = session.stores()
        let passphrase = try session.groupPassphrase(arguments)
        if let passphrase {
            try PassphraseRules.check(
                passphrase, "the group's passphrase",
                hint: "use a passphrase of at least \(PassphraseRules.shortest) characters")
        }
        var backend = try ClusterConfiguration(
            arguments, keyStore: try StoreChoice(session, stores).kind, session)
        if let seconds = arguments[Self.cacheTTL] { backend.cacheSeconds = seconds }
        backend.takeOverSeconds = arguments[Self.takeOver]?.time
        let (host, count): (GroupMember, Int)
        do throws(CredentialError) {
            (host, count) = try session.services(stores).groupMove.share(group, by: backend, passphrase: passphrase)
        } catch { throw backend.explained(error, of: group, session) }
        try session.printHost(host, arguments)
        session.notices.note(
            "the group \(group) is shared; \(count, one: "\(count) account", other: "\(count) accounts") moved into the cluster"
        )
    }

    private func change(_ group: KeychainGroup, _ session: CommandSession) throws(CredentialError) {
        let sharing = session.context.machine.sharing
        try sharing.membership.change(
            group, cacheSeconds: arguments[Self.cacheTTL], takeOverSeconds: arguments[Self.takeOver].map(\.time))
        guard let backend = try sharing.backend(of: group) else { return }
        if arguments.wantsJSON { return try session.print(.object(backend.agreedJSON)) }
        session.notices.note("the hosts of the group \(group) agreed on: \(backend.agreed)")
    }

    private func printSetup(_ group: KeychainGroup, _ session: CommandSession) throws(CredentialError) {
        try session.print(try etcdCommands(group, ClusterConfiguration.isUser).setup)
        session.notices.note(
            "a user is the common name of its host's certificate; if users are off, run 'etcdctl auth enable'"
        )
    }

    private func printCluster(_ group: KeychainGroup, _ session: CommandSession) throws(CredentialError) {
        // They are part of the text of a script.
        let commands = try etcdCommands(group, Identifier.isValid)
        if let taken = commands.hosts.first(where: EtcdCommands.ownNames.contains) {
            throw CredentialError(
                .usage, "'\(taken)' cannot be a host's name in a group",
                hint: "choose another host name with --name")
        }
        var endpoints: [EtcdEndpoint] = []
        for address in try ClusterConfiguration.addresses(arguments) {
            guard let endpoint = EtcdEndpoint(address), !endpoints.contains(where: { $0.host == endpoint.host })
            else {
                throw CredentialError(
                    .usage, "cannot start a node for \(address.origin)",
                    hint: "use a separate https host for each node, such as --etcd https://HOST:2379")
            }
            endpoints.append(endpoint)
        }
        let name = try ClusterConfiguration.hostName(arguments).lowercased()
        let own = endpoints.filter { endpoints.count == 1 || $0.host == name || $0.host.hasPrefix(name + ".") }
        guard own.count == 1 else {
            throw CredentialError(
                .usage, "--etcd does not name the node of \(name)",
                hint: "use --name with the host of one of the endpoints")
        }
        try session.print(commands.cluster(endpoints, on: own[0]))
        session.notices.note(
            "pipe the output to sh: it creates the directory \(EtcdCommands.folder(of: group)) here, with the "
                + "certificates, and runs a node"
        )
    }

    private func etcdCommands(
        _ group: KeychainGroup, _ isValid: (String) -> Bool
    ) throws(CredentialError) -> EtcdCommands {
        EtcdCommands(
            group: group, prefix: try ClusterConfiguration.prefix(arguments),
            hosts: try ClusterConfiguration.hostNames(arguments, isValid))
    }
}

extension DurationOrNever {
    /// The time; `nil` for never.
    fileprivate var time: Int64? {
        switch self {
        case .seconds(let seconds): seconds
        case .never: nil
        }
    }
}
