import Foundation

/// Real nodes of etcd on the loopback, with TLS both ways and a role for each user.
public final class EtcdNodes: Sendable {
    private struct Facts: Decodable {
        let endpoints: [String], folder: String, pids: [Int32]
    }

    private let script: ServerScript
    private let facts: Facts

    private static let one = Result { try EtcdNodes(1) }

    /// The one node of all tests of this process that leave a node as it is; started at first use. Each test uses
    /// keys below a prefix of its own.
    ///
    /// - Throws: ``ServerFailure``.
    public static func shared() throws -> EtcdNodes { try one.get() }

    /// Starts the nodes and waits until they have a leader.
    ///
    /// - Parameter election: after how many milliseconds without a leader there is an election.
    /// - Throws: ``ServerFailure``.
    public init(_ count: Int = 3, election: Int = 10_000) throws {
        script = try ServerScript("etcd", environment: ["NODES": "\(count)", "ELECTION": "\(election)"])
        facts = try JSONDecoder().decode(Facts.self, from: script.facts)
    }

    /// `https://127.0.0.1:PORT` of each.
    public var endpoints: [String] { facts.endpoints }
    /// The nodes' authority.
    public var authorities: String { facts.folder + "/ca.pem" }
    /// An authority that has signed no certificate of the nodes.
    public var wrongAuthorities: String { facts.folder + "/wrong-ca.pem" }

    /// The certificate and the key of a user: `host` may use `/credmgr/`, `other` may use `/other/`, `stranger` is
    /// of another authority.
    public func certificate(of user: String) -> (certificate: String, key: String) {
        (facts.folder + "/\(user).pem", facts.folder + "/\(user).key")
    }

    /// Puts a record as the cluster's administrator.
    ///
    /// - Throws: ``ServerFailure``.
    public func put(_ key: String, _ value: String) throws { try put(key, Data(value.utf8)) }

    /// Puts a record that is no text.
    ///
    /// - Throws: ``ServerFailure``.
    public func put(_ key: String, _ value: Data) throws {
        // A value may hold any byte, and a program's input here is text.
        try administer(["put", key], after: "base64 -d |", input: value.base64EncodedString())
    }

    /// The value of a record.
    ///
    /// - Throws: ``ServerFailure``.
    public func record(_ key: String) throws -> Data {
        let shown = try administer(["get", key, "--print-value-only"], before: "| head -c -1 | base64 -w 0")
        guard let value = Data(base64Encoded: shown), !value.isEmpty else {
            throw ServerFailure(description: "etcd has no record \(key)")
        }
        return value
    }

    /// Forgets how the records came to be as they are at a revision.
    ///
    /// - Throws: ``ServerFailure``.
    public func compact(to revision: Int64) throws { try administer(["compaction", "\(revision)"]) }

    /// Which node is the leader.
    ///
    /// - Throws: ``ServerFailure``.
    public func leader() throws -> Int {
        struct Answer: Decodable {
            struct Status: Decodable {
                struct Header: Decodable { let member_id: UInt64 }
                let header: Header, leader: UInt64
            }
            let Endpoint: String, Status: Status
        }
        let shown = try administer(["endpoint", "status", "--write-out", "json"])
        let answers = try JSONDecoder().decode([Answer].self, from: Data(shown.utf8))
        guard let leader = answers.first(where: { $0.Status.header.member_id == $0.Status.leader }),
            let node = endpoints.firstIndex(of: leader.Endpoint)
        else { throw ServerFailure(description: "the nodes have no leader") }
        return node
    }

    @discardableResult
    private func administer(
        _ words: [String], after start: String = "", before end: String = "", input: String = ""
    ) throws -> String {
        let root = certificate(of: "root")
        let outcome = try ChildProcess(
            "/bin/bash",
            [
                "-c", "set -o pipefail; \(start) etcdctl \"$@\" \(end)", "etcdctl",
                "--endpoints", endpoints.joined(separator: ","), "--cacert", authorities, "--cert",
                root.certificate, "--key", root.key,
            ] + words, environment: ["PATH": "/usr/bin:/bin", "ETCDCTL_API": "3"]
        ).run(input: input)
        guard outcome.exitStatus == 0 else { throw ServerFailure(description: "etcdctl: \(outcome.standardError)") }
        return outcome.standardOutput
    }

    /// Stops a node as if its machine stood still, or lets it go on.
    public func pause(_ node: Int, _ isPaused: Bool = true) { kill(facts.pids[node], isPaused ? SIGSTOP : SIGCONT) }

    /// The contents of the data folders of all nodes.
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

    /// Ends the nodes; a second call has no effect.
    public func stop() { script.stop() }
}
