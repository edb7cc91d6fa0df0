import CredentialCore
import StrictJSON
import TestPorts

@testable import SharedGroups

/// The rules of `docs/how-to/many-hosts.md` and of the model that can be checked at each transaction, for any
/// process and any later outcome.
struct Rules {
    let process: SimulatedProcess
    let transaction: ClusterTransaction
    /// Whether who has asked for it has gone on, and may have read anything since.
    let isLate: Bool
    private let keys: AccountKeys
    private var puts: [String: [UInt8]] = [:]
    private var removed: Set<String> = []

    private var world: World { process.world }
    private var host: SimulatedHost { process.host }
    private var cluster: SimulatedCluster { world.cluster }

    /// - Returns: `nil` for a transaction that is about no account.
    init?(_ transaction: ClusterTransaction, by process: SimulatedProcess, isLate: Bool) {
        self.process = process
        self.transaction = transaction
        self.isLate = isLate
        var id: Substring?
        for change in transaction.changes {
            switch change {
            case .put(let key, let value, _): puts[key] = value
            case .remove(let key): removed.insert(key)
            }
        }
        for key in Array(puts.keys) + removed where key.hasPrefix(World.path + "a/") {
            id = key.dropFirst(World.path.count + 2).split(separator: "/").first
        }
        guard let id else { return nil }
        keys = AccountKeys(group: World.path, id: String(id))
    }

    /// The settings that a host accepts or stores as agreed are never those of an expelled host, as far as this
    /// host can know that. Once one could not, others have it from that one.
    static func agreed(_ content: [UInt8], by process: SimulatedProcess, isLate: Bool = false) -> [String] {
        let world = process.world
        guard (try? JSONValue.parse(content))?.object?["take_over"]?.integer != nil, !world.takesOver,
            !world.isMisled
        else { return [] }
        let knows = world.forgeries.allSatisfy { number, forgeries in
            forgeries.allSatisfy { process.knows($0, as: number) }
        }
        if !isLate, knows, world.changedSettings.allSatisfy(process.knows) {
            return ["\(process.host.name) takes what an expelled host has the others agree on"]
        }
        world.isMisled = true
        return []
    }

    static func digest(_ token: RefreshToken) -> TokenDigest {
        TokenDigest(bytes: ToyCryptography.digest(Array("\(token)".utf8)))
    }

    /// The faults of the transaction, which is about to be applied.
    var broken: [String] {
        let standing = cluster.intent(keys.intent)
        let isOwn = standing.map(isOwn) ?? false
        // Revisions repeat when a cluster is restored in the middle of a transaction.
        if world.wasRestored { return membership(isOwn) + sealing + expelled + forged + reading }
        return membership(isOwn) + sealing + reading + twins + intent(standing, isOwn) + tokens(standing, isOwn)
    }

    /// The refresh tokens that may go out again on purpose once it is applied: it takes an intent over.
    var retried: [RefreshToken] {
        guard newIntent != nil, let standing = cluster.intent(keys.intent), mayTakeOver(standing),
            cluster.content.records[keys.live] == nil
        else { return [] }
        return [cluster.tokenSet(keys.set)?.refreshToken].compactMap { $0 }
            .filter { Self.digest($0) == standing.token }
    }

    /// The intent that it records; `nil` also if an existing one is only sealed again.
    var newIntent: Intent? {
        guard let value = puts[keys.intent],
            let intent = try? Intent(decoding: SimulatedCluster.plaintext(value)),
            intent.nonce != cluster.intent(keys.intent)?.nonce
        else { return nil }
        return intent
    }

    /// Whether an intent without a running refresh may be taken over: the group or a user allows it, or its host
    /// belongs to the group no more.
    private func mayTakeOver(_ standing: Intent) -> Bool {
        world.takesOver || process.takesOver || !world.isMember(standing)
    }

    /// Whether the folder of this host has the note of an intent, or had it.
    private func isOwn(_ intent: Intent) -> Bool {
        world.recorded[intent.nonce]?.host === host || host.note(of: keys.id)?.nonce == intent.nonce
    }

    /// An expelled host writes no record, but may remove one that it has recorded itself.
    private func membership(_ isOwn: Bool) -> [String] {
        guard !world.hasAdmitted(host) else { return [] }
        if isOwn, puts.isEmpty, removed.isSubset(of: [keys.intent, keys.live]) { return [] }
        return ["\(host.name), which was expelled, changes \((removed + Array(puts.keys)).sorted())"]
    }

    /// No host writes a token set for hosts that it knows to be expelled.
    private var expelled: [String] {
        // It may read its own records: the others have to remind the cluster of its own end.
        let others = process.knownExpelled.subtracting([host.publicKey].compactMap { $0 })
        guard puts[keys.set] != nil, !others.isDisjoint(with: world.admittedKeys) else { return [] }
        return ["\(host.name) writes \(keys.set) for a host that it knows to be expelled"]
    }

    /// Nor does a host seal with a key from a host that it knew to be expelled.
    private var forged: [String] {
        guard let value = puts[keys.set] else { return [] }
        let number = value.dropFirst().prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard world.forgeries[number]?.contains(where: { process.knows($0, as: number) }) == true else { return [] }
        return ["\(host.name) seals \(keys.set) by the key \(number), which an expelled host has"]
    }

    /// Nor are they given a new key.
    static func keys(in transaction: ClusterTransaction, by process: SimulatedProcess) -> [String] {
        let world = process.world, prefix = World.path + "keys/"
        var broken: [String] = []
        for case .put(let key, _, _) in transaction.changes where key.hasPrefix(prefix) {
            let parts = key.dropFirst(prefix.count).split(separator: "/")
            let accomplice = world.cluster.content.records[World.path + "hosts/" + World.accomplice]
                .flatMap { try? GroupHost($0) }?.publicKey
            if parts[1] == World.accomplice,
                world.forgeries.values.joined().contains(where: {
                    $0.accomplice == accomplice && process.knows($0)
                }),
                // Another host, which did not know, may have let it in.
                !process.host.keptEpochs.contains(where: { $0.hosts.contains { $0.publicKey == accomplice } })
            {
                broken.append("\(process.host.name) gives a key to somebody whom no host has let in")
            }
            guard transaction.changes.contains(where: { $0.puts(World.path + "epoch") }),
                let record = world.cluster.content.records[World.path + "hosts/\(parts[1])"],
                let host = try? GroupHost(record), process.knownExpelled.contains(host.publicKey),
                // No host expels itself, even after a read: the others have to remind the cluster of its own end.
                host.publicKey != process.host.publicKey
            else { continue }
            broken.append("\(process.host.name) gives a key to \(host.name), which it knows to be expelled")
        }
        let place = World.path + "epoch"
        for case .put(place, let value, _) in transaction.changes {
            let standing = world.cluster.content.records[place].flatMap { KeyEpoch(content: $0.value) }?.number
            guard let made = KeyEpoch(content: value), case let number = made.number, number != standing else {
                continue
            }
            broken += outcasts(of: made, in: transaction, by: process)
            if !world.keyNumbers.insert(number).inserted {
                broken.append("\(process.host.name) makes a second key of the number \(number)")
            }
        }
        return broken
    }

    /// A new key names as expelled exactly the listed hosts with records that its transaction removes, and gives
    /// them no key. The exception is its maker: the others have to remind the cluster of its end.
    private static func outcasts(
        of made: KeyEpoch, in transaction: ClusterTransaction, by process: SimulatedProcess
    ) -> [String] {
        let maker = process.host.name, records = process.world.cluster.content.records
        var broken: [String] = []
        for key in records.keys.filter({ $0.hasPrefix(World.path + "hosts/") }).sorted() {
            guard let host = records[key].flatMap({ try? GroupHost($0) }), host.publicKey != process.host.publicKey
            else { continue }
            let isGone = transaction.changes.contains {
                if case .remove(key) = $0 { true } else { false }
            }
            if isGone != made.has(host.whenExpelled) {
                broken.append(
                    "\(maker) makes a key that \(isGone ? "does not say" : "says") that \(host.name) is expelled, "
                        + "and \(isGone ? "takes" : "leaves") its record")
            }
            let isGiven = transaction.changes.contains {
                $0.puts("\(World.path)keys/\(made.number)/\(host.name)")
            }
            if isGone, isGiven || made.gaveKey(to: host) {
                broken.append("\(maker) gives a new key to \(host.name), which it expels")
            }
        }
        return broken
    }

    /// All records that are written are sealed under the newest key.
    private var sealing: [String] {
        guard let record = cluster.content.records[World.path + "epoch"],
            let newest = KeyEpoch(content: record.value)?.number
        else { return [] }
        return puts.filter { key, value in
            // Neither says anything of anybody.
            key != keys.live && key != keys.newcomers
                && value.dropFirst().prefix(8).reduce(0) { $0 << 8 | Int64($1) } != newest
        }.keys.sorted().map { "\(host.name) seals \($0) under an older key" }
    }

    /// No host replaces or removes a token set that it has not read.
    private var reading: [String] {
        guard puts[keys.set] != nil || removed.contains(keys.set),
            let standing = cluster.content.records[keys.set]
        else { return [] }
        // Revisions repeat if a cluster was restored; no seal repeats.
        let isRead =
            world.wasRestored ? isLate || isAsRead(standing) : process.read[keys.set]?.revision == standing.revision
        guard !isRead else { return [] }
        return ["\(host.name) changes \(keys.set) unread"]
    }

    private func isAsRead(_ standing: ClusterRecord) -> Bool {
        guard let read = process.read[keys.set] else { return false }
        return read.value.isEmpty ? read.revision == standing.revision : read.value == standing.value
    }

    /// The one person who signs in here has one account.
    private var twins: [String] {
        guard puts[keys.set] != nil, cluster.content.records[keys.set] == nil, !cluster.tokens.isEmpty else {
            return []
        }
        return ["\(host.name) makes a second account of one person"]
    }

    private func intent(_ standing: Intent?, _ isOwn: Bool) -> [String] {
        guard let standing else { return [] }
        var broken: [String] = []
        let isAlive = cluster.content.records[keys.live] != nil
        if newIntent != nil {
            let isReplaced =
                cluster.tokenSet(keys.set)?.refreshToken.map { Self.digest($0) != standing.token } ?? false
            if isAlive {
                broken.append("\(host.name) takes the intent of \(standing.host) over, which is alive")
            } else if !mayTakeOver(standing), !isReplaced {
                broken.append("\(host.name) takes the intent of \(standing.host) over without leave")
            }
        } else if removed.contains(keys.intent), !removed.contains(keys.set) {
            if puts.isEmpty, host.copiedUnderWay.contains(standing.nonce) {
                broken.append(
                    "\(host.name) withdraws an intent under which the machine that it is a copy of may have sent")
            }
            if !isOwn {
                // A host that may take it over may have the answer already.
                if isAlive || !mayTakeOver(standing) || !adopts {
                    broken.append("\(host.name) removes the intent of \(standing.host)")
                }
            } else if isAlive, world.recorded[standing.nonce]?.process != ObjectIdentifier(process),
                host.files[FileIntentLog.answerPrefix + keys.id] == nil
            {
                broken.append("\(host.name) withdraws an intent that may be under way")
            }
        }
        return broken
    }

    /// Whether a late answer replaces the token that it was given for: no host sends that one then.
    private var adopts: Bool {
        guard let old = cluster.tokenSet(keys.set)?.refreshToken,
            let new = puts[keys.set].flatMap(SimulatedCluster.tokenSet)?.refreshToken
        else { return false }
        return world.provider.replaced[new] == old
    }

    private func tokens(_ standing: Intent?, _ isOwn: Bool) -> [String] {
        guard let value = puts[keys.set], let record = cluster.content.records[keys.set],
            let before = cluster.tokenSet(keys.set), let after = SimulatedCluster.tokenSet(value),
            let old = before.refreshToken, let new = after.refreshToken
        else { return [] }
        var broken: [String] = []
        let aside = cluster.content.records[keys.aside]?.value
        if after.isLost, !before.isLost, aside != process.read[keys.aside]?.value {
            broken.append("\(host.name) marks \(new) as lost, and has not read what stands aside")
        }
        // It would be tried again when it is already used.
        let left = removed.contains(keys.aside) ? nil : puts[keys.aside] ?? aside
        if new != old,
            let left = left.flatMap({ try? SupersededIntents(decoding: SimulatedCluster.plaintext($0)) }),
            [left.answer(to: Self.digest(old), of: ""), left.newest(of: "", in: after.lines[""])]
                .contains(where: { $0?.tokenSet.refreshToken == new })
        {
            broken.append("\(host.name) puts \(new), which stands aside, too")
        }
        if after.isLost, world.provider.takes(new) {
            broken.append("\(host.name) marks \(new) as lost, which the provider takes")
        }
        // A late answer is tried when the newer one is refused.
        if new.signIn == old.signIn, new.number < old.number,
            world.provider.reuse != .answers || world.provider.takes(old)
        {
            broken.append("\(host.name) puts \(new) over \(old)")
        }
        if let left = host.underWay[ObjectIdentifier(process)], world.provider.replaced[new] == left {
            broken.append("\(host.name) puts \(new), which it has not journaled")
        }
        guard standing != nil, !removed.contains(keys.intent) || isOwn else { return broken }
        if new.signIn == old.signIn, new != old, !isOwn {
            broken.append("\(host.name) puts \(new) over \(old) while another is at it")
        }
        if puts[keys.intent] == nil, SimulatedCluster.plaintext(record.value) == SimulatedCluster.plaintext(value) {
            broken.append("\(host.name) seals \(keys.id) anew in the middle of a refresh")
        }
        return broken
    }
}

extension ClusterTransaction.Change {
    /// Whether it puts a record there.
    fileprivate func puts(_ place: String) -> Bool {
        if case .put(place, _, _) = self { true } else { false }
    }
}
