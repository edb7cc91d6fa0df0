import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// Hosts that share a group through real nodes of etcd: each a home of its own, with the types of one tenant.
struct SharedHosts {
    static let group = DemoTenant.group

    let nodes: EtcdNodes
    let tenant: DemoTenant
    /// The beginning of the group's keys; another one for each test.
    let prefix: String
    /// The hosts, by their names in the group.
    let names: [String]
    private let homes: [Home]

    /// Makes the hosts; no group is shared yet.
    init(
        _ nodes: EtcdNodes, _ names: [String] = ["one", "two"], variables: [String: String] = [:],
        _ change: (inout DemoSwitches) -> Void = { _ in }
    ) throws {
        self.nodes = nodes
        self.names = names
        prefix = "/credmgr/\(UUID().uuidString.prefix(8).lowercased())"
        tenant = try DemoTenant { switches in
            switches.rotation = .revokesOld
            change(&switches)
        }
        homes = try names.map { _ in try Home(variables, again: 10) }
        for home in homes { try tenant.define(at: home) }
    }

    subscript(_ name: String) -> Home { homes[names.firstIndex(of: name) ?? 0] }

    /// The options that say how the cluster is reached.
    func cluster(
        as name: String, user: String = "host", authorities: String? = nil, endpoints: [String]? = nil,
        prefix: String? = nil
    ) -> [String] {
        let files = nodes.certificate(of: user)
        return [
            "--etcd", (endpoints ?? nodes.endpoints).joined(separator: ","), "--ca",
            authorities ?? nodes.authorities,
            "--cert", files.certificate, "--key", files.key, "--prefix", prefix ?? self.prefix, "--name", name,
        ]
    }

    /// Signs Alice in on the first host, shares the group there, and lets the others in.
    ///
    /// - Returns: the account.
    func share(_ more: [String] = []) throws -> String {
        let id = try tenant.signIn(at: self[names[0]])
        try self[names[0]].run(["groups", "share", Self.group] + cluster(as: names[0]) + more)
        for name in names.dropFirst() { try letIn(name) }
        return id
    }

    /// Has a host join, and the first one admit it.
    func letIn(_ name: String) throws {
        let shown = try self[name].json(["groups", "join", Self.group, "--json"] + cluster(as: name))
        let fingerprint = try #require(shown.object?["fingerprint"]?.string)
        try self[names[0]].run(["groups", "admit", Self.group, name, "--fingerprint", fingerprint])
    }

    /// The words of `credmgr token` for the tenant's type.
    static func token(_ more: String...) -> [String] { ["token", "--type", DemoTenant.typeName] + more }
}
