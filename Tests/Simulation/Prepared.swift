import CredentialCore
import Synchronization
import TestPorts

@testable import SharedGroups

/// Machines with one person's account, as every run begins.
struct Prepared: Sendable {
    var cluster = SimulatedCluster.Content()
    var hosts: [SimulatedHost.Kept] = []
    var current: [Int?] = []

    private static let known = Mutex<[String: Prepared]>([:])

    static func of(isShared: Bool, takesOver: Bool) -> Prepared {
        known.withLock { known in
            let name = "\(isShared) \(takesOver)"
            if let prepared = known[name] { return prepared }
            do throws(CredentialError) {
                let prepared = try Prepared(isShared: isShared, takesOver: takesOver)
                known[name] = prepared
                return prepared
            } catch { fatalError("the simulation cannot begin: \(error)") }
        }
    }

    private init(isShared: Bool, takesOver: Bool) throws(CredentialError) {
        let world = World(Schedule(seed: 0), faults: Faults.none)
        let first = SimulatedHost("one", world, isShared: isShared)
        world.hosts = [first]
        if isShared {
            _ = try first.process().ports.sharing.membership.share(
                World.group, first.backend(takesOver: takesOver), [], passphrase: nil)
            for name in ["two", "three", "spare"] {
                let host = SimulatedHost(name, world)
                let asked = try host.join(host.process(), takesOver: takesOver)
                try first.process().ports.sharing.membership.admit(
                    name, fingerprint: asked.fingerprint, to: World.group)
                world.hosts.append(host)
            }
        }
        _ = try first.process().keep(
            world.provider.begin(), of: world.type,
            ClientIdentity(provider: SimulatedAdapter.issuer, clientID: world.type.clientID))
        cluster = world.cluster.content
        hosts = world.hosts.map(\.kept)
        current = world.provider.current
    }
}
