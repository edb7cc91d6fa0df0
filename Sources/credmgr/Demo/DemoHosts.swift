import Commands
import CredentialCore
import DemoProvider
import LocalMachine
import Platform

/// `credmgr demo --hosts 3`: the rules of docs/how-to/many-hosts.md, with real nodes of etcd, and a home for each
/// host.
struct DemoHosts {
    let machine: Machine
    let session: CommandSession
    let provider: DemoProvider
    /// The provider's address.
    let base: String

    private static let group = "work"
    private static let type = "Work"
    private static let names = ["alpha", "beta", "gamma", "delta", "epsilon"]
    /// How long the nodes may take until they have a leader, in seconds.
    private static let patience: Int64 = 60

    /// Plays it in a folder, which has everything that is made, keys too.
    func play(_ count: Int, in folder: String) throws(CredentialError) {
        let names = Array(Self.names[..<count])
        let environment = machine.local.environment
        try DemoNodes.makeCertificates(names, in: folder, environment)
        let nodes = try DemoNodes(in: folder, environment)
        defer { nodes.stop() }
        var hosts: [DemoStage] = []
        defer { for host in hosts { host.cleanUp() } }
        for name in names {
            let home = try PrivateDirectory.create([name], below: folder).path
            hosts.append(DemoStage(machine: machine, session: session, home: home, base: base, prompt: "\(name)$"))
        }
        var first = hosts[0]
        try first.title("Three nodes of etcd run here, with TLS: \(nodes.endpoints.joined(separator: ", "))")
        for host in hosts { try define(host) }

        try first.title("Alice signs in on alpha, once; alpha shares the group")
        try first.signIn(DemoUser.standard[0], type: Self.type)
        try first.run(
            ["groups", "share", Self.group] + cluster(nodes, "alpha"), patience: Self.patience)

        try first.title("The other hosts ask to join, and alpha approves their fingerprints")
        for (name, host) in zip(names, hosts).dropFirst() {
            let shown = try host.run(["groups", "join", Self.group] + cluster(nodes, name)).output
            let line = shown.split(separator: "\n").first { $0.hasPrefix("fingerprint: ") }
            let fingerprint = line.map { String($0.dropFirst("fingerprint: ".count)) } ?? ""
            try first.run(["groups", "admit", Self.group, name, "--fingerprint", fingerprint])
        }

        try first.title("The same sign-in everywhere")
        for host in hosts { try host.showToken(["token", "--type", Self.type]) }
        try tell(first)

        try first.title("A node is killed, and every host refreshes: each refresh token is used once")
        nodes.kill(0)
        try first.say(LocalizedMessage(verbatim: "($ kill -9: \(nodes.endpoints[0]))"))
        for host in hosts {
            try host.showToken(["token", "--type", Self.type, "--force-refresh"], patience: Self.patience)
        }
        try tell(first)

        try first.title("A host signs out, which applies to all hosts")
        try first.run(["groups", "hosts", Self.group])
        try hosts[count - 1].run(["logout", "--all", "--yes"])
        try first.run(["accounts"])
        try first.end("That was a group of \(count) hosts. docs/how-to/many-hosts.md has the rest.")
    }

    private func define(_ host: DemoStage) throws(CredentialError) {
        try host.run([
            "types", "add", Self.type, "--adapter", "azure-b2c", "--authority",
            "\(base)/exampleb2c.onmicrosoft.com/", "--policy", "sign-in=b2c_1_sign_in", "--default-policy",
            "sign-in",
            "--client-id", DemoSettings.clientID, "--redirect-uri", "urn:ietf:wg:oauth:2.0:oob", "--keychain-group",
            Self.group,
        ])
    }

    private func cluster(_ nodes: DemoNodes, _ name: String) -> [String] {
        [
            "--etcd", nodes.endpoints.joined(separator: ","), "--ca", "../ca.pem", "--cert", "../\(name).pem",
            "--key",
            "../\(name).key", "--name", name,
        ]
    }

    private func tell(_ stage: DemoStage) throws(CredentialError) {
        let counters = provider.counters
        try stage.say(
            "(refreshes that the provider has seen: \(counters.refreshes), refresh tokens used twice: "
                + "\(counters.reusesDetected))")
    }
}
