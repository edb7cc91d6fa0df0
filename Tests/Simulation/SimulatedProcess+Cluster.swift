import CredentialCore
import TestPorts

@testable import SharedGroups

extension SimulatedProcess: Cluster {
    private static let silence = CredentialError(.temporary, "the cluster does not answer")

    private func call<Value>(
        _ name: String, _ body: () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Value {
        noteNews()
        return try trace.call("cluster.\(name)") { () throws(CredentialError) in
            let fails = isCutOff()
            if fails, world.draw(2) { throw Self.silence }
            let told = (readExpelled, news), value = try body()
            // It was done even so, and the caller does not know it.
            if fails {
                (readExpelled, news) = told
                throw Self.silence
            }
            return value
        }
    }

    /// Whether the cluster does not answer this call: after one call without an answer the next calls often have no
    /// answer, either.
    private func isCutOff() -> Bool {
        if silentCalls > 0 {
            silentCalls -= 1
            return true
        }
        guard world.draw(world.faults.cluster) else { return false }
        if world.draw(2) { silentCalls = world.schedule.random.below(5) }
        return true
    }

    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        try call("read") { () throws(CredentialError) in try found(keys) }
    }

    func read(_ keys: [String], listing prefix: String) throws(CredentialError) -> ReadResult {
        try call("read") { () throws(CredentialError) in
            let listed = world.cluster.content.records.values.filter { $0.key.hasPrefix(prefix) }
                .sorted { $0.key < $1.key }.map { ClusterRecord(key: $0.key, value: [], revision: $0.revision) }
            return ReadResult(records: try found(keys), listed: listed)
        }
    }

    private func found(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        let found = keys.map { world.cluster.content.records[$0] }
        if let place = keys.firstIndex(of: World.path + "epoch"), let record = found[place] {
            let named = Set((try KeyEpoch(record)).expelled.map(\.publicKey))
            readExpelled.formUnion(named)
            knownExpelled = host.knowsExpelled.union(knewExpelled).union(notedExpelled)
            // A host that does not belong to the group by that record ignores it.
            if world.hasAdmitted(host) { news = named }
        }
        for (key, record) in zip(keys, found) where key.hasPrefix(World.path + "a/") {
            if key.hasSuffix("/set") { read[key] = record }
            if key.hasSuffix("/intent") { lastIntent.nonce = world.cluster.intent(key)?.nonce }
            if key.hasSuffix("/live") { lastIntent.isAlive = record != nil }
            if key.hasSuffix("/aside") {
                read[key] = record
                let aside = record.flatMap {
                    try? SupersededIntents(decoding: SimulatedCluster.plaintext($0.value))
                }
                lastAside = aside ?? SupersededIntents()
            }
        }
        if !news.isSubset(of: host.hasNotedExpelled) { world.hearOfExpel() }
        return found
    }

    /// A host that asks the cluster for more has written down the facts that it has read there before.
    private func noteNews() {
        guard !trace.isEnded, !news.isSubset(of: notedExpelled) else { return }
        if !news.isSubset(of: host.filedExpelled) {
            world.problems.append("\(host.name) asks for more, and has not written down who was expelled")
        }
        notedExpelled.formUnion(news)
        host.hasNotedExpelled.formUnion(news)
    }

    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        try call("list") { () throws(CredentialError) in
            world.cluster.content.records.values.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }
        }
    }

    func revision(committing transaction: ClusterTransaction) throws(CredentialError) -> Int64? {
        noteNews()
        let aside = transaction.aside
        // The actions of others on the account just then.
        if aside == .beside, mayHappen(world.faults.stop) {
            if world.draw(2) { stop() } else { world.meanwhile?(host) }
        }
        return try trace.call("cluster.commit") { () throws(CredentialError) in
            // It is done without an answer, and others act before it is tried again.
            if aside == .alone, mayHappen(world.faults.cluster) {
                _ = try apply(transaction)
                stop()
                throw Self.silence
            }
            guard isCutOff() else {
                let revision = try apply(transaction)
                if revision != nil { noteMade(transaction) }
                return revision
            }
            // It does it, or not, or later.
            if world.draw(world.faults.later) {
                world.lateCommits.append { [self] in _ = try? apply(transaction, isLate: true) }
            } else if world.draw(2) {
                _ = try apply(transaction)
            }
            throw Self.silence
        }
    }

    /// Whether something goes wrong at a moment that comes seldom and matters much, in a run in which it goes wrong
    /// at all.
    private func mayHappen(_ fault: Int) -> Bool { world.schedule.isRunning && fault > 0 && world.draw(3) }

    /// The host knows the hosts that it has named as expelled to be so, once it has heard that this is done.
    private func noteMade(_ transaction: ClusterTransaction) {
        for case .put(World.path + "epoch", let value, _) in transaction.changes {
            guard let made = KeyEpoch(content: value) else { continue }
            readExpelled.formUnion(made.expelled.map(\.publicKey))
            madeEpochs.append(made)
        }
    }

    /// - Parameter isLate: whether its caller has gone on, and does not know its result.
    private func apply(
        _ transaction: ClusterTransaction, isLate: Bool = false
    ) throws(CredentialError) -> Int64? {
        guard try world.cluster.allows(transaction) else {
            world.tell("\(name) is overtaken")
            return nil
        }
        world.tell("\(name) does \(transaction.changes.map(\.shown))")
        if let rules = Rules(transaction, by: self, isLate: isLate) {
            world.problems += rules.broken
            world.mayComeAgain.formUnion(rules.retried)
            if let intent = rules.newIntent {
                world.recorded[intent.nonce] = (intent, host, ObjectIdentifier(self))
            }
        }
        world.problems += Rules.keys(in: transaction, by: self)
        for case .put(World.path + "group", let content, _) in transaction.changes {
            world.problems += Rules.agreed(content, by: self, isLate: isLate)
        }
        // A transaction that is applied late was asked for before the process had read the last of that.
        if !isLate { host.knowsExpelled.formUnion(readExpelled) }
        world.cluster.apply(transaction)
        for change in transaction.changes {
            switch change {
            case .put(let key, let value, _) where key.hasSuffix("/set"):
                if !isLate { lastPut = (key, value) }
                if let token = SimulatedCluster.tokenSet(value)?.refreshToken {
                    if world.haveStood.last != token.signIn { world.haveStood.append(token.signIn) }
                }
                if !isLate { read[key] = world.cluster.content.records[key] }
            case .remove(let key) where key.hasPrefix(World.path + "hosts/"):
                world.wasExpelled(String(key.dropFirst(World.path.count + "hosts/".count)))
            default: break
            }
        }
        return world.cluster.content.revision
    }

    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        try call("lease") { () throws(CredentialError) in
            let number = world.cluster.content.nextLease
            world.cluster.content.nextLease += 1
            world.cluster.content.leases[number] = ([], world.milliseconds + seconds * 1_000)
            leaseBegan = world.milliseconds
            return ClusterLease(number: number)
        }
    }

    func hold(_ lease: ClusterLease) -> any HeldLease {
        world.cluster.held[lease.number] = trace
        return Hold(cluster: world.cluster, number: lease.number)
    }

    func recordWait(_ milliseconds: Int64) { waitedElsewhere += milliseconds }

    func revoke(_ lease: ClusterLease) throws(CredentialError) {
        try call("revoke") { () throws(CredentialError) in world.cluster.end(lease.number) }
    }
}

private struct Hold: HeldLease {
    let cluster: SimulatedCluster
    let number: Int64
    func release() { cluster.held[number] = nil }
}

// MARK: The folder

extension SimulatedProcess: GroupFiles {
    func read(_ name: String, of group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        // How the group is shared is looked at again and again, and never changes here.
        if name == ClusterConfiguration.fileName { return host.files[name] }
        return try trace.call("files.read") { () throws(CredentialError) in host.files[name] }
    }

    func write(_ content: [UInt8], to name: String, of group: KeychainGroup) throws(CredentialError) {
        try trace.call("files.write") { () throws(CredentialError) in
            for (number, forgeries) in world.forgeries where name == "epoch-\(number)" {
                for forgery in forgeries
                where forgery.isNew && forgery.content == content && knows(forgery) {
                    world.problems.append("\(host.name) takes a key that an expelled host has made")
                }
            }
            world.tell("\(self.name) keeps \(name)")
            if name == GroupSettings.fileName { world.problems += Rules.agreed(content, by: self) }
            host.files[name] = content
            if name.hasPrefix(FileIntentLog.intentPrefix),
                let note = host.note(of: String(name.dropFirst(FileIntentLog.intentPrefix.count)))
            {
                isNoted(note)
            }
            if name.hasPrefix(FileIntentLog.answerPrefix) {
                noted = nil
                host.journaled[String(name.dropFirst(FileIntentLog.answerPrefix.count))] =
                    host.underWay[ObjectIdentifier(self)]
                isSafe()
            }
        }
    }

    /// A process notes that it sends only when it has read, after it had recorded the intent, that this is current
    /// and alive.
    private func isNoted(_ note: IntentLogEntry) {
        noted = note.maySend ? note.nonce : nil
        guard note.maySend else { return }
        isTooLate = world.milliseconds - leaseBegan >= SharedRefresh.leaseSeconds * 1_000 / 2
        if lastIntent.nonce != note.nonce || !lastIntent.isAlive {
            world.problems.append("\(host.name) notes that it sends under an intent that it has not read again")
        }
        if let token = world.recorded[note.nonce]?.intent.token, lastAside.answer(to: token, of: "") != nil {
            world.problems.append("\(host.name) notes that it sends a token, and has read what it was replaced by")
        }
    }

    func remove(_ name: String, of group: KeychainGroup) throws(CredentialError) {
        try trace.call("files.remove") { () throws(CredentialError) in
            host.files[name] = nil
            if name.hasPrefix(FileIntentLog.answerPrefix) {
                host.journaled[String(name.dropFirst(FileIntentLog.answerPrefix.count))] = nil
            }
        }
    }

    func place(of group: KeychainGroup) throws(CredentialError) -> String { host.place }
    func names(of group: KeychainGroup) throws(CredentialError) -> [String] { host.files.keys.sorted() }
    func groups() throws(CredentialError) -> [KeychainGroup] { host.files.isEmpty ? [] : [World.group] }
}

extension ClusterTransaction {
    /// The actions of a transaction on late answers: keep one aside, or change the answers kept aside with the
    /// account; `nil` without such an action, also if an intent is recorded with it.
    fileprivate enum Aside { case alone, beside }

    fileprivate var aside: Aside? {
        let keys = changes.map(\.key)
        func isPut(_ name: String) -> Bool {
            changes.contains { if case .put(let key, _, _) = $0 { key.hasSuffix(name) } else { false } }
        }
        guard keys.contains(where: { $0.hasSuffix("/aside") }), !isPut("/intent") else { return nil }
        return isPut("/set") ? .beside : .alone
    }
}

extension ClusterTransaction.Change {
    /// The key that the change puts or removes.
    fileprivate var key: String {
        switch self {
        case .put(let key, _, _): key
        case .remove(let key): key
        }
    }

    /// The text about the change, for the reader of a run's log.
    fileprivate var shown: String {
        switch self {
        case .remove(let key): return "-\(key.dropFirst(World.path.count))"
        case .put(let key, let value, _):
            let set = SimulatedCluster.tokenSet(value)
            return "+\(key.dropFirst(World.path.count))" + (set.map { " \($0.shown)" } ?? "")
        }
    }
}

extension TokenSet {
    /// Its refresh token, whether that was refused, and its step in its line.
    fileprivate var shown: String {
        let line = lines[""].map { "step \($0.step)" } ?? "no line"
        return "\(refreshToken.map { "\($0)" } ?? "nothing")\(isLost ? " lost" : "") \(line)"
    }
}
