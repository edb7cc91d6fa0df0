import CredentialCore

// Who is let in, and who is not any more; that a host was is proven by the group's data key (decision 20).
extension GroupMembership {
    /// The hosts of the group as whoever has its data key sees them: who only says that it was let in waits.
    ///
    /// - Parameter key: gives the data key of an epoch.
    func roster(
        by key: (Int64) throws(CredentialError) -> [UInt8]
    ) throws(CredentialError) -> (hosts: [GroupHost], unproven: [String], damaged: [String]) {
        for _ in 0..<Self.attempts {
            guard let before = try cluster.read([epochKey])[0] else { break }
            let (hosts, damaged) = try roster()
            // Whoever admits or expels changes the epoch, too: so all of it is of one moment.
            guard try cluster.read([epochKey])[0] == before else { continue }
            let epoch = try Self.epoch(before), wrap = wrap(try groupID()), key = try key(epoch)
            var proven: [GroupHost] = [], unproven: [String] = []
            for var host in hosts {
                if try !wrap.isAdmitted(host, key: key, epoch: epoch) {
                    if host.isAdmitted { unproven.append(host.name) }
                    host.admission = nil
                    // It may name another's, from whom the role would be taken.
                    host.user = nil
                }
                proven.append(host)
            }
            return (proven, unproven, damaged)
        }
        throw busy
    }

    /// The data key of an epoch as this host knows it, whatever the cluster has for it now.
    typealias Opened = (Int64) throws(CredentialError) -> [UInt8]

    /// Of whom this host knows that they were expelled, once the cluster has said this of it.
    typealias Knowing = (KeyEpoch) throws(CredentialError) -> KeyEpoch

    /// Gives a host the group's data key.
    ///
    /// - Parameter fingerprint: what its own side shows; it must be that of the key in the cluster.
    /// - Parameter known: of whom this host knows that they were expelled, when the cluster says that.
    /// - Parameter opened: gives the group's data keys.
    /// - Parameter seal: seals under the newest key whatever is not, since the host is given no other. It is asked at each try:
    ///   another host may have been expelled between two.
    /// - Throws: what `seal` throws; ``ErrorCode/noSuchAccount`` when no such host has asked; ``ErrorCode/denied`` when the
    ///   fingerprint is another, or the host was expelled; ``ErrorCode/storeLocked`` when this host is not admitted itself.
    func admit(
        _ name: String, fingerprint: String, by own: (name: String, key: HostKey),
        known noted: Knowing = { (_) in KeyEpoch(number: 0) }, opened: Opened,
        sealing seal: () throws(CredentialError) -> Void = {}
    ) throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let found = try cluster.read([hostKey(name), epochKey, hostKey(own.name)])
            guard let record = found[0], let epochRecord = found[1] else {
                throw CredentialError(
                    .noSuchAccount, "no host called \(name) has asked to join")
            }
            let newest = try KeyEpoch(epochRecord)
            // At once: it may be put back before anything is sealed anew.
            _ = try noted(newest)
            var host = try GroupHost(record)
            let shown = try host.fingerprint(cryptography)
            guard ConstantTime.equal(Array(shown.utf8), Array(fingerprint.lowercased().utf8)) else {
                throw CredentialError(
                    .denied, "the key in the cluster has the fingerprint \(shown), which is not what \(name) shows")
            }
            try seal()
            // That has read, too, who is expelled by then.
            guard !newest.has(host.whenExpelled), try !noted(newest).has(host.whenExpelled) else {
                throw CredentialError(
                    .denied, "the host that asks as \(name) was expelled from the group")
            }
            if let standing = found[2], try GroupHost(standing).leaves != nil {
                throw CredentialError(.storeLocked, "this host, \(own.name), is leaving the group")
            }
            let id = try groupID()
            let epoch = newest.number
            let key = try opened(epoch)
            // Not by what its record says, which anybody may have written, nor without the key.
            if try wrap(id).isAdmitted(host, key: key, epoch: epoch),
                try cluster.read([dataKey(epoch, name)])[0] != nil
            {
                return
            }
            host.admission = try wrap(id).admission(of: host, key: key, epoch: epoch)
            var transaction = ClusterTransaction()
            transaction.expect(record, at: hostKey(name))
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [
                .put(hostKey(name), host.encoded),
                .put(dataKey(epoch, name), try wrap(id).wrap(key, for: host, epoch: epoch)),
                // Who is about to leave as the last one notices.
                .put(epochKey, epochRecord.value),
            ]
            if try cluster.commit(transaction) { return }
        }
        throw busy
    }

    /// Makes a new data key that `name` does not get, and takes its old ones away. What is sealed under the old key stays so
    /// until it is sealed anew.
    ///
    /// - Parameter known: what the caller remembers, asked at each try, as the cluster may be put back between two. Where the
    ///   cluster does not name all who were expelled, it was put back: they are expelled again with `name`, which may be one of
    ///   them.
    /// - Throws: as ``admit(_:fingerprint:by:)``.
    func expel(
        _ name: String, by own: (name: String, key: HostKey),
        known noted: Knowing = { (_) in KeyEpoch(number: 0) }, opened: Opened
    ) throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let reading = try cluster.read([epochKey], listing: path + "hosts/")
            // Noted at once: it may be put back before the next read.
            guard let seen = reading.records[0] else { throw noHost(name, among: []) }
            let known = try noted(KeyEpoch(seen))
            let found = try cluster.read([epochKey] + reading.listed.map(\.key))
            // Whoever admits or expels changes the epoch, too: so those who have the key are of one moment, also where the cluster was
            // put back.
            guard let epochRecord = found[0] else { continue }
            guard epochRecord == seen else {
                _ = try noted(KeyEpoch(epochRecord))
                continue
            }
            let epoch = try KeyEpoch(epochRecord), id = try groupID()
            let listed = found.dropFirst().compactMap(\.self)
            // One that cannot be read is remembered by what stands in its place.
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
            let forgotten = known.missing(in: epoch)
            guard hosts.contains(where: { $0.name == name }) || forgotten.contains(where: { $0.name == name })
            else {
                throw noHost(name, among: hosts)
            }
            // Who is not admitted cannot expel.
            let former = try opened(epoch.number)
            let gone = hosts.filter {
                $0.name == name || known.has($0.whenExpelled) || epoch.has($0.whenExpelled)
            }
            let next = epoch.next(expelling: gone.map(\.whenExpelled), known: known, random)
            let key = random.bytes(Self.keySize)
            var transaction = ClusterTransaction()
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [.put(epochKey, next.encoded)]
            for (record, host) in zip(listed, hosts) {
                transaction.expectRevision(record)
                if gone.contains(host) {
                    transaction.changes.append(.remove(record.key))
                } else if host.isAdmitted {
                    // Who says so without having been let in waits from now on.
                    var host = host
                    // That this one has the key was just seen.
                    var isLetIn = host.name == own.name && host.publicKey == own.key.publicKey
                    if !isLetIn {
                        isLetIn = try wrap(id).isAdmitted(host, key: former, epoch: epoch.number)
                    }
                    host.admission =
                        isLetIn ? try wrap(id).admission(of: host, key: key, epoch: next.number) : nil
                    transaction.changes.append(.put(record.key, host.encoded))
                    guard isLetIn else { continue }
                    transaction.changes.append(
                        .put(
                            dataKey(next.number, host.name),
                            try wrap(id).wrap(key, for: host, epoch: next.number)))
                }
            }
            // The passphrase is known to whoever is expelled, and the new key is not wrapped by it.
            let names = Set(gone.map(\.name) + [name, Self.passphraseName])
            for old in try cluster.listKeys(path + "keys/")
            where names.contains(String(old.key.split(separator: "/").last ?? "")) {
                transaction.changes.append(.remove(old.key))
            }
            if try cluster.commit(transaction) { return }
        }
        throw busy
    }

    private func noHost(_ name: String, among hosts: [GroupHost]) -> CredentialError {
        let names = hosts.map { ForeignText.shown($0.name, limit: 80) }.joined(separator: ", ")
        return CredentialError(
            .noSuchAccount,
            "no host of the group is called \(ForeignText.shown(name, limit: 80)); its hosts are \(names)")
    }
}
