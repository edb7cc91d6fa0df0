package import CredentialCore

extension ClusterGroupService: GroupMembershipService {
    package func share(
        _ group: KeychainGroup, _ backend: ClusterConfiguration, _ sets: [TokenSet], passphrase: Secret?
    ) throws(CredentialError) -> GroupMember {
        try checkLeft(group)
        let key = try GroupConnection.makeKey(group, backend.keyStore, parts)
        var backend = backend
        backend.publicKey = key.publicKey
        let cluster = try parts.connect(backend, group)
        let first = GroupConnection(group, backend, cluster, parts).membership
        do throws(CredentialError) {
            try first.share(backend.host, key, settings: backend.settings, passphrase: passphrase)
        } catch {
            // An earlier run of this host may have ended right after it had begun the group.
            guard error.code == .usage || error.code == .temporary,
                let hosts = try? first.hosts(), hosts.map(\.name) == [backend.host],
                hosts[0].publicKey == key.publicKey, hosts[0].isAdmitted
            else { throw error }
            try first.shareAgain(backend.host, key, settings: backend.settings, passphrase: passphrase)
        }
        backend.groupID = try first.groupID()
        let link = GroupConnection(group, backend, cluster, parts)
        // No other host belongs to the group yet, so the data of this machine counts.
        for set in sets {
            var set = set
            set.account.store = .etcd
            set.account.staleKeyringCopy = nil
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
                    .temporary, "another program writes below \(link.path) of the cluster", hint: "try again")
            }
        }
        try backend.settings.write(to: parts.files, of: group)
        try parts.files.write(backend.fileContent, to: ClusterConfiguration.fileName, of: group)
        var shared = try host(GroupHost(name: backend.host, publicKey: key.publicKey, joinedAt: parts.clock.now))
        shared.isAdmitted = true
        return shared
    }

    package func join(
        _ group: KeychainGroup, _ backend: ClusterConfiguration, passphrase: Secret?
    ) throws(CredentialError) -> GroupMember {
        try checkLeft(group)
        let membership = GroupConnection(group, backend, try parts.connect(backend, group), parts).membership
        let id = try membership.groupID()
        var key = try GroupConnection.makeKey(group, backend.keyStore, parts)
        // A key that was left behind when this host was expelled is given no data key any more.
        if try membership.hasExpelled(key.publicKey) {
            try GroupConnection.forgetKey(group, backend.keyStore, parts)
            key = try GroupConnection.makeKey(group, backend.keyStore, parts)
        }
        var backend = backend
        backend.publicKey = key.publicKey
        let host =
            if let passphrase {
                try membership.join(
                    backend.host, key, passphrase: passphrase, expecting: backend.groupFingerprint)
            } else {
                try membership.join(backend.host, key)
            }
        backend.groupID = id
        // The agreed settings are proven by a key, which this host is given later.
        backend.settings = GroupSettings()
        try parts.files.remove(GroupSettings.fileName, of: group)
        try GroupConnection(group, backend, membership.cluster, parts).forgetUnopened()
        try parts.files.write(backend.fileContent, to: ClusterConfiguration.fileName, of: group)
        return try self.host(host)
    }

    package func waits(_ group: KeychainGroup, as backend: ClusterConfiguration) throws(CredentialError) -> Bool {
        guard var own = try self.backend(of: group), own.host == backend.host,
            try GroupConnection(group, own, try parts.connect(own, group), parts).givenKeys().isEmpty
        else { return false }
        // The connection settings may have been wrong the first time.
        (own.endpoints, own.authorities, own.certificate, own.prefix) = (
            backend.endpoints, backend.authorities, backend.certificate, backend.prefix
        )
        let membership = GroupConnection(group, own, try parts.connect(own, group), parts).membership
        let found = try membership.cluster.read([membership.hostKey(own.host), membership.epochKey])
        guard let record = found[0], let epoch = found[1], let host = try? GroupHost(record) else { return false }
        let newest = try KeyEpoch(epoch)
        return host.publicKey == own.publicKey && !newest.has(host.whenExpelled)
    }

    package func fingerprint(of group: KeychainGroup) throws(CredentialError) -> String {
        try sharedLink(group).fingerprint()
    }

    package func change(
        _ group: KeychainGroup, cacheSeconds: Int64?, takeOverSeconds: Int64??
    ) throws(CredentialError) {
        let link = try sharedLink(group)
        _ = try link.standing([])
        let known = try link.settings ?? link.backend.settings
        let settings = try link.membership.change(known: known) { (epoch) throws(CredentialError) in
            // A restored epoch may prove settings from a host that was expelled since.
            try link.check(epoch)
            return try link.key(of: epoch)
        } _: { settings in
            if let cacheSeconds { settings.cacheSeconds = cacheSeconds }
            if let takeOverSeconds { settings.takeOverSeconds = takeOverSeconds }
        }
        try settings.write(to: parts.files, of: group)
    }

    package func hosts(of group: KeychainGroup) throws(CredentialError) -> [GroupMember] {
        let link = try sharedLink(group)
        // An expelled or waiting host learns no fact about the others.
        _ = try link.standing([], mayBeOlder: true)
        let (hosts, _, damaged) = try link.membership.roster(by: link)
        let shown = try hosts.map { (host) throws(CredentialError) in try self.host(host) }
        return (shown + damaged.map(GroupMember.init(damaged:))).sorted { $0.name < $1.name }
    }

    package func admit(
        _ host: String, fingerprint: String, to group: KeychainGroup
    ) throws(CredentialError) {
        let link = try sharedLink(group)
        _ = try link.standing([])
        try link.membership.admit(
            host, fingerprint: fingerprint, by: (link.backend.host, try link.hostKey()), link
        ) { () throws(CredentialError) in
            // The new host could not read records that an interrupted expel has left under an older key.
            if let failure = try sealAnew(link).first(where: { $0.error.code != .storeDamaged }) {
                throw failure.error
            }
        }
    }

    package func expel(
        _ host: String, fingerprint: String?, from group: KeychainGroup
    ) throws(CredentialError) -> RemovalResult {
        let link = try sharedLink(group)
        _ = try link.standing([], mayBeOlder: true)
        let key = try link.hostKey()
        let own = RevokedHost(name: link.backend.host, publicKey: key.publicKey)
        let isOwnKey = try fingerprint.map { (given) throws(CredentialError) in
            try own.fingerprint(parts.cryptography) == KeyFingerprint.normalized(given) ?? given
        }
        // Another machine may have had its name before.
        guard host != own.name || isOwnKey == false else {
            throw CredentialError(
                .usage, "this host is \(host) itself", hint: "credmgr groups leave \(group) --keep")
        }
        var expulsion = try link.membership.expel(host, fingerprint: fingerprint, by: (own.name, key), link)
        // The host is expelled, and the caller must report that even if a later step fails.
        do throws(CredentialError) { expulsion.unsealed = try sealAnew(link) } catch {
            expulsion.interruption = error
        }
        return expulsion
    }

    package func sealAnew(_ group: KeychainGroup) throws(CredentialError) -> [(id: String, error: CredentialError)]
    {
        try sealAnew(try sharedLink(group))
    }

    /// Seals every account that is not under the newest key and in the present form yet, with the intent of its
    /// refresh and the late answers. An answer belongs to the refresh token that it replaces, under any key.
    private func sealAnew(_ link: GroupConnection) throws(CredentialError) -> [(id: String, error: CredentialError)]
    {
        let newest = try GroupMembership.epoch(try link.standing([]).epoch)
        var failures: [(id: String, error: CredentialError)] = []
        let records = try link.cluster.list(link.path + "a/")
        // A host that has changed one of an account's records since the key was made has left the others under the
        // old key.
        let older = Set(
            records.filter { (try? GroupCipher.epoch(of: $0)) != newest || !GroupCipher.isOfThisForm($0) }.map(
                \.key))
        for id in records.compactMap({ link.account(ofSet: $0.key) }) {
            let keys = link.keys(id)
            guard [keys.set, keys.aside, keys.intent].contains(where: older.contains) else { continue }
            do throws(CredentialError) { try sealAnew(id, link) } catch { failures.append((id, error)) }
        }
        return failures
    }

    private func sealAnew(_ id: String, _ link: GroupConnection) throws(CredentialError) {
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
            var damage: CredentialError?
            for other in beside.compactMap(\.self) {
                // A record that no key opens does not keep the set from other hosts.
                if let found = try self.damage(of: other, link) {
                    damage = found
                    continue
                }
                transaction.changes.append(
                    .put(other.key, try link.seal.seal(try link.seal.open(other), at: other.key, epoch: number)))
            }
            guard try link.cluster.commit(transaction) else { continue }
            try takeOne(id, link, tells: false)
            if let damage { throw damage }
            return
        }
        throw CredentialError(.temporary, "timed out: other hosts keep changing \(id)", hint: "try again")
    }

    package func findings(of group: KeychainGroup) -> [ClusterDiagnostic] {
        do throws(CredentialError) {
            let link = try sharedLink(group)
            var findings: [ClusterDiagnostic] = []
            if let certificate = link.cluster.ownCertificate {
                let check = "certificate of \(link.backend.host)"
                // No other fact can be seen with it.
                if let fault = certificate.fault(at: parts.clock.now) {
                    return [ClusterDiagnostic(check: check, text: "", error: fault)]
                }
                let warning = certificate.warning(at: parts.clock.now)
                findings.append(
                    ClusterDiagnostic(
                        check: check, text: "it is valid until \(certificate.to.rfc3339)", error: warning,
                        isEarly: warning != nil))
            }
            let nodes = link.cluster.health(), silent = nodes.filter { $0.error?.code == .temporary }
            if !nodes.isEmpty, silent.count == nodes.count {
                let reasons = silent.compactMap { $0.error?.message }.joined(separator: "; ")
                let error = CredentialError(
                    .temporary, "the cluster cannot be reached (\(reasons))", hint: Self.noQuorum)
                return findings + [ClusterDiagnostic(check: "cluster", text: "", error: error)]
            }
            // An error about this host that several nodes report, such as one about its certificate's key, is
            // printed once.
            var told: Set<String> = []
            findings += nodes.filter { $0.error.map { told.insert($0.message).inserted } ?? true }.map { node in
                ClusterDiagnostic(
                    check: "endpoint \(node.name)", text: "responds within \(node.milliseconds) ms",
                    error: node.error)
            }
            // An error that each of the nodes has reported is not reported again.
            if !nodes.isEmpty, nodes.allSatisfy({ $0.error != nil }) { return findings }
            do throws(CredentialError) {
                let epoch = try GroupMembership.epoch(try link.standing([]).epoch)
                try link.checkGivenKey(epoch)
                findings.append(
                    ClusterDiagnostic(check: "host \(link.backend.host)", text: "it belongs to the group"))
                let roster = try link.membership.roster(by: link)
                findings += roster.unproven.map { unproven($0, link.group) }
                findings += roster.damaged.map { name in
                    ClusterDiagnostic(
                        check: "host \(UntrustedText.shown(name, limit: 80))", text: "",
                        error: GroupHost.damage(link.membership.hostKey(name)))
                }
                findings += try unagreed(link)
                findings.append(try clock(link))
                findings += try besideAccounts(link)
            } catch {
                var told = error
                if error.code == .temporary { told.advice = Self.noQuorum }
                findings.append(ClusterDiagnostic(check: "cluster", text: "", error: told))
            }
            return findings
        } catch {
            return [ClusterDiagnostic(check: "cluster", text: "", error: error)]
        }
    }

    private static var noQuorum: LocalizedMessage {
        "check that etcd runs on most nodes and that this host reaches them; credmgr still returns valid tokens"
    }

    /// Whether no account was changed in the future by this host's clock.
    private func clock(_ link: GroupConnection) throws(CredentialError) -> ClusterDiagnostic {
        let now = parts.clock.now
        let ahead = try parts.local.registry(of: link.group).accounts.filter {
            Freshness.isAhead($0.updatedAt, now: now)
        }
        guard let account = ahead.first else {
            return ClusterDiagnostic(check: "clock", text: "no host's clock is ahead of this host's clock")
        }
        return ClusterDiagnostic(
            check: "clock", text: "",
            error: CredentialError(
                .problemsFound,
                "\(account.id) was changed at \(account.updatedAt.rfc3339), in the future: the clock of this host "
                    + "or of another host is wrong",
                hint: "to check this host's clock: credmgr doctor --online"))
    }

    /// The findings beside the accounts' sets: records of no account, records that do not open, and refreshes that
    /// no process runs any more and whose end is unknown.
    private func besideAccounts(_ link: GroupConnection) throws(CredentialError) -> [ClusterDiagnostic] {
        let keys = Set(try link.cluster.listKeys(link.path + "a/").map(\.key))
        var findings = keys.filter(link.isForeign).sorted().map(foreign)
        for id in keys.compactMap(link.account(ofSet:)).sorted() {
            let account = link.keys(id)
            for key in [account.aside, account.intent] where keys.contains(key) {
                guard let record = try link.cluster.read([key])[0] else { continue }
                do throws(CredentialError) {
                    let isOver = key == account.intent && !keys.contains(account.live)
                    if let found = try finding(record, of: id, isOver: isOver, link) { findings.append(found) }
                } catch {
                    // A record that this host has no key for is not lost to other hosts.
                    guard error.code == .storeLocked else { throw error }
                    findings.append(ClusterDiagnostic(check: "refresh of \(id)", text: "", error: error))
                }
            }
        }
        return findings
    }

    private func finding(
        _ record: ClusterRecord, of id: String, isOver: Bool, _ link: GroupConnection
    ) throws(CredentialError) -> ClusterDiagnostic? {
        if var damage = try damage(of: record, link) {
            damage.advice = "restore its previous state: credmgr doctor --fix"
            return ClusterDiagnostic(check: "refresh of \(id)", text: "", error: damage, damagedAccount: id)
        }
        guard isOver else { return nil }
        return unfinished(try Intent(decoding: try link.seal.open(record)), of: id, link.group)
    }

    private func foreign(_ key: String) -> ClusterDiagnostic {
        let command = ShellQuoting.line(["etcdctl", "del", key])
        return ClusterDiagnostic(
            check: "accounts", text: "",
            error: CredentialError(
                .problemsFound, "the record \(UntrustedText.shown(key)) is not an account of the group",
                hint: "as an administrator of the cluster, remove the record: \(command)"))
    }

    private func unproven(_ name: String, _ group: KeychainGroup) -> ClusterDiagnostic {
        let command = ShellQuoting.line(["credmgr", "groups", "expel", group.name, name])
        return ClusterDiagnostic(
            check: "host \(UntrustedText.shown(name, limit: 80))", text: "",
            error: CredentialError(
                .problemsFound, "its record is marked as approved, but no host of the group has approved it",
                hint: "remove its record: \(command)"))
    }

    /// The findings about agreed settings in the cluster that no host of the group has set.
    private func unagreed(_ link: GroupConnection) throws(CredentialError) -> [ClusterDiagnostic] {
        let found = try link.cluster.read([link.membership.groupKey, link.membership.epochKey])
        guard let record = found[0], let epoch = found[1],
            try !link.isAgreed(GroupFacts(record), KeyEpoch(epoch))
        else { return [] }
        var hint: LocalizedMessage = "on a host that joined the group earlier, run: credmgr doctor"
        if let settings = try link.settings {
            let takeOver = settings.takeOverSeconds.map(String.init) ?? "never"
            let command = ShellQuoting.line([
                "credmgr", "groups", "share", link.group.name, "--cache-ttl", String(settings.cacheSeconds),
                "--take-over", takeOver,
            ])
            hint = "restore the settings that this host knows: \(command)"
        }
        return [
            ClusterDiagnostic(
                check: "settings", text: "",
                error: CredentialError(
                    .problemsFound,
                    "ignored the group's settings in the cluster: no host of the group has set them",
                    hint: hint))
        ]
    }

    private func unfinished(_ intent: Intent, of id: String, _ group: KeychainGroup) -> ClusterDiagnostic {
        ClusterDiagnostic(
            check: "refresh of \(id)", text: "",
            error: CredentialError(
                .temporary,
                "the host \(UntrustedText.shown(intent.host)) began the refresh at \(intent.time.rfc3339), and the "
                    + "result is unknown",
                hint:
                    "if the host no longer runs the refresh: "
                    + "credmgr token --account \(id) --group \(group) --take-over"))
    }

    private func host(_ host: GroupHost) throws(CredentialError) -> GroupMember {
        var shared = GroupMember(
            name: host.name, fingerprint: try host.fingerprint(parts.cryptography), isAdmitted: host.isAdmitted,
            joinedAt: host.joinedAt)
        shared.user = host.shownUser
        return shared
    }
}
