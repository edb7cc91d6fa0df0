import CredentialCore

// The hosts that are let in, and those that are no longer; the group's data key proves that a host was let in
// (decision 20).
extension GroupMembership {
    /// The hosts of the group as any holder of its data key sees them: a host that only claims to be let in waits.
    func roster(
        by keys: any GroupKeys
    ) throws(CredentialError) -> (hosts: [GroupHost], unproven: [String], damaged: [String]) {
        for _ in 0..<Self.attempts {
            guard let before = try cluster.read([epochKey])[0] else { break }
            let (hosts, damaged) = try roster()
            // Each admission or expulsion changes the epoch, too: so all of it is of one moment.
            guard try cluster.read([epochKey])[0] == before else { continue }
            let epoch = try KeyEpoch(before), id = try groupID(), key = try keys.key(of: epoch)
            var proven: [GroupHost] = [], unproven: [String] = []
            for var host in hosts {
                if try isProven(host, in: epoch, key: key, id) {
                    // It may have asked only, if its record is in a cluster that was restored since.
                    if host.admission == nil {
                        host.admission = try wrap(id).admission(of: host, key: key, epoch: epoch.number)
                    }
                } else {
                    if host.isAdmitted { unproven.append(host.name) }
                    host.admission = nil
                    // It may name another host's user, which would lose the role.
                    host.user = nil
                }
                proven.append(host)
            }
            return (proven, unproven, damaged)
        }
        throw busy
    }

    /// Whether a host was given the key of an epoch by one who had it, and does not only claim so.
    ///
    /// - Parameter key: that of the epoch, which vouches for the content of its record, too; `nil` if this host has
    ///   only that.
    func isProven(
        _ host: GroupHost, in epoch: KeyEpoch, key: [UInt8]?, _ id: [UInt8]
    ) throws(CredentialError) -> Bool {
        if epoch.gaveKey(to: host) { return true }
        guard let key else { return false }
        return try wrap(id).isAdmitted(host, key: key, epoch: epoch.number)
    }

    /// Gives a host the group's data key.
    ///
    /// - Parameter fingerprint: the fingerprint that its own side shows; it must be that of the key in the cluster.
    /// - Parameter memory: the facts that this host has learned of the group.
    /// - Parameter seal: seals under the newest key any record that is not, since the host is given no other. It is
    ///   asked at each try: another host may have been expelled between two.
    /// - Throws: the errors of `seal`; ``ErrorCode/noSuchAccount`` when no such host has asked;
    ///   ``ErrorCode/denied`` when the fingerprint is another, or the host was expelled; ``ErrorCode/storeLocked``
    ///   when this host is not admitted itself.
    func admit(
        _ name: String, fingerprint: String, by own: (name: String, key: HostKey),
        _ memory: any RememberedGroupState,
        sealing seal: () throws(CredentialError) -> Void = {}
    ) throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let found = try cluster.read([hostKey(name), epochKey, hostKey(own.name)])
            guard let record = found[0], let epochRecord = found[1] else {
                throw CredentialError(
                    .noSuchAccount, "no host called \(name) has asked to join")
            }
            let newest = try KeyEpoch(epochRecord)
            // At once: the cluster may be restored before any record is sealed again.
            _ = try memory.known(newest)
            var host = try GroupHost(record)
            let shown = try host.fingerprint(cryptography)
            guard
                ConstantTime.equal(
                    Array(shown.utf8), Array((KeyFingerprint.normalized(fingerprint) ?? fingerprint).utf8))
            else {
                throw CredentialError(
                    .denied,
                    "the key in the cluster has the fingerprint \(shown), not the fingerprint that \(name) shows")
            }
            try seal()
            // That has read, too, who is expelled by then.
            guard !newest.has(host.whenExpelled), try !memory.known(newest).has(host.whenExpelled) else {
                throw CredentialError(
                    .denied, "the host that asks to join as \(name) was removed from the group")
            }
            if let standing = found[2], try GroupHost(standing).leaves != nil {
                throw CredentialError(.storeLocked, "this host, \(own.name), is leaving the group")
            }
            let id = try groupID()
            let key = try memory.key(of: newest)
            // Not by its record, which anybody may have written, nor without the key.
            if try isProven(host, in: newest, key: key, id),
                try cluster.read([dataKey(newest.number, name)])[0] != nil
            {
                return
            }
            host.admission = try wrap(id).admission(of: host, key: key, epoch: newest.number)
            var transaction = ClusterTransaction()
            transaction.expect(record, at: hostKey(name))
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [
                .put(hostKey(name), host.encoded),
                try give(
                    try wrap(id).dataKey(key, of: newest, former: try memory.givenKeys()), to: host, by: own.key,
                    id),
                // A host that is about to leave as the last one notices this change.
                .put(epochKey, epochRecord.value),
            ]
            if try cluster.commit(transaction) { return }
        }
        throw busy
    }

    /// Makes a new data key that `name` does not get, and takes its old ones away. Records that are sealed under
    /// the old key stay so until they are sealed again.
    ///
    /// The new key goes to the hosts that were given the newest key that this host knows. That is not the cluster's
    /// epoch if the cluster was restored, or has a key that no host has made. Hosts that were expelled are expelled
    /// again with `name`, which may be one of them.
    ///
    /// - Parameter fingerprint: that of its key, if another machine may have come under its name since.
    /// - Parameter memory: the facts that this host has learned of the group, asked at each try, as the cluster may
    ///   be restored between two.
    /// - Throws: as ``admit(_:fingerprint:by:_:sealing:)``.
    @discardableResult
    func expel(
        _ name: String, fingerprint: String? = nil, by own: (name: String, key: HostKey),
        _ memory: any RememberedGroupState
    ) throws(CredentialError) -> RemovalResult {
        func isMeant(_ host: RevokedHost) throws(CredentialError) -> Bool {
            guard host.name == name else { return false }
            guard let fingerprint else { return true }
            return try host.fingerprint(cryptography) == KeyFingerprint.normalized(fingerprint) ?? fingerprint
        }
        for _ in 0..<Self.attempts {
            let reading = try cluster.read([epochKey], listing: path + "hosts/")
            // Noted at once: the cluster may be restored before the next read.
            guard let seen = reading.records[0] else { throw noHost(name, among: []) }
            let known = try memory.known(KeyEpoch(seen))
            let found = try cluster.read([epochKey, groupKey] + reading.listed.map(\.key))
            // Each admission or expulsion changes the epoch, too: so the holders of the key are of one moment, even
            // if the cluster was restored.
            guard let epochRecord = found[0], let groupRecord = found[1] else { continue }
            guard epochRecord == seen else {
                _ = try memory.known(KeyEpoch(epochRecord))
                continue
            }
            let epoch = try KeyEpoch(epochRecord), facts = try GroupFacts(groupRecord), id = facts.id
            let listed = found.dropFirst(2).compactMap(\.self)
            // A host that cannot be read is remembered by the value in its place.
            var hosts: [GroupHost] = []
            for record in listed {
                if let host = try? GroupHost(record) {
                    hosts.append(host)
                    continue
                }
                hosts.append(
                    GroupHost(
                        name: self.name(of: record), publicKey: try cryptography.sha256(record.value),
                        joinedAt: clock.now))
            }
            // No host expels itself, whichever records are there.
            func isOwn(_ host: GroupHost) -> Bool { host.name == own.name && host.publicKey == own.key.publicKey }
            // A host that was expelled meanwhile makes no key, nor does one that is not admitted.
            guard hosts.contains(where: isOwn) else {
                throw CredentialError(
                    .storeLocked, "this host, \(own.name), does not belong to the group \(groupName) any more",
                    hint: "before this host joins the group again: credmgr groups leave \(groupName)")
            }
            let judges = try judges(epoch, known, memory)
            let isDoubtful = judges.map(\.epoch) != [epoch] || !known.missing(in: epoch).isEmpty
            var meant: [RevokedHost] = []
            for host in hosts.map(\.whenExpelled) + (isDoubtful ? known.expelled : []) where try isMeant(host) {
                if !meant.contains(where: host.isSame) { meant.append(host) }
            }
            guard !meant.isEmpty else {
                guard let namesake = hosts.first(where: { $0.name == name }) else {
                    throw noHost(name, among: hosts)
                }
                throw CredentialError(
                    .denied,
                    "the host \(name) has the fingerprint \(try namesake.fingerprint(cryptography))",
                    hint: "credmgr groups hosts \(groupName)")
            }
            // The agreed settings continue with a new key: as they are in the cluster if there is no doubt about
            // them, or as this host knows them. A host that knows no settings leaves the record as it is, for the
            // others to report.
            var settings = try memory.settings
            if !isDoubtful, let key = judges[0].key,
                try wrap(id).isAgreed(facts, key: key, epoch: epoch.number)
            {
                settings = facts.settings
            }
            let gone = hosts.filter { host in
                meant.contains(where: host.whenExpelled.isSame)
                    || !isOwn(host) && (known.has(host.whenExpelled) || epoch.has(host.whenExpelled))
            }
            var given: [GroupHost] = [], transaction = ClusterTransaction()
            transaction.expect(epochRecord, at: epochKey)
            transaction.expect(groupRecord, at: groupKey)
            for (record, standing) in zip(listed, hosts) {
                var host = standing
                transaction.expectRevision(record)
                if gone.contains(host) {
                    transaction.changes.append(.remove(record.key))
                    continue
                }
                // This host itself knows its user in the cluster, even if another host has put another name into
                // its record.
                if isOwn(host), case let user = ownUser(of: host), host.user != user {
                    host.user = user
                    transaction.changes.append(.put(record.key, host.encoded))
                }
                // That this one has the key was just seen.
                var isGiven = true
                for (epoch, key) in judges where isGiven && !isOwn(host) {
                    isGiven = try isProven(host, in: epoch, key: key, id)
                }
                if isGiven {
                    given.append(host)
                } else if host.isAdmitted {
                    // A host that claims the key without having been let in waits from now on.
                    host.admission = nil
                    transaction.changes.append(.put(record.key, host.encoded))
                }
            }
            var leaving: [RevokedHost] = []
            for var host in meant + gone.map(\.whenExpelled) where !leaving.contains(where: host.isSame) {
                host.user = try user(of: host, gone, judges, id, memory)
                // Anybody may have put a record there with the key of a host that stays.
                if given.contains(where: { $0.publicKey == host.publicKey }) { host.user = nil }
                leaving.append(host)
            }
            let next = try epoch.next(
                expelling: name, leaving, known: known, hosts: given.map(\.whenGivenKey), random
            ) { (host) throws(CredentialError) in
                if let user = leaving.first(where: host.isSame)?.user { return user }
                return try memory.user(of: host)
            }
            let key = try wrap(id).dataKey(
                random.bytes(Self.keySize), of: next, former: try memory.givenKeys())
            transaction.changes += [.put(epochKey, next.encoded), .put(recordKey(next.number), next.encoded)]
            if let settings {
                let proven = try facts.encoded(agreeing: settings, wrap(id), key: key.bytes, epoch: key.epoch)
                transaction.changes.append(.put(groupKey, proven))
            }
            var ownWrap: [UInt8]?
            for host in given {
                let wrapped = try wrap(id).wrap(key, for: host, by: own.key)
                if isOwn(host) { ownWrap = wrapped }
                transaction.changes.append(.put(dataKey(key.epoch, host.name), wrapped))
            }
            // Another machine may come under the name as soon as the key is there.
            let names = Set(gone.map(\.name) + [name, Self.passphraseName]).subtracting(given.map(\.name))
            let useless = try cluster.listKeys(path + "keys/").map(\.key).filter {
                names.contains(String($0.split(separator: "/").last ?? ""))
            }
            do throws(CredentialError) {
                guard try cluster.commit(transaction) else { continue }
            } catch {
                guard error.code == .temporary, let standing = try cluster.read([epochKey])[0] else { throw error }
                // Noted, as every record read: the cluster may be restored.
                _ = try memory.known(KeyEpoch(standing))
                // It may have been done, and only its answer lost.
                guard standing.value == next.encoded else { throw error }
            }
            // At once: the cluster may be restored before any other host has looked.
            if let ownWrap { try memory.keep(key, next, ownWrap) }
            var expulsion = RemovalResult(
                hosts: leaving.map { host in
                    let other = given.first { $0.shownUser == host.user ?? host.name }?.name
                    return RemovalResult.Host(name: host.name, user: host.user, sharesUserWith: other)
                })
            // This key material was wrapped for hosts that are no longer members, and by the passphrase, which they
            // know. It opens no new record, and the group is to be sealed again, even if this fails.
            do throws(CredentialError) { try remove(useless) } catch { expulsion.staleKeyringCopy = error }
            return expulsion
        }
        throw busy
    }

    /// The cluster's user for a host that is taken out, by records that a host of the group has made: the message
    /// names the user whose role is to be taken away.
    private func user(
        of host: RevokedHost, _ gone: [GroupHost], _ judges: [(epoch: KeyEpoch, key: [UInt8]?)], _ id: [UInt8],
        _ memory: any RememberedGroupState
    ) throws(CredentialError) -> String? {
        if let standing = gone.first(where: { host.isSame($0.whenExpelled) }) {
            for (epoch, key) in judges where try isProven(standing, in: epoch, key: key, id) {
                return standing.shownUser
            }
        }
        return try memory.user(of: host)
    }

    /// The epochs that decide which hosts belong to the group: the cluster's, unless it lacks a host that this one
    /// knows to be expelled, or no host of the group has made it. If there are several, a host belongs to the group
    /// by each of them.
    private func judges(
        _ standing: KeyEpoch, _ known: KeyEpoch, _ memory: any RememberedGroupState
    ) throws(CredentialError) -> [(epoch: KeyEpoch, key: [UInt8]?)] {
        let key: [UInt8]
        do throws(CredentialError) { key = try memory.key(of: standing) } catch {
            // Without a key, this host may not be admitted; an invalid key cannot be from a host of the group.
            guard error.isOfKey, error.code != .storeLocked,
                case let newest = try memory.newest(), !newest.isEmpty
            else { throw error }
            return newest
        }
        // A host that has only seen which hosts were expelled, and was not given the key that was made then, knows
        // no better.
        let newest = known.missing(in: standing).isEmpty ? [] : try memory.newest()
        return newest.isEmpty ? [(standing, key)] : newest
    }

    private func noHost(_ name: String, among hosts: [GroupHost]) -> CredentialError {
        let names = hosts.map { UntrustedText.shown($0.name, limit: 80) }.joined(separator: ", ")
        return CredentialError(
            .noSuchAccount,
            "no host of the group is called \(UntrustedText.shown(name, limit: 80)); its hosts are \(names)")
    }
}
