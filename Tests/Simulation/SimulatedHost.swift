import CredentialCore
import StrictJSON
import Synchronization
import TestPorts

@testable import SharedGroups

/// A machine, alone or one of several that share a group.
final class SimulatedHost: @unchecked Sendable {
    let name: String
    let world: World
    let machine: MemoryMachine
    let isShared: Bool
    /// The small files of the shared group.
    var files: [String: [UInt8]] = [:]
    /// The text that distinguishes its folder from a copy.
    var place = "here"
    /// By how many seconds its clock is off.
    var skew: Int64 = 0
    /// Whether the others have expelled it.
    var isExpelled = false
    /// Whether a process of it has ended before its time.
    var hasCrashed = false
    /// The intents of which its folder says that a process is about to send, and was copied when it said so.
    var copiedUnderWay: Set<IntentNonce> = []
    /// The refresh tokens that have left its processes and are not safe.
    var underWay: [ObjectIdentifier: RefreshToken] = [:]
    /// Which process has a refresh token of an account on its way, on a machine alone.
    var marks: [String: SimulatedProcess] = [:]
    /// The refresh tokens that it knows to be already used: a refresh of its own has given the next.
    var usedUp: Set<RefreshToken> = []
    /// The refresh token of each account whose answer it has in its journal.
    var journaled: [String: RefreshToken] = [:]
    /// The refresh tokens of each account that it has had in its copy.
    var copied: [String: Set<RefreshToken>] = [:]
    /// The revisions that its copies have.
    var copiedRevisions: [String: Int64] = [:]
    /// The keys of hosts that it knows to be expelled: a process has written something since it had read that.
    var knowsExpelled: Set<[UInt8]> = []
    /// The hosts that it has noted as expelled: a process has asked the cluster for more since it had read that.
    var hasNotedExpelled: Set<[UInt8]> = []

    init(_ name: String, _ world: World, isShared: Bool = true, machine: MemoryMachine? = nil) {
        self.name = name
        self.world = world
        self.isShared = isShared
        self.machine =
            machine ?? MemoryMachine(cryptography: ToyCryptography(random: SimulatedRandom(world: world)))
    }

    /// The state with which a run begins.
    struct Kept: Sendable {
        let name: String
        let machine: MemoryMachine
        let files: [String: [UInt8]]
        let usedUp: Set<RefreshToken>
    }

    var kept: Kept { Kept(name: name, machine: machine, files: files, usedUp: usedUp) }

    convenience init(_ kept: Kept, _ world: World, isShared: Bool) {
        self.init(
            kept.name, world, isShared: isShared,
            machine: kept.machine.clone(with: ToyCryptography(random: SimulatedRandom(world: world))))
        files = kept.files
        usedUp = kept.usedUp
    }

    /// How it reaches the cluster.
    func backend(takesOver: Bool) -> ClusterConfiguration {
        var backend = ClusterConfiguration(
            endpoints: ["https://simulated"], authorities: nil, certificate: nil, prefix: World.prefix, host: name,
            keyStore: .file)
        backend.takeOverSeconds = takesOver ? 0 : nil
        return backend
    }

    /// Asks to be let into the group.
    func join(_ process: SimulatedProcess, takesOver: Bool) throws(CredentialError) -> GroupMember {
        try process.ports.sharing.membership.join(World.group, backend(takesOver: takesOver), passphrase: nil)
    }

    /// Whether it has an answer that is not known to be in the cluster.
    var hasJournal: Bool { files.keys.contains { $0.hasPrefix(FileIntentLog.answerPrefix) } }

    /// The keys of hosts of which its files say that they were expelled.
    var filedExpelled: Set<[UInt8]> {
        Set(
            files.filter { $0.key.hasPrefix("expelled-") || $0.key.hasPrefix("epoch-") }
                .compactMap { KeyEpoch(content: $0.value) }.flatMap(\.expelled).map(\.publicKey))
    }

    /// A process on it.
    func process() -> SimulatedProcess { SimulatedProcess(self) }

    /// The public key by which its shared group knows it.
    private(set) lazy var publicKey =
        (try? ClusterConfiguration(fileContent: files[ClusterConfiguration.fileName] ?? [], of: World.group))?
        .publicKey

    /// The note that it has written down of an account's intent.
    func note(of account: String) -> IntentLogEntry? {
        try? FileIntentLog(files: StillFiles(host: self), group: World.group).intent(of: account)
    }

    /// The same machine once more, as it is just now.
    ///
    /// - Parameter withNotes: whether its notes of its refreshes come along.
    func clone(withNotes: Bool) -> SimulatedHost {
        let clone = SimulatedHost(name, world, isShared: isShared, machine: machine.clone())
        clone.files = files.filter { withNotes || !($0.key.hasPrefix("intent-") || $0.key.hasPrefix("answer-")) }
        clone.place = "\(place), copied"
        clone.copiedUnderWay = Set(
            clone.files.filter { $0.key.hasPrefix(FileIntentLog.intentPrefix) }.compactMap { name, content in
                // As the file has it, not as the code reads it.
                guard (try? JSONValue.parse(content))?.object?["place"] != nil else { return nil }
                return note(of: String(name.dropFirst(FileIntentLog.intentPrefix.count)))?.nonce
            })
        clone.usedUp = usedUp
        clone.journaled = withNotes ? journaled : [:]
        clone.copied = copied
        clone.copiedRevisions = copiedRevisions
        clone.knowsExpelled = knowsExpelled
        clone.hasNotedExpelled = hasNotedExpelled
        return clone
    }
}

/// The files as they are, without a call.
private struct StillFiles: GroupFiles {
    let host: SimulatedHost
    func read(_ name: String, of group: KeychainGroup) throws(CredentialError) -> [UInt8]? { host.files[name] }
    func write(_ content: [UInt8], to name: String, of group: KeychainGroup) throws(CredentialError) {}
    func remove(_ name: String, of group: KeychainGroup) throws(CredentialError) {}
    func place(of group: KeychainGroup) throws(CredentialError) -> String { host.place }
    func names(of group: KeychainGroup) throws(CredentialError) -> [String] { [] }
    func groups() throws(CredentialError) -> [KeychainGroup] { [] }
}
