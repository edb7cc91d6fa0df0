import CredentialCore

/// The knowledge of a host about its group, independent of the cluster's present content.
protocol RememberedGroupState: GroupKeys {
    /// Notes the hosts that the cluster names as expelled, and gives all hosts that this host has seen to be
    /// expelled. Another process of it may have learned more meanwhile, so it is looked up each time.
    func known(_ epoch: KeyEpoch) throws(CredentialError) -> KeyEpoch

    /// Of the epochs whose key this host was given, those without a later expulsion that it knows of. There are
    /// several if the cluster was restored and hosts have counted on from there. Without the key if a process was
    /// stopped as it was given it.
    func newest() throws(CredentialError) -> [(epoch: KeyEpoch, key: [UInt8]?)]

    /// The keys that this host was given, by their numbers, as far as they open.
    func givenKeys() throws(CredentialError) -> [Int64: DataKey]

    /// The settings that the hosts agree on, as one of them has proven last; `nil` if this host has met no proven
    /// settings.
    var settings: GroupSettings? { get throws(CredentialError) }

    /// The cluster's user for a host, by the makers of the keys that are kept here; `nil` if they do not name it.
    /// Anybody may have put a record there with another's key, so its name counts, too.
    func user(of host: RevokedHost) throws(CredentialError) -> String?

    /// Keeps a key, as it was wrapped for this host, with the record of its epoch.
    func keep(_ key: DataKey, _ record: KeyEpoch, _ wrapped: [UInt8]) throws(CredentialError)
}

// The knowledge that this host remembers, even if the cluster is lost or restored.
extension GroupConnection: RememberedGroupState {
    /// Before the key of an expelled host: each has a file of its own, since several processes of this host may
    /// learn of several at once.
    private static let expelledPrefix = "expelled-"

    /// The newest key and the expelled hosts that this host knows of. Another process of it may have learned more
    /// meanwhile, so it is read each time.
    func remembered() throws(CredentialError) -> KeyEpoch {
        var known = try vouchedExpelled()
        for one in try expelledNotes() {
            known = KeyEpoch(
                number: max(known.number, one.number), expelled: known.expelled + one.missing(in: known))
        }
        return known
    }

    private func expelledNotes() throws(CredentialError) -> [KeyEpoch] {
        var notes: [KeyEpoch] = []
        for name in try parts.files.names(of: group) where name.hasPrefix(Self.expelledPrefix) {
            // One that is damaged is written again when the cluster names that host.
            guard let one = try parts.files.read(name, of: group).flatMap(KeyEpoch.init(content:)) else { continue }
            notes.append(one)
        }
        return notes
    }

    /// The epochs in which this host has seen an expulsion, and of which it has kept no key.
    private func notedEpochs() throws(CredentialError) -> Set<Int64> {
        let kept = try keptEpochs(), named = try vouchedExpelled()
        return Set(try expelledNotes().filter { !$0.missing(in: named).isEmpty }.map(\.number))
            .subtracting(kept.map(\.number))
    }

    /// The hosts that this host knows to be expelled and the cluster does not name; the hosts that the cluster
    /// names are remembered from now on, as is the cluster's version of the epoch.
    func forgotten(by epoch: KeyEpoch) throws(CredentialError) -> [RevokedHost] {
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
        let names = forgotten.map { UntrustedText.shown($0.name, limit: 80) }.joined(separator: ", ")
        throw CredentialError(
            .storeUnavailable,
            "cannot write to the group \(group): its cluster was restored to a state before \(names) was removed",
            hint: LocalizedMessage(verbatim: try first.expelling(from: group, parts.cryptography)))
    }

    var settings: GroupSettings? {
        get throws(CredentialError) { try GroupSettings(in: parts.files, of: group) }
    }

    func user(of host: RevokedHost) throws(CredentialError) -> String? {
        for epoch in try keptEpochs().sorted(by: { $0.number > $1.number }) {
            if let user = epoch.expelled.first(where: host.isSame)?.user { return user }
            let given = epoch.hosts.first { $0.name == host.name && $0.publicKey == host.publicKey }
            if let given { return given.user }
        }
        return nil
    }

    func newest() throws(CredentialError) -> [(epoch: KeyEpoch, key: [UInt8]?)] {
        // Another process may have seen one just now, or was stopped when it had.
        for number in try notedEpochs() {
            do throws(CredentialError) { _ = try key(ofEpoch: number) } catch {
                guard error.isOfKey else { throw error }
            }
        }
        let keys = try givenKeys()
        return Self.newest(try keptEpochs()).map { ($0, keys[$0.number]?.bytes) }
    }

    /// The hosts that members of the group have expelled, not those that the cluster merely names as expelled, up
    /// to the newest key.
    func vouchedExpelled() throws(CredentialError) -> KeyEpoch {
        var all = KeyEpoch.none
        for epoch in try keptEpochs() {
            all = KeyEpoch(
                number: max(all.number, epoch.number), expelled: all.expelled + epoch.missing(in: all))
        }
        return all
    }

    /// Forgets the keys of a time before this host joined again: it begins without any knowledge.
    func forgetUnopened() throws(CredentialError) {
        guard try givenKeys().isEmpty else { return }
        for name in try parts.files.names(of: group)
        where name.hasPrefix(Self.epochPrefix) || name.hasPrefix(Self.keyPrefix) {
            try parts.files.remove(name, of: group)
        }
    }

    /// Before the number of an epoch: its record in the cluster at the time when this host was given its key.
    private static let epochPrefix = "epoch-"

    /// The epochs whose key this host was given, as their makers have vouched for them.
    private func keptEpochs() throws(CredentialError) -> [KeyEpoch] {
        var epochs: [KeyEpoch] = []
        for name in try parts.files.names(of: group) where name.hasPrefix(Self.epochPrefix) {
            // A damaged epoch vouches for no host.
            guard let content = try parts.files.read(name, of: group), let epoch = KeyEpoch(content: content) else {
                continue
            }
            epochs.append(epoch)
        }
        return epochs
    }

    /// The epochs without another epoch that names all of their expelled hosts and at least one more.
    private static func newest(_ epochs: [KeyEpoch]) -> [KeyEpoch] {
        epochs.filter { one in
            !epochs.contains { one.missing(in: $0).isEmpty && !$0.missing(in: one).isEmpty }
        }
    }

    /// Checks that a host of the group made a key: a holder of the newest key that this host knows, which no
    /// expelled host has. A host that was given that key is accepted, too, if this key goes only to hosts that were
    /// given that one. So it is if two hosts have counted on from a restored epoch, and if there are several it
    /// must be so of each. To a host that was given no key yet, anybody may give one.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    func checkMaker(
        _ maker: [UInt8], of key: DataKey, _ record: KeyEpoch
    ) throws(CredentialError) {
        if maker == (try hostKey().publicKey) { return }
        let given = try givenKeys()
        // Another process of this host may have taken it just now.
        if let taken = given[key.epoch] {
            guard taken.bytes == key.bytes, taken.recordDigest == key.recordDigest else { throw try foreignKey() }
            return
        }
        // A process may have been stopped when it had kept the record of this one, and not the key.
        func kept() throws(CredentialError) -> [KeyEpoch] { try keptEpochs().filter { $0.number != key.epoch } }
        let before = try kept()
        if given.isEmpty, before.isEmpty { return }
        if try isLinked(key, given, before) { return }
        let newest = Self.newest(before)
        if !newest.isEmpty {
            let hosts = record.hosts.map(\.publicKey) + [maker]
            let were = newest.map { Set($0.hosts.map(\.publicKey)) }
            if were.allSatisfy({ $0.isSuperset(of: hosts) }) { return }
        }
        // The maker of this key may have had a key that this host has missed, and may have joined since.
        for number in key.links.keys.sorted(by: >) where given[number] == nil && number < key.epoch {
            guard let missed = try missed(number),
                try membership.wrap(backend.groupID).isLinked(key, from: missed.key)
            else { continue }
            do throws(CredentialError) { _ = try self.key(of: missed.epoch) } catch {
                guard error.code == .storeUnavailable || error.code == .storeLocked else { throw error }
                continue
            }
            if try isLinked(key, try givenKeys(), try kept()) { return }
        }
        throw try foreignKey()
    }

    /// Whether who has made a key has the newest of which this host knows. Of several, each names a host that may
    /// have another's key.
    private func isLinked(
        _ key: DataKey, _ given: [Int64: DataKey], _ kept: [KeyEpoch]
    ) throws(CredentialError) -> Bool {
        let newest = Self.newest(kept), wrap = membership.wrap(backend.groupID)
        for epoch in newest where newest.allSatisfy({ $0.missing(in: epoch).isEmpty }) {
            if let earlier = given[epoch.number], try wrap.isLinked(key, from: earlier) { return true }
        }
        return false
    }

    /// Checks that the cluster's record of an epoch is the one that the maker of its key has vouched for, and
    /// remembers that.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    func confirm(_ key: DataKey) throws(CredentialError) {
        guard let content = unconfirmed(key.epoch) else { return }
        guard try parts.cryptography.sha256(content) == key.recordDigest else { throw try foreignKey() }
        let name = Self.epochPrefix + String(key.epoch)
        if try parts.files.read(name, of: group) != content {
            try parts.files.write(content, to: name, of: group)
        }
        noteConfirmed(key.epoch, content)
    }

    /// The error of a key that no host of the group has made.
    func foreignKey() throws(CredentialError) -> CredentialError {
        let join: LocalizedMessage =
            "to accept the key, before this host joins the group again: credmgr groups leave \(group) --keep"
        var hint = join
        if let last = try remembered().expelled.last {
            let command = try last.expelling(from: group, parts.cryptography)
            hint = "to make another key: \(command); \(join)"
        }
        return CredentialError(
            .storeUnavailable,
            "cannot write to the group \(group): no known host of the group made its newest key in the cluster",
            hint: hint)
    }
}
