import CredentialCore
import CryptoSupport
import CurlTransport
import EtcdCluster
import Foundation
import Platform
import TestSupport
import Testing

@testable import SharedGroups

/// A host on real nodes.
private struct Host {
    let name: String
    let key: GroupMembership.HostKey
    let group: GroupMembership

    init(_ name: String, _ cluster: any Cluster, path: String) throws {
        self.name = name
        let made = try LibCryptography().makeAgreementKey()
        key = .init(privateKey: made.privateKey, publicKey: made.publicKey)
        group = GroupMembership(
            cluster: cluster, path: path, cryptography: LibCryptography(), random: SystemRandom(),
            clock: SystemClock())
    }

    var own: (name: String, key: GroupMembership.HostKey) { (name, key) }

    /// The host's knowledge of the group.
    var memory: ClusterMemory { ClusterMemory(host: self) }

    func join() throws -> String { try group.join(name, key).fingerprint(LibCryptography()) }

    func seal() throws -> GroupCipher {
        GroupCipher(
            groupID: try group.groupID(), keys: memory, cryptography: LibCryptography(),
            random: SystemRandom())
    }
}

/// A host without memory: its keys are those that the cluster has for it.
private struct ClusterMemory: RememberedGroupState {
    let host: Host

    func key(ofEpoch epoch: Int64) throws(CredentialError) -> [UInt8] {
        try host.group.open(epoch, try host.group.groupID(), host.own)
    }

    func key(of epoch: KeyEpoch) throws(CredentialError) -> [UInt8] { try key(ofEpoch: epoch.number) }
    func key(toOpen epoch: Int64) throws(CredentialError) -> [UInt8] { try key(ofEpoch: epoch) }
    func check(_ epoch: KeyEpoch) {}
    func raiseFormat() throws(CredentialError) { _ = try host.group.raiseFormat() }
    func known(_ epoch: KeyEpoch) -> KeyEpoch { .none }
    var settings: GroupSettings? { nil }
    func user(of host: RevokedHost) -> String? { nil }
    func newest() -> [(epoch: KeyEpoch, key: [UInt8]?)] { [] }
    func givenKeys() -> [Int64: DataKey] { [:] }
    func keep(_ key: DataKey, _ record: KeyEpoch, _ wrapped: [UInt8]) {}
}

@Suite(.serialized)
struct GroupMembershipTests {
    private static let nodes = Result { try EtcdNodes(1) }

    private func cluster() throws -> EtcdCluster { try realCluster(try Self.nodes.get()) }

    @Test func `X25519 agrees as RFC 7748 §6.1 does`() throws {
        func bytes(_ text: String) -> [UInt8] {
            stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
        }
        let alice = bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
        let bob = bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
        let secret = bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
        #expect(try LibCryptography().agree(privateKey: alice, publicKey: bob) == secret)
        let zero = #expect(throws: CredentialError.self) {
            try LibCryptography().agree(privateKey: alice, publicKey: [UInt8](repeating: 0, count: 32))
        }
        #expect(zero?.code == .validationFailed)
    }

    @Test func `an admitted host opens records that the first has sealed`() throws {
        let cluster = try cluster(), path = "/credmgr/m1/"
        let first = try Host("one", cluster, path: path), second = try Host("two", cluster, path: path)
        try first.group.share("one", first.key)
        let fingerprint = try second.join()
        let waiting = #expect(throws: CredentialError.self) { try second.seal().seal([1], at: "x", epoch: 1) }
        #expect(waiting?.code == .storeLocked)
        let wrong = String(fingerprint.reversed())
        let refused = #expect(throws: CredentialError.self) {
            try first.group.admit("two", fingerprint: wrong, by: first.own, first.memory)
        }
        #expect(refused?.code == .denied && refused?.message.contains(fingerprint) == true)
        try first.group.admit("two", fingerprint: fingerprint, by: first.own, first.memory)
        let key = path + "a/1/set"
        var transaction = ClusterTransaction()
        transaction.changes = [.put(key, try first.seal().seal(Array("hello".utf8), at: key, epoch: 1))]
        #expect(try cluster.commit(transaction))
        let record = try #require(try cluster.read([key])[0])
        #expect(try second.seal().open(record) == Array("hello".utf8))
        #expect(try first.group.hosts().map(\.name) == ["one", "two"])
        // Under another's key it does not open.
        let moved = ClusterRecord(key: path + "a/2/set", value: record.value, revision: 1)
        #expect(throws: CredentialError.self) { try second.seal().open(moved) }
    }

    @Test func `an expelled host gets nothing more`() throws {
        let cluster = try cluster(), path = "/credmgr/m2/"
        let hosts = try ["one", "two", "three"].map { try Host($0, cluster, path: path) }
        try hosts[0].group.share("one", hosts[0].key)
        for host in hosts.dropFirst() {
            try hosts[0].group.admit(
                host.name, fingerprint: try host.join(), by: hosts[0].own, hosts[0].memory)
        }
        try hosts[1].group.expel("three", by: hosts[1].own, hosts[1].memory)
        let newest = try KeyEpoch(try #require(try cluster.read([path + "epoch"])[0])).number
        let sealed = ClusterRecord(
            key: path + "a/1/set", value: try hosts[0].seal().seal([7], at: path + "a/1/set", epoch: newest),
            revision: 1
        )
        #expect(try hosts[1].seal().open(sealed) == [7])
        for epoch in [1, newest] {
            let error = #expect(throws: CredentialError.self) {
                try hosts[2].seal().seal([1], at: "x", epoch: epoch)
            }
            #expect(error?.code == .storeLocked)
        }
        let again = #expect(throws: CredentialError.self) {
            try hosts[2].group.expel("one", by: hosts[2].own, hosts[2].memory)
        }
        #expect(again?.code == .storeLocked)
        #expect(try hosts[0].group.hosts().map(\.name) == ["one", "two"])
    }

    @Test func `a name is taken once, and so is a group`() throws {
        let cluster = try cluster(), path = "/credmgr/m3/"
        let first = try Host("one", cluster, path: path), twin = try Host("one", cluster, path: path)
        let early = #expect(throws: CredentialError.self) { try first.join() }
        #expect(early?.code == .configuration)
        try first.group.share("one", first.key)
        #expect(throws: CredentialError.self) { try twin.group.share("one", twin.key) }
        let taken = #expect(throws: CredentialError.self) { try twin.join() }
        #expect(taken?.code == .usage && taken?.message.contains("one") == true)
    }

    @Test func `nothing but ciphertext lies on the nodes`() throws {
        let nodes = try Self.nodes.get(), cluster = try cluster(), path = "/credmgr/m4/"
        let first = try Host("one", cluster, path: path)
        try first.group.share("one", first.key)
        var transaction = ClusterTransaction()
        let key = path + "a/1/set", canary = "canary-" + String(repeating: "secret", count: 9)
        transaction.changes = [.put(key, try first.seal().seal(Array(canary.utf8), at: key, epoch: 1))]
        #expect(try cluster.commit(transaction))
        let files = try nodes.everything()
        // The folder that was looked through is the one that holds the record.
        #expect(files.contains { $0.range(of: Data(key.utf8)) != nil })
        #expect(!files.contains { $0.range(of: Data(canary.utf8)) != nil })
        #expect(!files.contains { $0.range(of: Data(first.key.privateKey)) != nil })
    }
}
