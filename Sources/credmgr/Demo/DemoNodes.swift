import CredentialCore
import LoopbackHTTP
import Platform

/// Nodes of etcd on the loopback, with TLS both ways, in a folder that is thrown away.
struct DemoNodes {
    /// `https://127.0.0.1:PORT` of each.
    let endpoints: [String]
    private let nodes: [DemoNode]

    /// Starts three nodes, each with certificate and key `node.pem` and `node.key` of the folder; they have a
    /// leader a moment later.
    ///
    /// - Throws: ``ErrorCode/configuration`` if etcd is not installed.
    init(in folder: String, _ environment: [String: String]) throws(CredentialError) {
        let etcd = try Self.find("etcd", package: "etcd-server", environment)
        let ports = try Self.freePorts(6).map { "https://127.0.0.1:\($0)" }
        let clients = Array(ports[..<3]), peers = Array(ports[3...])
        let cluster = peers.enumerated().map { "n\($0)=\($1)" }.joined(separator: ",")
        var nodes: [DemoNode] = []
        for number in clients.indices {
            let words = [
                "--name", "n\(number)", "--data-dir", "\(folder)/n\(number)", "--listen-client-urls",
                clients[number],
                "--advertise-client-urls", clients[number], "--listen-peer-urls", peers[number],
                "--initial-advertise-peer-urls", peers[number], "--initial-cluster", cluster,
                "--client-cert-auth", "--peer-client-cert-auth", "--trusted-ca-file", "ca.pem", "--cert-file",
                "node.pem",
                "--key-file", "node.key", "--peer-trusted-ca-file", "ca.pem", "--peer-cert-file", "node.pem",
                "--peer-key-file", "node.key",
            ]
            nodes.append(try DemoNode([etcd] + words, in: folder, environment))
        }
        endpoints = clients
        self.nodes = nodes
    }

    /// Kills a node, as if its machine had lost its power.
    func kill(_ number: Int) { nodes[number].stop() }

    /// Ends all of them.
    func stop() { for node in nodes { node.stop() } }

    /// Makes the authority of the nodes and its certificates: one for all nodes, `node`, and one of each host.
    ///
    /// - Throws: ``ErrorCode/configuration`` if openssl is not installed.
    static func makeCertificates(
        _ hosts: [String], in folder: String, _ environment: [String: String]
    ) throws(CredentialError) {
        let openssl = try find("openssl", package: "openssl", environment)
        for name in ["ca", "node"] + hosts {
            var words = [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                "-subj",
                "/CN=\(name)", "-keyout", "\(name).key", "-out", "\(name).pem",
            ]
            if name != "ca" {
                words += ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1"]
            }
            var launch = SpawnConfiguration(openssl, words, environment: environment)
            launch.directory = folder
            let outcome = try ChildProgram(launch, seconds: 60).run()
            guard case .ended(.exited(0)) = outcome.ending else {
                throw CredentialError(
                    .internalFault,
                    "openssl cannot create a certificate: "
                        + "\(UntrustedText.shown(String(decoding: outcome.errorOutput, as: UTF8.self)))"
                )
            }
        }
    }

    private static func find(
        _ program: String, package: String, _ environment: [String: String]
    ) throws(CredentialError) -> String {
        guard let path = ExecutablePath.find(program, environment: environment) else {
            throw CredentialError(
                .configuration, "the program \(program) is not installed", hint: "apt-get install \(package)")
        }
        return path
    }

    /// Ports of localhost that no program listens on.
    private static func freePorts(_ count: Int) throws(CredentialError) -> [UInt16] {
        var servers: [LoopbackServer] = []
        defer { for server in servers { server.stop() } }
        for _ in 0..<count {
            servers.append(try LoopbackServer { _ in .text(404, "") })
        }
        return servers.map(\.port)
    }
}

/// A node, which ends with this process however that ends: a shell beside it waits for the end of its own input.
private final class DemoNode {
    private var shell: RunningProgram

    private static let script = #""$@" & cat; kill -9 $!; wait $!"#

    init(_ words: [String], in folder: String, _ environment: [String: String]) throws(CredentialError) {
        var launch = SpawnConfiguration("/bin/sh", ["-c", Self.script, "sh"] + words, environment: environment)
        launch.directory = folder
        launch.standardInput = .pipe
        shell = try launch.start()
    }

    deinit { stop() }

    func stop() {
        if let input = shell.input.take() {
            _ = consume input
            _ = shell.wait()
        }
    }
}
