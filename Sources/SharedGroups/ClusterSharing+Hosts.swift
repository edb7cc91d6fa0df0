package import CredentialCore

extension ClusterSharing: GroupHosting {
    package func share(
        _ group: KeychainGroup, _ backend: GroupBackend, _ sets: [TokenSet], passphrase: Secret?
    ) throws(CredentialError) -> SharedHost {
        let key = try GroupLink.makeKey(group, backend.keyStore, parts)
        var backend = backend
        backend.publicKey = key.publicKey
        let cluster = try parts.connect(backend)
        let first = GroupLink(group, backend, cluster, parts).membership
        var settings = GroupSettings()
        settings.cacheSeconds = backend.cacheSeconds
        settings.takeOverSeconds = backend.takeOverSeconds
        do throws(CredentialError) {
            try first.share(backend.host, key, settings: settings, passphrase: passphrase)
        } catch {
            // An earlier run of this host may have ended right after it had begun the group.
            guard error.code == .usage || error.code == .temporary,
                let hosts = try? first.hosts(), hosts.map(\.name) == [backend.host],
                hosts[0].publicKey == key.publicKey
            else { throw error }
        }
        backend.groupID = try first.groupID()
        let link = GroupLink(group, backend, cluster, parts)
        // Nobody else belongs to the group yet, and what this machine has is what counts.
        for set in sets {
            var set = set
            set.account.store = .etcd
            set.account.leftover = nil
            set.lines = [:]
            set.beginLines(after: nil, parts.random)
            let (standing, epoch) = try link.standing([set.account.id])
            let record = link.keys(set.account.id).set
            var transaction = ClusterTransaction()
            transaction.expect(standing[0], at: record)
            transaction.changes = [
                .put(
                    record,
                    try link.seal.seal(set.encoded(), at: record, epoch: try GroupMembership.epoch(epoch)))
            ]
            guard try cluster.commit(transaction) else {
                throw CredentialError(
                    .temporary, "somebody else writes below \(link.path) of the cluster", hint: "try again")
            }
        }
        try parts.files.write(backend.fileContent, to: GroupBackend.fileName, of: group)
        return try host(
            GroupHost(name: backend.host, publicKey: key.publicKey, isAdmitted: true, joinedAt: parts.clock.now))
    }

    package func join(
        _ group: KeychainGroup, _ backend: GroupBackend, passphrase: Secret?
    ) throws(CredentialError) -> SharedHost {
        let membership = GroupLink(group, backend, try parts.connect(backend), parts).membership
        let (id, settings) = try membership.facts()
        var key = try GroupLink.makeKey(group, backend.keyStore, parts)
        // One that was left behind when this host was expelled is given nothing any more.
        if try membership.hasExpelled(key.publicKey) {
            try GroupLink.forgetKey(group, backend.keyStore, parts)
            key = try GroupLink.makeKey(group, backend.keyStore, parts)
        }
        var backend = backend
        backend.publicKey = key.publicKey
        let host =
            if let passphrase {
                try membership.join(backend.host, key, passphrase: passphrase)
            } else {
                try membership.join(backend.host, key)
            }
        backend.groupID = id
        backend.cacheSeconds = settings.cacheSeconds
        backend.takeOverSeconds = settings.takeOverSeconds
        try parts.files.write(backend.fileContent, to: GroupBackend.fileName, of: group)
        return try self.host(host)
    }

    package func hosts(of group: KeychainGroup) throws(CredentialError) -> [SharedHost] {
        let link = try sharedLink(group)
        // Who was expelled, or waits, learns nothing of the others.
        _ = try link.standing([], mayBeOlder: true)
        return try link.membership.hosts().map { (host) throws(CredentialError) in try self.host(host) }
    }

    package func admit(
        _ host: String, fingerprint: String, to group: KeychainGroup
    ) throws(CredentialError) {
        let link = try sharedLink(group)
        _ = try link.standing([])
        // What an expel that ended half-way has left under an older key, the new host could not read.
        if let failure = try sealAnew(link).first(where: { $0.error.code != .storeDamaged }) { throw failure.error }
        try link.membership.admit(
            host, fingerprint: fingerprint, by: (link.backend.host, try link.hostKey()),
            known: try link.remembered())
    }

    package func expel(
        _ host: String, from group: KeychainGroup
    ) throws(CredentialError) -> [(id: String, error: CredentialError)] {
        let link = try sharedLink(group)
        _ = try link.standing([], mayBeOlder: true)
        guard host != link.backend.host else {
            throw CredentialError(
                .usage, "this host is \(host) itself", hint: "credmgr groups leave \(group)")
        }
        try link.membership.expel(
            host, by: (link.backend.host, try link.hostKey()), known: try link.remembered())
        return try sealAnew(link)
    }

    /// Seals every account that is not under the newest key yet, with the intent of who refreshes it and what stands aside: an
    /// answer belongs to the refresh token that it replaces, whatever key that is sealed under by then.
    private func sealAnew(_ link: GroupLink) throws(CredentialError) -> [(id: String, error: CredentialError)] {
        let prefix = link.path + "a/"
        let newest = try GroupMembership.epoch(try link.standing([]).epoch)
        var failures: [(id: String, error: CredentialError)] = []
        let records = try link.cluster.list(prefix)
        // Who has changed one of an account's records since the key was made has left the others under the old one.
        let older = Set(records.filter { (try? GroupSeal.epoch(of: $0)) != newest }.map(\.key))
        for record in records where record.key.hasSuffix("/set") {
            let id = String(record.key.dropFirst(prefix.count).dropLast("/set".count)), keys = link.keys(id)
            guard [keys.set, keys.aside, keys.intent].contains(where: older.contains) else { continue }
            do throws(CredentialError) { try sealAnew(id, link) } catch { failures.append((id, error)) }
        }
        return failures
    }

    private func sealAnew(_ id: String, _ link: GroupLink) throws(CredentialError) {
        let keys = link.keys(id)
        for _ in 0..<8 {
            let (standing, epoch) = try link.standing([id])
            guard let record = standing[0] else { return }
            let beside = try link.cluster.read([keys.aside, keys.intent])
            let number = try GroupMembership.epoch(epoch)
            var transaction = ClusterTransaction()
            transaction.expect(record, at: keys.set)
            transaction.expect(beside[0], at: keys.aside)
            transaction.expect(beside[1], at: keys.intent)
            transaction.expect(epoch, at: keys.epoch)
            transaction.changes = [
                .put(keys.set, try link.seal.seal(try link.seal.open(record), at: keys.set, epoch: number))
            ]
            for other in beside.compactMap(\.self) {
                transaction.changes.append(
                    .put(other.key, try link.seal.seal(try link.seal.open(other), at: other.key, epoch: number)))
            }
            if try link.cluster.commit(transaction) { return try takeOne(id, link, tells: false) }
        }
        throw CredentialError(.temporary, "other hosts have been changing \(id) all the time", hint: "try again")
    }

    package func leave(
        _ group: KeychainGroup, _ agree: ([TokenSet], Bool) throws(CredentialError) -> Void,
        take: ([TokenSet], Bool) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        let link = try sharedLink(group)
        var belongs = true
        do throws(CredentialError) { _ = try link.standing([], mayBeOlder: true) } catch {
            // Who was expelled, never admitted, or finds another cluster has nothing to take along, and nothing to undo.
            guard error.code == .storeLocked || error.code == .storeUnavailable else { throw error }
            belongs = false
        }
        if belongs, try !unsettledAnswers(in: group).isEmpty {
            throw CredentialError(
                .temporary,
                "this host has new tokens that are not in the cluster yet, and would take them along",
                hint: "try again, once the cluster takes them: credmgr accounts --group \(group)")
        }
        var sets: [TokenSet] = []
        var isLast = false
        if belongs {
            // What comes of it would find no group any more, or be taken along by one that goes on using it.
            if let id = try refreshed(link) {
                throw CredentialError(
                    .temporary, "the account \(id) of the group \(group) is being refreshed",
                    hint: "try again; what is under way: credmgr doctor")
            }
            isLast = try link.membership.isLast(link.backend.host, known: try link.remembered())
            sets = try newest(link, isLast: isLast)
        }
        try agree(sets, isLast)
        // From here on the group is one of this machine alone.
        try parts.files.remove(GroupBackend.fileName, of: group)
        try take(sets, isLast)
        // A request to join that nobody has answered is withdrawn, too.
        if !belongs { belongs = try isListed(link) }
        if belongs { _ = try link.membership.leave(link.backend.host, known: try link.remembered()) }
        for name in try parts.files.names(of: group) { try parts.files.remove(name, of: group) }
        try GroupLink.forgetKey(group, link.backend.keyStore, parts)
    }

    /// An account whose refresh is under way, as far as anybody knows: any for the last host, which takes the grants along.
    private func refreshed(_ link: GroupLink) throws(CredentialError) -> String? {
        let isLast = try link.membership.isLast(link.backend.host, known: try link.remembered())
        for record in try link.cluster.list(link.path + "a/") where record.key.hasSuffix("/intent") {
            let intent = try Intent(decoding: try link.seal.open(record))
            guard isLast || intent.publicKey == link.backend.publicKey else { continue }
            return String(record.key.dropFirst((link.path + "a/").count).dropLast("/intent".count))
        }
        return nil
    }

    /// The token sets of the cluster, each with what this host knows better where that was put back; for those who stay this is
    /// put back, since nobody else may have it.
    private func newest(_ link: GroupLink, isLast: Bool) throws(CredentialError) -> [TokenSet] {
        let prefix = link.path + "a/"
        var sets: [TokenSet] = []
        for record in try link.cluster.list(prefix) where record.key.hasSuffix("/set") {
            var set = try TokenSet(decoding: try link.seal.open(record))
            let id = String(record.key.dropFirst(prefix.count).dropLast("/set".count))
            if let copied = try parts.local.read(id, in: link.group)?.sealed, let known = opened(copied, id, link),
                set.takeNewer(of: known), !isLast
            {
                try takeOne(id, link, tells: false)
            }
            sets.append(set)
        }
        return sets
    }

    private func isListed(_ link: GroupLink) throws(CredentialError) -> Bool {
        do throws(CredentialError) {
            let hosts = try link.membership.hosts()
            return hosts.contains { $0.name == link.backend.host && $0.publicKey == link.backend.publicKey }
        } catch {
            // A cluster that lets this host read nothing has nothing of it to take away.
            guard error.code == .storeUnavailable || error.code == .storeDamaged else { throw error }
            return false
        }
    }

    package func findings(of group: KeychainGroup) -> [GroupFinding] {
        do throws(CredentialError) {
            let link = try sharedLink(group)
            var findings = link.cluster.health().map { node in
                GroupFinding(
                    check: "endpoint \(node.name)", text: "answers within \(node.milliseconds) ms",
                    error: node.error)
            }
            do throws(CredentialError) {
                _ = try link.standing([])
                _ = try link.hostKey()
                findings.append(GroupFinding(check: "host \(link.backend.host)", text: "it belongs to the group"))
                findings.append(try clock(link))
                findings += try unfinished(link)
            } catch {
                findings.append(GroupFinding(check: "cluster", text: "", error: error))
            }
            return findings
        } catch {
            return [GroupFinding(check: "cluster", text: "", error: error)]
        }
    }

    /// Whether what hosts have refreshed was not refreshed in the future, as this host's clock has it.
    private func clock(_ link: GroupLink) throws(CredentialError) -> GroupFinding {
        let now = parts.clock.now
        let ahead = try parts.local.registry(of: link.group).accounts.filter {
            Freshness.isAhead($0.updatedAt, now: now)
        }
        guard let account = ahead.first else {
            return GroupFinding(check: "clock", text: "no host's is ahead of this one's")
        }
        return GroupFinding(
            check: "clock", text: "",
            error: CredentialError(
                .problemsFound,
                "\(account.id) was changed at \(account.updatedAt.rfc3339), which is in the future: this host's clock or "
                    + "another's is wrong",
                hint: "to see whether this host's clock is right: credmgr doctor --online"))
    }

    /// The refreshes that nobody is at any more, and nobody knows the end of.
    private func unfinished(_ link: GroupLink) throws(CredentialError) -> [GroupFinding] {
        let prefix = link.path + "a/"
        let keys = Set(try link.cluster.listKeys(prefix).map(\.key))
        var findings: [GroupFinding] = []
        for key in keys.sorted() where key.hasSuffix("/intent") {
            let id = String(key.dropFirst(prefix.count).dropLast("/intent".count))
            guard !keys.contains(prefix + id + "/live"), let record = try link.cluster.read([key])[0] else {
                continue
            }
            let intent = try Intent(decoding: try link.seal.open(record))
            findings.append(
                GroupFinding(
                    check: "refresh of \(id)", text: "",
                    error: CredentialError(
                        .temporary,
                        "the host \(ForeignText.shown(intent.host)) began to refresh it at \(intent.time.rfc3339), and nobody "
                            + "knows how that ended",
                        hint: "when that host cannot be at it any more: "
                            + "credmgr token --account \(id) --group \(link.group) --take-over"
                    ))
            )
        }
        return findings
    }

    private func host(_ host: GroupHost) throws(CredentialError) -> SharedHost {
        SharedHost(
            name: host.name, fingerprint: try host.fingerprint(parts.cryptography), isAdmitted: host.isAdmitted,
            joinedAt: host.joinedAt)
    }
}
