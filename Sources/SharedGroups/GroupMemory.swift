import CredentialCore

/// What a host has learned of its group, whatever stands in the cluster now.
protocol GroupMemory: GroupKeys {
    /// Notes whom the cluster names as expelled, and gives all of whom this host knows that they were. Another process of it may have
    /// learned more meanwhile, so it is looked up each time.
    func known(_ epoch: KeyEpoch) throws(CredentialError) -> KeyEpoch

    /// Of the epochs whose key this host was given the newest that names everybody of whom it knows that they were expelled: none of
    /// them has that key. `nil` where there is none.
    func newestTrusted() throws(CredentialError) -> (epoch: KeyEpoch, key: [UInt8])?

    /// The keys that this host was given, by their numbers, as far as they open.
    func givenKeys() throws(CredentialError) -> [Int64: [UInt8]]
}

// What this host remembers, whatever becomes of the cluster.
extension GroupLink: GroupMemory {
    /// Before the key of an expelled host: each has a file of its own, since several processes of this host may learn of several at
    /// once.
    private static let expelledPrefix = "expelled-"

    /// What this host knows of the newest key and of who was expelled. Another process of it may have learned more meanwhile, so
    /// it is read each time.
    func remembered() throws(CredentialError) -> KeyEpoch {
        var known = KeyEpoch.none
        for name in try parts.files.names(of: group) where name.hasPrefix(Self.expelledPrefix) {
            // One that is damaged is written again when the cluster names that host.
            guard let one = try parts.files.read(name, of: group).flatMap(KeyEpoch.init(content:)) else { continue }
            known = KeyEpoch(
                number: max(known.number, one.number), expelled: known.expelled + one.missing(in: known))
        }
        return known
    }

    /// Whom this host knows to be expelled and the cluster does not name; what that names is remembered from now on, and that this
    /// is what the cluster has of the epoch.
    func forgotten(by epoch: KeyEpoch) throws(CredentialError) -> [ExpelledHost] {
        noteStanding(epoch)
        let known = try remembered()
        for host in epoch.missing(in: known) {
            let note = KeyEpoch(number: epoch.number, expelled: [host])
            try parts.files.write(
                note.encoded, to: Self.expelledPrefix + Base64URL.encode(host.publicKey), of: group)
        }
        return known.missing(in: epoch)
    }

    func known(_ epoch: KeyEpoch) throws(CredentialError) -> KeyEpoch {
        _ = try forgotten(by: epoch)
        return try remembered()
    }

    func check(_ epoch: KeyEpoch) throws(CredentialError) {
        let forgotten = try forgotten(by: epoch)
        guard let first = forgotten.first else { return }
        let names = forgotten.map { ForeignText.shown($0.name, limit: 80) }.joined(separator: ", ")
        throw CredentialError(
            .storeUnavailable,
            "the cluster of the group \(group) was put back to a time before \(names) was expelled, so nothing is written that "
                + "could be read there",
            hint: "credmgr groups expel \(group) \(first.name)")
    }

    func newestTrusted() throws(CredentialError) -> (epoch: KeyEpoch, key: [UInt8])? {
        let keys = try givenKeys()
        let epochs = Self.trusted(try keptEpochs()).filter { keys[$0.number] != nil }
        guard let newest = epochs.max(by: { $0.number < $1.number }) else { return nil }
        return keys[newest.number].map { (newest, $0) }
    }

    /// Before the number of an epoch: what its record in the cluster was when this host was given its key.
    private static let epochPrefix = "epoch-"

    /// The epochs whose key this host was given, as their makers have vouched for them.
    private func keptEpochs() throws(CredentialError) -> [KeyEpoch] {
        var epochs: [KeyEpoch] = []
        for name in try parts.files.names(of: group) where name.hasPrefix(Self.epochPrefix) {
            // One that is damaged vouches for nobody.
            guard let content = try parts.files.read(name, of: group), let epoch = KeyEpoch(content: content) else {
                continue
            }
            epochs.append(epoch)
        }
        return epochs
    }

    /// Those that name everybody who is expelled by any of them: nobody who was has their keys.
    private static func trusted(_ epochs: [KeyEpoch]) -> [KeyEpoch] {
        epochs.filter { one in epochs.allSatisfy { $0.missing(in: one).isEmpty } }
    }

    /// Looks whether a key was made by a host of the group: one that an earlier key was given to and that was not expelled, or one
    /// that had an earlier key which nobody has who was. To whom no key was given yet anybody may give one: people have compared
    /// fingerprints.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    func checkMaker(_ maker: [UInt8], of key: DataKey) throws(CredentialError) {
        if maker == (try hostKey().publicKey) { return }
        var given = try givenKeys()
        if given.isEmpty { return }
        let epochs = try keptEpochs(), known = try remembered()
        let isExpelled = known.expelled.contains { $0.publicKey == maker }
        if !isExpelled, epochs.contains(where: { $0.hosts.contains { $0.publicKey == maker } }) { return }
        // What this host has missed first: who has made the newest may have come since.
        for number in key.links.keys.sorted() where given[number] == nil && number < key.epoch {
            given[number] = try missed(number)
        }
        for epoch in Self.trusted(try keptEpochs()) {
            guard let proof = key.links[epoch.number], let earlier = given[epoch.number] else { continue }
            let own = try membership.wrap(backend.groupID).link(to: key, from: earlier)
            if ConstantTime.equal(proof, own) { return }
        }
        throw try foreignKey()
    }

    /// The key of an epoch that was the newest while this host was away; `nil` where there is none that it may believe.
    private func missed(_ epoch: Int64) throws(CredentialError) -> [UInt8]? {
        let membership = membership
        let found = try cluster.read([membership.recordKey(epoch), membership.dataKey(epoch, backend.host)])
        guard let record = found[0].flatMap({ KeyEpoch(content: $0.value) }), record.number == epoch,
            found[1] != nil
        else { return nil }
        noteStanding(record)
        do throws(CredentialError) { return try key(ofEpoch: epoch) } catch {
            guard error.code == .storeUnavailable || error.code == .storeLocked else { throw error }
            return nil
        }
    }

    /// Looks whether what stands in the cluster of an epoch is what the maker of its key has vouched for, and remembers that.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    func confirm(_ key: DataKey) throws(CredentialError) {
        guard let content = unconfirmed(key.epoch) else { return }
        guard try parts.cryptography.sha256(content) == key.recordDigest else { throw try foreignKey() }
        let name = Self.epochPrefix + String(key.epoch)
        if try !parts.files.names(of: group).contains(name) {
            try parts.files.write(content, to: name, of: group)
        }
        noteConfirmed(key.epoch, content)
    }

    private func foreignKey() throws(CredentialError) -> CredentialError {
        let join: Message = "to take that one: credmgr groups leave \(group) --keep, and have this host join again"
        var hint = join
        if let last = try remembered().expelled.last {
            let command = ShellQuote.line(["credmgr", "groups", "expel", group.name, last.name])
            hint = "to make another: \(command); \(join)"
        }
        return CredentialError(
            .storeUnavailable,
            "the newest key of the group \(group) in the cluster was made by nobody whom this host knows to belong to it, so "
                + "nothing is written that could be read by it",
            hint: hint)
    }
}
