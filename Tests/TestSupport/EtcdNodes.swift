import Foundation

/// Real nodes of etcd on the loopback, with TLS both ways and a role for each user.
public final class EtcdNodes: Sendable {
    private struct Facts: Decodable {
        let endpoints: [String], folder: String, pids: [Int32]
    }

    private let script: ServerScript
    private let facts: Facts

    /// Starts the nodes and waits until they have a leader.
    ///
    /// - Throws: ``ServerFailure``.
    public init(_ count: Int = 3) throws {
        script = try ServerScript("etcd", environment: ["NODES": "\(count)"])
        facts = try JSONDecoder().decode(Facts.self, from: script.facts)
    }

    /// `https://127.0.0.1:PORT` of each.
    public var endpoints: [String] { facts.endpoints }
    /// The nodes' authority.
    public var authorities: String { facts.folder + "/ca.pem" }
    /// An authority that has signed none of them.
    public var wrongAuthorities: String { facts.folder + "/wrong-ca.pem" }

    /// The certificate and the key of a user: `host` may use `/credmgr/`, `other` may use `/other/`, `stranger` is of
    /// another authority.
    public func certificate(of user: String) -> (certificate: String, key: String) {
        (facts.folder + "/\(user).pem", facts.folder + "/\(user).key")
    }

    /// Puts a record as the cluster's administrator.
    ///
    /// - Throws: ``ServerFailure``.
    public func put(_ key: String, _ value: String) throws {
        let root = certificate(of: "root")
        let outcome = try ChildProcess(
            "etcdctl",
            [
                "--endpoints", endpoints.joined(separator: ","), "--cacert", authorities, "--cert",
                root.certificate,
                "--key", root.key, "put", key, value,
            ], environment: ["PATH": "/usr/bin:/bin", "ETCDCTL_API": "3"]
        ).run()
        guard outcome.exitStatus == 0 else { throw ServerFailure(description: "etcdctl: \(outcome.standardError)") }
    }

    /// Stops a node as if its machine stood still, or lets it go on.
    public func pause(_ node: Int, _ isPaused: Bool = true) { kill(facts.pids[node], isPaused ? SIGSTOP : SIGCONT) }

    /// What the data folders of all nodes hold.
    public func everything() throws -> [Data] {
        var found: [Data] = []
        for case let name as String in FileManager.default.enumerator(atPath: facts.folder) ?? .init() {
            guard name.hasPrefix("n"), let data = FileManager.default.contents(atPath: facts.folder + "/" + name)
            else {
                continue
            }
            found.append(data)
        }
        return found
    }

    /// Ends the nodes; a second call does nothing.
    public func stop() { script.stop() }
}
