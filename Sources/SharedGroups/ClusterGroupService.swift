package import CredentialCore
package import StrictJSON
import Synchronization

/// The groups that this host shares with others, each through its cluster.
package final class ClusterGroupService: SharedGroupService {
    /// The parts that the sharing works with.
    package struct Parts: Sendable {
        package var files: any GroupFiles
        package var local: any AccountRecordStore
        package var events: any EventLog
        package var clock: any WallClock
        package var bootClock: any BootClock
        package var random: any RandomSource
        package var cryptography: any Cryptography & KeyAgreement
        /// The stores of this machine, used without asking the user.
        package var stores: @Sendable () -> any SecretStores
        /// Makes the way to a cluster; opens no connection.
        package var connect: @Sendable (ClusterConfiguration, KeychainGroup) throws(CredentialError) -> any Cluster
        /// Waits for so many milliseconds.
        package var pause: @Sendable (Int64) -> Void

        package init(
            files: any GroupFiles, local: any AccountRecordStore, events: any EventLog, clock: any WallClock,
            bootClock: any BootClock, random: any RandomSource, cryptography: any Cryptography & KeyAgreement,
            stores: @escaping @Sendable () -> any SecretStores,
            connect:
                @escaping @Sendable (ClusterConfiguration, KeychainGroup) throws(CredentialError) -> any Cluster,
            pause: @escaping @Sendable (Int64) -> Void
        ) {
            self.files = files
            self.local = local
            self.events = events
            self.clock = clock
            self.bootClock = bootClock
            self.random = random
            self.cryptography = cryptography
            self.stores = stores
            self.connect = connect
            self.pause = pause
        }
    }

    let parts: Parts
    private let links = Mutex<[KeychainGroup: GroupConnection]>([:])

    /// How often an active host is looked at, in milliseconds.
    private static let lookMilliseconds: Int64 = 200
    /// After how many seconds a refresh may be repeated if the provider tolerates that.
    private static let toleratedSeconds: Int64 = 30

    /// Makes it without opening any file or connection.
    package init(_ parts: Parts) { self.parts = parts }

    package var vault: any TokenSetCipher { ClusterVault(sharing: self) }
    package var membership: any GroupMembershipService { self }

    package func backend(of group: KeychainGroup) throws(CredentialError) -> ClusterConfiguration? {
        guard let content = try parts.files.read(ClusterConfiguration.fileName, of: group) else { return nil }
        var backend = try ClusterConfiguration(fileContent: content, of: group)
        if let seen = try GroupSettings(in: parts.files, of: group) { backend.settings = seen }
        return backend
    }

    /// The way to a group's cluster; `nil` for a group that is not shared.
    func link(_ group: KeychainGroup) throws(CredentialError) -> GroupConnection? {
        guard let backend = try backend(of: group) else { return nil }
        if let known = links.withLock({ $0[group] }), known.backend == backend { return known }
        let link = GroupConnection(group, backend, try parts.connect(backend, group), parts)
        links.withLock { $0[group] = link }
        return link
    }

    /// As ``link(_:)``, but the group has to be shared.
    func sharedLink(_ group: KeychainGroup) throws(CredentialError) -> GroupConnection {
        guard let link = try link(group) else {
            try checkLeft(group)
            throw CredentialError(
                .usage, "the group \(group) is not shared", hint: "credmgr groups share --help")
        }
        return link
    }

    package func check(_ group: KeychainGroup) throws(CredentialError) {
        try checkLeft(group)
        _ = try link(group)?.standing([])
    }

    package func beginNewAccount(to group: KeychainGroup) throws(CredentialError) {
        try link(group)?.beginNewAccount()
    }

    package func recentFailure(of group: KeychainGroup) -> CredentialError? {
        links.withLock { $0[group] }?.recentFailure
    }

    package func takeNotes() -> [LocalizedMessage] {
        let links = links.withLock { Array($0.values) }
        return links.flatMap { link in
            let accepted: LocalizedMessage? = link.takeAccepted().map { fingerprint in
                "this host accepted the key of group \(link.group) without --group-fingerprint: compare \(fingerprint) with the output "
                    + "of 'credmgr groups hosts \(link.group)' on another host"
            }
            let raised: LocalizedMessage? =
                link.takeRaised()
                ? "group \(link.group) uses format 2 from now on: hosts with an older credmgr cannot use it until you upgrade credmgr there"
                : nil
            return [accepted, raised].compactMap(\.self)
        }
    }

    package var secondsSpent: Int64 {
        // The clusters of a process are waited for together.
        (links.withLock { $0.values.map(\.cluster.millisecondsSpent) }.max() ?? 0) / 1_000
    }

    // MARK: Refresh

    package func handOver(_ account: String, of group: KeychainGroup) -> JSONObject? {
        links.withLock { $0[group] }?.handOver(account)
    }

    package func resume(
        _ account: String, of group: KeychainGroup, with handed: JSONObject
    ) throws(CredentialError) { try link(group)?.resume(account, with: handed) }

    package func refresh(
        _ job: SharedRefreshJob, in group: KeychainGroup
    ) throws(CredentialError) -> SharedRefreshOutcome {
        let link = try sharedLink(group)
        // The time that this process has lost itself is counted there already.
        let elsewhere = job.waited * 1_000 - link.cluster.millisecondsSpent
        if elsewhere > 0 { link.cluster.recordWait(elsewhere) }
        // If the cluster was restored to an earlier state, this host's better knowledge counts before any request
        // is sent.
        var seen = link.takeSeen(job.account)
        if seen == nil {
            try takeOne(job.account, link, tells: true)
            seen = link.takeSeen(job.account)
        }
        let shared = protocolOver(link)
        var inner = SharedRefresh.Job(
            keys: link.keys(job.account), policy: job.policy, takeOver: Self.takeOver(job, link.backend),
            isFresh: job.isFresh, send: { SharedRefresh.Answer(job.send($0, $1)) })
        inner.hint = job.hint
        inner.triesDoubtful = job.triesDoubtful
        inner.seen = seen
        let end = parts.bootClock.milliseconds + Int64(job.patience) * 1_000
        inner.waits = { [parts] in
            guard parts.bootClock.milliseconds < end else { return false }
            parts.pause(Self.lookMilliseconds)
            link.cluster.recordWait(Self.lookMilliseconds)
            return true
        }
        // This machine's copy is of that moment, with any result. If the copy cannot be made, the next look
        // corrects that.
        var record: ClusterRecord?
        defer {
            // Not over a later copy from the cluster, nor if another process has seen that the account is gone.
            if let record, let copied = try? revision(ofCopy: job.account, link.group), copied <= record.revision {
                _ = try? copy(record, job.account, link, tells: false)
            } else {
                _ = try? takeOne(job.account, link, tells: false)
            }
        }
        let outcome: SharedRefresh.Outcome
        do throws(CredentialError) { outcome = try shared.refresh(inner) } catch {
            // It is gone, and no token of it is given any more, whether the next look finds the cluster or not.
            if error.forbidsStaleToken, error.code == .signInRequired {
                try? forgetCopy(job.account, group, tells: false)
            }
            throw error
        }
        record = outcome.record
        return SharedRefreshOutcome(
            tokenSet: outcome.tokenSet, refreshed: outcome.refreshed, warnings: outcome.warnings)
    }

    package func isUnfinished(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        try link(group)?.account(account).intent != nil
    }

    package func unsettled(in group: KeychainGroup) throws(CredentialError) -> [String] {
        guard try backend(of: group) != nil else { return [] }
        let notes = FileIntentLog(files: parts.files, group: group)
        var accounts = Set(try unsettledAnswers(in: group))
        for name in try parts.files.names(of: group) where name.hasPrefix(FileIntentLog.intentPrefix) {
            let id = String(name.dropFirst(FileIntentLog.intentPrefix.count))
            if try notes.intent(of: id)?.unsent.isEmpty == false { accounts.insert(id) }
        }
        return accounts.sorted()
    }

    /// The accounts of which this host has an answer that the cluster has not.
    func unsettledAnswers(in group: KeychainGroup) throws(CredentialError) -> [String] {
        try parts.files.names(of: group).filter { $0.hasPrefix(FileIntentLog.answerPrefix) }
            .map { String($0.dropFirst(FileIntentLog.answerPrefix.count)) }
    }

    package func settle(_ account: String, in group: KeychainGroup) throws(CredentialError) {
        let link = try sharedLink(group)
        try takeOne(account, link, tells: true)
        try protocolOver(link).settle(link.keys(account))
        try takeOne(account, link, tells: false)
    }

    private func protocolOver(_ link: GroupConnection) -> SharedRefresh {
        SharedRefresh(
            cluster: link.cluster, notes: FileIntentLog(files: parts.files, group: link.group), seal: link.seal,
            clock: parts.clock, bootClock: parts.bootClock, random: parts.random, cryptography: parts.cryptography,
            host: link.backend.host, publicKey: link.backend.publicKey)
    }

    private static func takeOver(_ job: SharedRefreshJob, _ backend: ClusterConfiguration) -> SharedRefresh.TakeOver
    {
        if job.takesOver { return .after(0) }
        let times = [job.toleratesReuse ? toleratedSeconds : nil, backend.takeOverSeconds].compactMap { $0 }
        return times.min().map { .after($0) } ?? .never
    }
}

extension SharedRefresh.Answer {
    fileprivate init(_ answer: SharedRefreshAnswer) {
        self =
            switch answer {
            case .issued(let set): .issued(set)
            case .refused(let error): .refused(error)
            case .unsent(let error): .unsent(error)
            case .unknown(let error): .unknown(error)
            }
    }
}

/// Seals token sets under the data key of their group.
private struct ClusterVault: TokenSetCipher {
    let sharing: ClusterGroupService

    func seal(
        _ tokenSet: [UInt8], of account: String, generation: Int64, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet {
        let link = try sharing.sharedLink(group)
        // It is sealed again on its way into the cluster, which may not answer now.
        let bytes = try link.seal.sealHere(tokenSet, at: link.keys(account).set, epoch: try link.currentEpoch())
        return SealedTokenSet(generation: generation, key: "0", bytes: bytes)
    }

    func open(
        _ sealed: SealedTokenSet, of account: String, in group: KeychainGroup
    ) throws(CredentialError) -> [UInt8] {
        let link = try sharing.sharedLink(group)
        return try link.seal.open(ClusterRecord(key: link.keys(account).set, value: sealed.bytes, revision: 1))
    }

    /// The hosts replace their keys by transactions, which are not in this machine's file.
    func currentKey(of group: KeychainGroup) throws(CredentialError) -> String? { nil }
    func forgetReplacedKeys(
        of group: KeychainGroup, but needed: Set<String>
    ) throws(CredentialError) -> Int { 0 }
}
