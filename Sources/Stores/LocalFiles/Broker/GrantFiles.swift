package import Broker
package import CredentialCore
import Platform
import StrictJSON
import Synchronization

/// The grants of brokers: `$XDG_STATE_HOME/credmgr/brokers/NAME/grants`, sealed under a key of this installation.
package final class GrantFiles: ConsentGrants {
    private static let name = "grants"
    private static let lockName = "grants.lock"
    private static let limit = 1 << 20
    /// The number of grants of one broker.
    private static let countLimit = 1_000
    private static let lockSeconds = 5
    private static let seal = SaltedSeal(for: "credmgr broker grants v1")

    private let stateHome: String
    private let random: any RandomSource
    private let cryptography: any Cryptography
    private let clock: any WallClock
    private let key: MachineKey
    /// The last content of each file, by its metadata: a request with a grant costs one `stat`.
    private let known = Mutex<[String: (stamp: FileStamp, grants: [ConsentGrant])]>([:])

    /// Names the directory; it does not open it.
    package init(
        stateHome: String, random: any RandomSource, cryptography: any Cryptography, clock: any WallClock
    ) {
        self.stateHome = stateHome
        self.random = random
        self.cryptography = cryptography
        self.clock = clock
        key = MachineKey("grants.key", in: ["credmgr"], below: stateHome, random: random)
    }

    package func brokers() throws(CredentialError) -> [String] {
        guard let folder = try PrivateDirectory.open(["credmgr", "brokers"], below: stateHome) else { return [] }
        var names: [String] = []
        for name in try folder.names() where Identifier.isValid(name) {
            if let broker = try PrivateDirectory.open(Self.components(name), below: stateHome),
                broker.contains(Self.name)
            {
                names.append(name)
            }
        }
        return names
    }

    package func grants(of broker: String) throws(CredentialError) -> [ConsentGrant] {
        let path = ([stateHome] + Self.components(broker) + [Self.name]).joined(separator: "/")
        guard let stamp = SystemFileStates().state(of: path) else { return [] }
        if let known = known.withLock({ $0[broker] }), known.stamp == stamp { return known.grants }
        guard let folder = try PrivateDirectory.open(Self.components(broker), below: stateHome) else { return [] }
        let grants = try read(folder, broker)
        known.withLock { $0[broker] = (stamp, grants) }
        return grants
    }

    package func add(_ grant: ConsentGrant, to broker: String) throws(CredentialError) {
        let folder = try PrivateDirectory.create(Self.components(broker), below: stateHome)
        let lock = try lock(folder)
        defer { lock.release() }
        // A file that cannot be opened holds no grant that applies.
        var grants = (try? read(folder, broker)) ?? []
        let now = clock.now
        grants.removeAll { $0.until <= now || $0.isBeside(grant) }
        grants = grants.suffix(Self.countLimit - 1) + [grant]
        try write(grants, folder, broker)
    }

    package func forget(_ caller: CallerKey?, of broker: String) throws(CredentialError) -> Int {
        guard let folder = try PrivateDirectory.open(Self.components(broker), below: stateHome),
            folder.contains(Self.name)
        else { return 0 }
        let lock = try lock(folder)
        defer { lock.release() }
        guard let caller else {
            let count = (try? read(folder, broker))?.count ?? 1
            try folder.remove(Self.name)
            folder.syncNames()
            return count
        }
        let grants = try read(folder, broker)
        let kept = grants.filter { $0.caller != caller }
        if kept.count != grants.count { try write(kept, folder, broker) }
        return grants.count - kept.count
    }

    private static func components(_ broker: String) -> [String] { ["credmgr", "brokers", broker] }

    private func lock(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> FileLock {
        guard let lock = try FileLock.take(Self.lockName, in: folder, seconds: Self.lockSeconds) else {
            throw CredentialError(.lockTimeout, "another process changes the grants of this broker")
        }
        return lock
    }

    private func read(_ folder: borrowing PrivateDirectory, _ broker: String) throws(CredentialError)
        -> [ConsentGrant]
    {
        guard let sealed = try folder.read(Self.name, limit: Self.limit) else { return [] }
        guard let key = key.code(of: Array(broker.utf8), makesKey: false),
            let bytes = try Self.seal.open(sealed, key: key, context: Array(broker.utf8), cryptography),
            let values = (try? JSONValue.parse(bytes))?.array
        else {
            let path = UntrustedText.shown(folder.path(of: Self.name), limit: 4_096)
            throw CredentialError(
                .storeDamaged, "cannot open the grants \(path): this installation did not seal them",
                hint: "credmgr broker forget \(broker)")
        }
        return values.compactMap { $0.object.flatMap(ConsentGrant.init(json:)) }
    }

    private func write(
        _ grants: [ConsentGrant], _ folder: borrowing PrivateDirectory, _ broker: String
    ) throws(CredentialError) {
        guard let key = key.code(of: Array(broker.utf8), makesKey: true) else {
            try key.check()
            throw CredentialError(.inputOutput, "cannot write the key of the grants")
        }
        let bytes = JSONValue.array(grants.map { .object($0.json) }).bytes()
        try folder.write(
            try Self.seal.seal(bytes, key: key, context: Array(broker.utf8), random, cryptography), to: Self.name)
    }
}
