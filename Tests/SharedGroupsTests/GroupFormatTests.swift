import Commands
import CredentialCore
import CryptoSupport
import Foundation
import Platform
import StrictJSON
import TestCommands
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// The forms of the data in a cluster (docs/reference/file-formats.md). The file
/// `Tests/Fixtures/formats/group-1.json` is a group in the first form, with the key of its one host.
@Suite struct GroupFormatTests {
    private static let path = "/credmgr/work/"
    private let keys = AccountKeys(group: path, id: "0123456789abcdef")
    private let cluster = MemoryCluster()
    private let fixture: JSONObject
    private let host: GroupMembership.HostKey
    private let cryptography = RecordedKeys(LibCryptography())

    init() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Fixtures/formats/group-1.json")
        fixture = try #require(try JSONValue.parse(Array(try Data(contentsOf: file))).object)
        host = .init(
            privateKey: try Self.bytes(fixture["host_private_key"]),
            publicKey: try Self.bytes(fixture["host_public_key"]))
        for (key, value) in try #require(fixture["records"]?.object).members {
            cluster.put(try Self.bytes(value), at: key)
        }
    }

    private static func bytes(_ value: JSONValue?) throws -> [UInt8] {
        try #require(value?.string.flatMap(Base64URL.decode))
    }

    private var group: GroupMembership {
        GroupMembership(
            cluster: cluster, path: Self.path, cryptography: cryptography, random: SystemRandom(),
            clock: SystemClock())
    }

    private func seal(of id: [UInt8]? = nil) throws -> GroupCipher {
        GroupCipher(
            groupID: try id ?? group.groupID(), keys: KeysInCluster(group: group, host: host),
            cryptography: cryptography, random: SystemRandom())
    }

    private func record(_ key: String) throws -> ClusterRecord { try #require(cluster.records[key]) }

    private var format: Int64? {
        get throws { try GroupFacts(try record(group.groupKey)).format }
    }

    @Test func `records of the first form open as they did`() throws {
        let seal = try seal()
        let set = try seal.tokenSet(in: try record(keys.set))
        #expect(set.account.username == "ada@example.com")
        #expect(set.grants[""]?.refreshToken == Secret("refresh-ada-1"))
        let intent = try Intent(decoding: try seal.open(try record(keys.intent)))
        #expect(intent.host == "one" && intent.publicKey == host.publicKey)
        #expect(try SupersededIntents(decoding: try seal.open(try record(keys.aside))).awaits(intent.nonce))
        let late = try LateResponse(
            opening: try Self.bytes(fixture["late_answer"]), key: set.journalKey, LibCryptography())
        #expect(late.tokenSet.grants[""]?.refreshToken == Secret("refresh-ada-2"))
        // The proofs of decision 20, and the passphrase, are as they were.
        let key = try group.open(1, try group.groupID(), ("one", host))
        #expect(
            try group.wrap(try group.groupID()).isAgreed(GroupFacts(record(group.groupKey)), key: key, epoch: 1))
        let wrapped = try record(group.dataKey(1, GroupMembership.passphraseName)).value
        let opened = try group.wrap(try group.groupID())
            .unwrap(wrapped, by: Secret("correct horse"), epoch: 1)
        #expect(opened == key)
    }

    @Test func `a record is written in the second form, and opens in its place only`() throws {
        let seal = try seal(), plaintext = Array("hello".utf8)
        let value = try seal.seal(plaintext, at: keys.set, epoch: 1)
        #expect(value.first == 2 && value.count == 9 + 32 + plaintext.count + 16)
        func opened(_ value: [UInt8], at key: String, _ seal: GroupCipher) -> [UInt8]? {
            try? seal.open(ClusterRecord(key: key, value: value, revision: 1))
        }
        #expect(opened(value, at: keys.set, seal) == plaintext)
        // In the place of another record, or another account's; in another group; in another form.
        #expect(opened(value, at: keys.intent, seal) == nil)
        #expect(opened(value, at: AccountKeys(group: Self.path, id: "fedcba9876543210").set, seal) == nil)
        #expect(opened(value, at: keys.set, try self.seal(of: [UInt8](repeating: 1, count: 16))) == nil)
        #expect(opened([1] + value.dropFirst(), at: keys.set, seal) == nil)
        #expect(opened([3] + value.dropFirst(), at: keys.set, seal) == nil)
        #expect(opened([2] + (try record(keys.set)).value.dropFirst(), at: keys.set, seal) == nil)
        for place in value.indices {
            var changed = value
            changed[place] ^= 1
            #expect(opened(changed, at: keys.set, seal) == nil)
            #expect(opened(Array(value.prefix(place)), at: keys.set, seal) == nil)
        }
    }

    @Test func `the group says its format before a record of it can be put`() throws {
        #expect(try format == 1)
        _ = try seal().sealHere([1], at: keys.set, epoch: 1)
        #expect(try format == 1)
        _ = try seal().seal([1], at: keys.set, epoch: 1)
        #expect(try format == 2)
        // The settings that the hosts agree on are still proven, and remain.
        let id = try group.groupID(), key = try group.open(1, id, ("one", host))
        #expect(try group.wrap(id).isAgreed(GroupFacts(record(group.groupKey)), key: key, epoch: 1))
        let revision = try record(group.groupKey).revision
        #expect(try group.raiseFormat())
        #expect(try record(group.groupKey).revision == revision)
    }

    @Test func `a group of a newer format is left alone, with its name and exit status 5`() throws {
        var object = try #require(try JSONValue.parse(record(group.groupKey).value).object)
        object["version"] = 3
        cluster.put(JSONValue.object(object).bytes(), at: group.groupKey)
        let before = cluster.records
        for attempt in [
            { () throws in _ = try seal(of: [1]).seal([1], at: keys.set, epoch: 1) },
            { () throws in _ = try group.join("two", host) },
            { () throws in _ = try group.groupID() },
        ] {
            let error = #expect(throws: CredentialError.self) { try attempt() }
            #expect(error?.code == .storeUnavailable && error?.code.exitStatus == 5)
            #expect(error?.message == "a newer credmgr has written /credmgr/work/group of the cluster (format 3)")
            #expect(error?.hint == "upgrade credmgr")
        }
        #expect(cluster.records == before)
    }

    @Test func `in a shared group no key has two purposes, and none seals twice with a nonce`() throws {
        let cluster = MemoryCluster()
        let group = GroupMembership(
            cluster: cluster, path: "/credmgr/new/", cryptography: cryptography, random: SystemRandom(),
            clock: SystemClock())
        func made() throws -> GroupMembership.HostKey {
            let made = try cryptography.makeAgreementKey()
            return .init(privateKey: made.privateKey, publicKey: made.publicKey)
        }
        let one = try made(), two = try made()
        try group.share("one", one, passphrase: Secret("correct horse"))
        _ = try group.join("two", two, passphrase: Secret("correct horse"))
        let id = try group.groupID(), keysOfTwo = KeysInCluster(group: group, host: two, name: "two")
        let seal = GroupCipher(groupID: id, keys: keysOfTwo, cryptography: cryptography, random: SystemRandom())
        let place = AccountKeys(group: "/credmgr/new/", id: "0123456789abcdef")
        for key in [place.set, place.intent, place.aside, place.set] {
            let value = try seal.seal([1], at: key, epoch: 1)
            #expect(try seal.open(ClusterRecord(key: key, value: value, revision: 1)) == [1])
        }
        let key = try keysOfTwo.key(ofEpoch: 1)
        _ = try group.wrap(id).fingerprint(of: key, epoch: 1)
        let epoch = try KeyEpoch(try #require(cluster.records[group.epochKey]))
        let next = KeyEpoch(number: 7, hosts: epoch.hosts)
        _ = try group.wrap(id).dataKey(
            SystemRandom().bytes(32), of: next, former: [1: try group.wrap(id).dataKey(key, of: epoch)])
        let set = try GroupFormatTests.tokenSet()
        let late = LateResponse(
            nonce: IntentNonce(SystemRandom()), replaced: TokenDigest(bytes: [1]), policy: "", tokenSet: set)
        for _ in 0..<2 {
            let entry = try late.sealed(by: set.journalKey, cryptography, SystemRandom())
            #expect(try LateResponse(opening: entry, key: set.journalKey, cryptography) == late)
            #expect(throws: CredentialError.self) {
                try LateResponse(opening: Array(entry.dropLast()), key: set.journalKey, LibCryptography())
            }
        }
        #expect(cryptography.sealingKeys >= 8)
        #expect(cryptography.sharedKeys == 0 && cryptography.repeatedNonces == 0)
        #expect(cryptography.ambiguousKeys == 0)
    }

    private static func tokenSet() throws -> TokenSet {
        TokenSet(
            account: Account(
                id: "0123456789abcdef", type: "Work", adapter: "oauth2",
                registration: ClientIdentity(provider: "https://id.example", clientID: "c"), subject: "ada",
                store: .etcd, now: Timestamp(epochSeconds: 1_790_000_000)),
            journalKey: SystemRandom().bytes(32))
    }

    // MARK: A host that takes over a group of the first form

    /// Makes the cluster of a scene look like one of the first form.
    private func makeFirstForm(_ scene: SharedScene) throws {
        let cluster = scene.world.cluster,
            cryptography = ToyCryptography(random: SimulatedRandom(world: scene.world))
        let id = scene.link.backend.groupID
        for record in cluster.content.records.values where record.key.hasPrefix(World.path + "a/") {
            let epoch = try GroupCipher.epoch(of: record), head = [1] + record.value[1..<9]
            let nonce = [UInt8](repeating: 3, count: 12)
            let sealed = cryptography.seal(
                SimulatedCluster.plaintext(record.value), key: try scene.link.key(ofEpoch: epoch), nonce: nonce,
                authenticating: head + id + Array(record.key.utf8))
            put(head + nonce + sealed, at: record.key, cluster)
        }
        let key = World.path + "group", record = try #require(cluster.content.records[key])
        var object = try #require(try JSONValue.parse(record.value).object)
        object["version"] = 1
        put(JSONValue.object(object).bytes(), at: key, cluster)
    }

    private func put(_ value: [UInt8], at key: String, _ cluster: SimulatedCluster) {
        var transaction = ClusterTransaction()
        transaction.changes = [.put(key, value)]
        cluster.apply(transaction)
    }

    private func format(_ scene: SharedScene) throws -> Int64 {
        try GroupFacts(try #require(scene.world.cluster.content.records[World.path + "group"])).format
    }

    private func forms(_ scene: SharedScene) -> Set<UInt8> {
        Set(
            scene.world.cluster.content.records.values.filter { $0.key.hasPrefix(World.path + "a/") }
                .compactMap(\.value.first))
    }

    @Test func `sealing a group of the first form anew raises it, says so once, and loses nothing`() throws {
        let scene = try SharedScene(), before = scene.standing
        try makeFirstForm(scene)
        #expect(forms(scene) == [1] && scene.standing == before)
        let sharing = try #require(scene.run.hosts[1].process().ports.sharing as? ClusterGroupService)
        // A reader changes no record.
        _ = try sharing.sharedLink(World.group).account(scene.account)
        #expect(try format(scene) == 1 && forms(scene) == [1])
        #expect(try sharing.sealAnew(World.group).isEmpty)
        #expect(try format(scene) == 2 && forms(scene) == [2] && scene.standing == before)
        #expect(
            sharing.takeNotes().map(\.description).filter { $0.contains("uses format 2 from now on") }.count == 1)
        #expect(sharing.takeNotes().isEmpty)
        // A second time there is no work to do.
        let revisions = scene.world.cluster.content.records.mapValues(\.revision)
        #expect(try sharing.sealAnew(World.group).isEmpty)
        #expect(scene.world.cluster.content.records.mapValues(\.revision) == revisions)
    }

    @Test func `store rekey writes the records of a shared group in the second form`() throws {
        let scene = try SharedScene(), before = scene.standing, console = MemoryConsole()
        try makeFirstForm(scene)
        let process = scene.run.hosts[1].process()
        var context = CommandScene(cryptography: LibCryptography()).context(console)
        context.machine = process.ports
        #expect(Program(context: context).run(["store", "rekey", "--key-file"]) == 0, "\(console.notices)")
        #expect(try format(scene) == 2 && forms(scene) == [2] && scene.standing == before)
        #expect(console.notices.contains("uses format 2 from now on"))
        // A record that no host can open is named.
        let place = scene.link.keys(scene.account).intent
        put([1] + [UInt8](repeating: 0, count: 60), at: place, scene.world.cluster)
        let again = Program(context: context).run(["store", "rekey", "--key-file"])
        #expect(again == 5 && console.notices.contains("warning: cannot encrypt \(scene.account) with "))
    }

    @Test func `a refresh in a group of the first form writes the second, and raises the group first`() throws {
        let scene = try SharedScene()
        try makeFirstForm(scene)
        let process = scene.run.hosts[0].process()
        let sharing = try #require(process.ports.sharing as? ClusterGroupService)
        let link = try sharing.sharedLink(World.group)
        let reading = try link.account(scene.account)
        let shared = SharedRefresh(
            cluster: process, notes: FileIntentLog(files: process, group: World.group), seal: link.seal,
            clock: process, bootClock: process, random: SimulatedRandom(world: scene.world),
            cryptography: ToyCryptography(random: SimulatedRandom(world: scene.world)), host: process.host.name,
            publicKey: process.host.publicKey ?? [])
        var job = SharedRefresh.Job(
            keys: link.keys(scene.account), policy: "", takeOver: .never, isFresh: { _ in false },
            send: { set, _ in SharedScene.issued("7", over: set) })
        job.seen = reading
        job.waits = { false }
        _ = try shared.refresh(job)
        #expect(scene.standing == "7")
        #expect(try format(scene) == 2 && forms(scene) == [2])
    }
}

/// A host that remembers no state.
private struct KeysInCluster: GroupKeys {
    let group: GroupMembership
    let host: GroupMembership.HostKey
    var name = "one"

    func key(ofEpoch epoch: Int64) throws(CredentialError) -> [UInt8] {
        try group.open(epoch, try group.groupID(), (name, host))
    }

    func key(of epoch: KeyEpoch) throws(CredentialError) -> [UInt8] { try key(ofEpoch: epoch.number) }
    func key(toOpen epoch: Int64) throws(CredentialError) -> [UInt8] { try key(ofEpoch: epoch) }
    func check(_ epoch: KeyEpoch) {}
    func raiseFormat() throws(CredentialError) { _ = try group.raiseFormat() }
}
