package import CredentialCore

// How a host leaves a group. First the group learns of it, which decides which host is the last; then the group
// becomes one of this machine alone; at the end the cluster forgets the host, or all of the group. A host that is
// stopped in between begins again, and continues.
extension ClusterGroupService {
    /// How the group was shared, while it is one of this machine alone already and has not been left to the end.
    private static let leavingFile = "leaving"

    package func leave(
        _ group: KeychainGroup, _ agree: ([TokenSet], Bool) throws(CredentialError) -> Void,
        take: ([TokenSet], Bool) throws(CredentialError) -> Void
    ) throws(CredentialError) -> LeaveResult {
        let before = try leaving(group)
        let backend = if let before { before } else { try sharedLink(group).backend }
        let link = GroupConnection(group, backend, try parts.connect(backend, group), parts, isLeaving: true)
        var sets: [TokenSet] = []
        var isLast = false
        let standing: HostStatus
        do throws(CredentialError) { standing = try self.standing(link) } catch {
            guard error.code == .storeUnavailable, let advice = error.advice else { throw error }
            var told = error
            told.advice =
                "\(advice); to forget the group here without its cluster: credmgr groups leave \(group) --forget"
            throw told
        }
        var belongs = standing == .admitted
        if belongs {
            (sets, isLast) = try tellLeaving(link, mayStay: before == nil, agree)
        } else {
            // No process on this host can ask the cluster of the group: the state that this host has seen last is
            // all that there is.
            if standing == .unknown { sets = try copies(link) }
            try agree(sets, false)
        }
        // From here on the group is one of this machine alone.
        if before == nil { try parts.files.write(link.backend.fileContent, to: Self.leavingFile, of: group) }
        try parts.files.remove(ClusterConfiguration.fileName, of: group)
        let names = try parts.files.names(of: group)
        try take(sets.filter { !names.contains(Self.takenPrefix + $0.account.id) }, isLast)
        var departure = LeaveResult(untold: standing == .unknown ? link.backend.host : nil)
        if !belongs {
            // A request to join that no host has answered is withdrawn, too.
            belongs = try isListed(link)
            if belongs { departure.untold = nil }
            // Its key is lost, and no other host has one. The passphrase of the group may still open them, so they
            // stay.
            if belongs, try link.membership.isLast(link.backend.host, known: try link.vouchedExpelled()) {
                let accounts = try link.cluster.listKeys(link.path + "a/").count {
                    link.account(ofSet: $0.key) != nil
                }
                departure.abandoned = OrphanedGroup(accounts: accounts, path: link.path)
            }
        }
        if belongs { try link.membership.leave(link.backend.host, isLast: isLast) }
        try forgetFiles(group, link.backend)
        return departure
    }

    package func forget(
        _ group: KeychainGroup, _ drop: () throws(CredentialError) -> Void
    ) throws(CredentialError) -> String {
        let before = try leaving(group)
        let backend = if let before { before } else { try sharedLink(group).backend }
        if before == nil { try parts.files.write(backend.fileContent, to: Self.leavingFile, of: group) }
        try parts.files.remove(ClusterConfiguration.fileName, of: group)
        try drop()
        try forgetFiles(group, backend)
        return backend.host
    }

    /// Removes the data that this host has of a group that it has left, its key, and at last the note that it is
    /// leaving.
    private func forgetFiles(_ group: KeychainGroup, _ backend: ClusterConfiguration) throws(CredentialError) {
        for name in try parts.files.names(of: group) where name != Self.leavingFile {
            try parts.files.remove(name, of: group)
        }
        try GroupConnection.forgetKey(group, backend.keyStore, parts)
        try parts.files.remove(Self.leavingFile, of: group)
    }

    package func noteTaken(_ account: String, of group: KeychainGroup) throws(CredentialError) {
        try parts.files.write([1], to: Self.takenPrefix + account, of: group)
    }

    private static let takenPrefix = "taken-"

    /// No command shares, joins, or signs in to a group that was not left to the end.
    ///
    /// - Throws: ``ErrorCode/storeLocked``.
    func checkLeft(_ group: KeychainGroup) throws(CredentialError) {
        guard try leaving(group) != nil else { return }
        throw CredentialError(
            .storeLocked, "this host has not finished leaving the shared group \(group)",
            hint: "credmgr groups leave \(group) --keep")
    }

    private func leaving(_ group: KeychainGroup) throws(CredentialError) -> ClusterConfiguration? {
        guard let content = try parts.files.read(Self.leavingFile, of: group) else { return nil }
        return try ClusterConfiguration(fileContent: content, of: group)
    }

    /// Whether this host has the group's key, or is about to give it back. A host that was expelled or never
    /// admitted has no data to take along, and no step to undo. This applies if the cluster itself shows it, not if
    /// the cluster lets this host read no key. A host that finds another cluster has the records that it has
    /// copied.
    private func standing(_ link: GroupConnection) throws(CredentialError) -> HostStatus {
        let membership = link.membership
        let found = try link.cluster.read([
            membership.groupKey, membership.epochKey, membership.hostKey(link.backend.host),
        ])
        guard let group = found[0], let epoch = found[1],
            try GroupFacts(group).id == link.backend.groupID
        else { return .unknown }
        guard let record = found[2] else { return .gone }
        guard let host = try? GroupHost(record) else { return .unknown }
        let newest = try KeyEpoch(epoch)
        guard host.publicKey == link.backend.publicKey,
            // Without its own half it opens no record, and never will.
            try GroupConnection.storedKey(link.group, link.backend.keyStore, parts) != nil
        else { return .gone }
        guard newest.admits(host) else {
            // A host that had a key and is not named among the holders of the newest key cannot tell which host has
            // made that key.
            return try link.givenKeys().isEmpty ? .gone : .unknown
        }
        // The hosts that the cluster names as expelled are remembered; that the cluster may be in an older state is
        // no reason to stay.
        _ = try link.forgotten(by: newest)
        return .admitted
    }

    /// The token sets that this host has copied of the group's accounts, as far as the copies open.
    private func copies(_ link: GroupConnection) throws(CredentialError) -> [TokenSet] {
        var sets: [TokenSet] = []
        for id in try parts.local.index(of: link.group, .ids).ids {
            guard let copy = try sealedCopy(of: id, link.group), let set = opened(copy, id, link) else { continue }
            sets.append(set)
        }
        return sets
    }

    /// The state of this host in the cluster.
    private enum HostStatus {
        case admitted
        /// It does not belong to the group, or waits, or has lost its key.
        case gone
        /// The cluster is another one, or gives no answer: in the group's own cluster this host may belong to it
        /// still.
        case unknown
    }

    private func isListed(_ link: GroupConnection) throws(CredentialError) -> Bool {
        do throws(CredentialError) {
            let hosts = try link.membership.hosts()
            return hosts.contains { $0.name == link.backend.host && $0.publicKey == link.backend.publicKey }
        } catch {
            // A record that no host can read is not this host's to take away.
            guard error.code == .storeDamaged else { throw error }
            return false
        }
    }

    /// Tells the group that this host leaves, once all agree.
    ///
    /// - Parameter mayStay: whether it stays if that fails; not once the group is one of this machine alone.
    /// - Returns: the token sets after that, and whether this is the last host. The sets of the last one do not
    ///   change any more.
    private func tellLeaving(
        _ link: GroupConnection, mayStay: Bool, _ agree: ([TokenSet], Bool) throws(CredentialError) -> Void
    ) throws(CredentialError) -> (sets: [TokenSet], isLast: Bool) {
        let membership = link.membership, own = link.backend.host
        do throws(CredentialError) {
            let expected = try membership.isLast(own, known: try link.vouchedExpelled())
            try checkSettled(link, isLast: expected)
            let sets = try newest(link, putsBack: !expected)
            try agree(sets, expected)
            let isLast = try membership.tellLeaving(own) { (epoch) throws(CredentialError) in
                _ = try link.known(epoch)
                return try link.vouchedExpelled()
            }
            // This check covers refreshes that have begun since, and hosts that have left in the meantime.
            try checkSettled(link, isLast: isLast)
            guard isLast else { return (sets, false) }
            let last = try newest(link, putsBack: false).map { (set) throws(CredentialError) in
                try answered(set, link)
            }
            try agree(last, true)
            return (last, true)
        } catch {
            // Also if an earlier run has announced it and was stopped: the changes that it has to settle first need
            // a host of the group.
            if mayStay { try membership.stay(own) }
            throw error
        }
    }

    /// A host does not leave with data that belongs to the group, or while others use it.
    private func checkSettled(_ link: GroupConnection, isLast: Bool) throws(CredentialError) {
        guard try unsettledAnswers(in: link.group).isEmpty else {
            throw CredentialError(
                .temporary,
                "cannot leave: this host has new tokens that are not in the cluster yet",
                hint: "try again when the cluster accepts them: credmgr accounts --group \(link.group)")
        }
        for record in try link.cluster.list(link.path + "a/") {
            guard let id = link.account(ofIntent: record.key) else { continue }
            let intent = try Intent(decoding: try link.seal.open(record))
            // The result of such a refresh would find no group any more, or would be taken along by a host that
            // continues to use it.
            guard isLast || intent.publicKey == link.backend.publicKey else { continue }
            throw CredentialError(
                .temporary, "the account \(id) of the group \(link.group) is being refreshed",
                hint: "try again; to see refreshes in progress: credmgr doctor")
        }
    }

    /// The token sets of the cluster, each with the grants that this host knows better if the cluster was restored.
    /// For the hosts that stay, these are restored, since no other host may have them.
    private func newest(_ link: GroupConnection, putsBack: Bool) throws(CredentialError) -> [TokenSet] {
        var sets: [TokenSet] = []
        for record in try link.cluster.list(link.path + "a/") {
            guard let id = link.account(ofSet: record.key) else { continue }
            var set = try link.seal.tokenSet(in: record)
            if let copied = try parts.local.read(id, in: link.group)?.sealed, let known = opened(copied, id, link),
                set.takeNewer(of: known), putsBack
            {
                try takeOne(id, link, tells: false)
            }
            sets.append(set)
        }
        return sets
    }

    /// A token set with the late answers that are worth more than its own tokens: answers to a token that is in it,
    /// and the newest if that was refused.
    private func answered(_ set: TokenSet, _ link: GroupConnection) throws(CredentialError) -> TokenSet {
        let key = link.keys(set.account.id).aside
        guard let record = try link.cluster.read([key])[0] else { return set }
        var aside = try SupersededIntents(decoding: try link.seal.open(record))
        var set = set
        for policy in set.grants.keys {
            while let grant = set.grants[policy] {
                let token = try TokenDigest(of: grant, parts.cryptography)
                let other = grant.lostReason == nil ? nil : aside.newest(of: policy, in: set.lines[policy])
                guard let answer = aside.answer(to: token, of: policy) ?? other else { break }
                set.take(policy, of: answer.tokenSet)
                aside.forget(answer.nonce)
            }
        }
        return set
    }
}

extension GroupMembership {
    /// Whether no other host has the group's key, except hosts that are leaving, and hosts that this one knows to
    /// be expelled.
    func isLast(_ name: String, known: KeyEpoch) throws(CredentialError) -> Bool {
        guard let record = try cluster.read([epochKey])[0] else { return true }
        let hosts = try hosts(), newest = try KeyEpoch(record)
        if let told = hosts.first(where: { $0.name == name })?.leaves { return told == .asTheLast }
        return hosts.allSatisfy { $0.name == name || !$0.keepsGroup(newest, known: known) }
    }

    /// Records in the cluster that this host leaves: from then on no host counts on it, and it refreshes no token
    /// any more. Of two that leave at once one is the last. After the last host has recorded it, no host is let in,
    /// and the host takes along the accounts that it reads.
    ///
    /// - Returns: whether it is the last; the recorded value, if it was recorded before.
    /// - Throws: the errors of the cluster.
    func tellLeaving(
        _ name: String, known: (KeyEpoch) throws(CredentialError) -> KeyEpoch
    ) throws(CredentialError) -> Bool {
        for _ in 0..<Self.attempts {
            // First, as every admission writes it again: no host is overlooked.
            let epoch = try cluster.read([epochKey])[0]
            let all = try cluster.list(path + "hosts/")
            guard let epoch, let record = all.first(where: { $0.key == hostKey(name) }) else {
                throw CredentialError(.storeLocked, "this host, \(name), does not belong to the group any more")
            }
            var own = try GroupHost(record)
            if let told = own.leaves { return told == .asTheLast }
            let newest = try KeyEpoch(epoch), known = try known(newest)
            var isLast = true
            for other in all where other.key != record.key {
                if let host = try? GroupHost(other), host.keepsGroup(newest, known: known) { isLast = false }
            }
            own.leaves = isLast ? .asTheLast : .asOneOfMany
            var transaction = ClusterTransaction()
            for record in all { transaction.expectRevision(record) }
            transaction.expect(epoch, at: epochKey)
            transaction.changes = [.put(hostKey(name), own.encoded)]
            // Written again, so that it overtakes writes that others, or other processes of this host, are about to
            // make under it.
            if isLast { transaction.changes.append(.put(epochKey, epoch.value)) }
            if try cluster.commit(transaction) { return isLast }
        }
        throw busy
    }

    /// Takes back that this host leaves, unless another one is leaving as the last since: that one takes the
    /// sign-ins along.
    func stay(_ name: String) throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let all = try cluster.list(path + "hosts/")
            guard let record = all.first(where: { $0.key == hostKey(name) }) else { return }
            var own = try GroupHost(record), transaction = ClusterTransaction()
            guard own.leaves != nil else { return }
            for other in all {
                if other.key != record.key, (try? GroupHost(other))?.leaves == .asTheLast { return }
                transaction.expectRevision(other)
            }
            own.leaves = nil
            transaction.changes = [.put(record.key, own.encoded)]
            if try cluster.commit(transaction) { return }
        }
        throw busy
    }

    /// Takes this host out; the keys of other hosts do not change. The last host takes all of the group away.
    ///
    /// - Throws: the errors of the cluster.
    func leave(_ name: String, isLast: Bool) throws(CredentialError) {
        if isLast { return try clear(by: name) }
        let gone = try cluster.listKeys(path + "keys/").filter { $0.key.hasSuffix("/\(name)") }
        var transaction = ClusterTransaction()
        transaction.changes = [.remove(hostKey(name))] + gone.map { .remove($0.key) }
        _ = try cluster.commit(transaction)
    }

    /// Removes every record of the group, the record that defines it, and the list of active hosts, last.
    private func clear(by name: String) throws(CredentialError) {
        let last = [groupKey, epochKey, hostKey(name)]
        try remove(cluster.listKeys(path).map(\.key).filter { !last.contains($0) })
        try remove(last)
    }

    /// Removes some records, as many at a time as every cluster takes.
    func remove(_ keys: [String]) throws(CredentialError) {
        for start in stride(from: 0, to: keys.count, by: 100) {
            var transaction = ClusterTransaction()
            transaction.changes = keys[start..<min(start + 100, keys.count)].map { .remove($0) }
            _ = try cluster.commit(transaction)
        }
    }
}
