import CredentialCore
import Testing

@testable import SharedGroups
@testable import Simulation

/// A host that was expelled, with its knowledge as one of the group.
struct RevokedHostFixture {
    let scene = Result { try SharedScene() }
    let key: GroupMembership.HostKey
    /// The group's first key, and the cluster's content while that was the newest.
    let formerKey: [UInt8]
    let former: [String: [UInt8]]

    init() throws {
        let scene = try scene.get()
        let sharing = try #require(
            scene.run.hosts[3].process().ports.sharing as? ClusterGroupService)
        let link = try sharing.sharedLink(World.group)
        key = try link.hostKey()
        formerKey = try link.key(ofEpoch: KeyEpoch.firstNumber)
        former = scene.world.cluster.content.records.mapValues(\.value)
        _ = try scene.run.hosts[0].process().ports.sharing.membership.expel("spare", from: World.group)
    }

    /// The fingerprint of its key that users compare.
    var fingerprint: String {
        get throws {
            try GroupHost.fingerprint(of: key.publicKey, scene.get().link.parts.cryptography)
        }
    }

    func put(_ changes: [ClusterTransaction.Change]) throws {
        var transaction = ClusterTransaction()
        transaction.changes = changes
        #expect(try scene.get().link.cluster.commit(transaction))
    }

    var wrap: KeyWrap {
        get throws { try scene.get().link.membership.wrap(try scene.get().link.membership.groupID()) }
    }

    func host(_ name: String) throws -> GroupHost {
        try GroupHost(
            ClusterRecord(
                key: World.path + "hosts/" + name, value: try #require(former[World.path + "hosts/" + name]),
                revision: 1))
    }

    /// The records that stood there while it belonged to the group, without the accounts, with the settings that it
    /// would have the others agree on, proven by the key of that time.
    func standing(agreeing seconds: Int64) throws -> [ClusterTransaction.Change] {
        let place = World.path + "group"
        var settings = GroupSettings()
        settings.takeOverSeconds = seconds
        let facts = try GroupFacts(
            ClusterRecord(key: place, value: try #require(former[place]), revision: 1))
        let proven = try facts.encoded(
            agreeing: settings, wrap, key: formerKey, epoch: KeyEpoch.firstNumber)
        return former.filter { !$0.key.contains("/a/") && $0.key != place }.map { .put($0.key, $0.value) }
            + [.put(place, proven)]
    }

    /// Another machine of the key's owner.
    func accomplice(provenBy key: [UInt8], _ epoch: Int64) throws -> GroupHost {
        var host = GroupHost(
            name: "evil", publicKey: try scene.get().link.parts.cryptography.makeAgreementKey().publicKey,
            joinedAt: Timestamp(epochSeconds: 0))
        host.admission = try wrap.admission(of: host, key: key, epoch: epoch)
        return host
    }
}

/// Hosts of which one was expelled.
extension SharedScene {
    func token(_ place: Int) throws -> Bool {
        try run.token(run.hosts[place].process(), force: true).refreshed
    }

    func refusal(_ place: Int) -> CredentialError? { #expect(throws: CredentialError.self) { try token(place) } }

    func expel(_ name: String) throws {
        _ = try run.hosts[0].process().ports.sharing.membership.expel(name, from: World.group)
    }

    /// No host refreshes by the newest key, and each error shows the command that makes another key.
    func checkRefused() {
        for place in 0..<3 {
            let error = refusal(place)
            #expect(error?.code == .storeUnavailable)
            #expect(error?.hint?.contains("credmgr groups expel default spare --fingerprint") == true)
        }
    }

    /// Every host except the expelled ones goes on, and no other host has the key.
    func checkMended(_ expected: [String] = ["one", "three", "two"]) throws {
        #expect(try holders == expected)
        for place in 0..<3 { #expect(try token(place)) }
        #expect(
            try run.hosts[1].process().ports.sharing.membership.hosts(of: World.group)
                .filter(\.isAdmitted).map(\.name) == expected)
    }
}
