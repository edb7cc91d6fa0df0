package import CredentialCore

/// Refreshes a sign-in that several hosts share, exactly once: `docs/how-to/many-hosts.md`, and the model of it in
/// `docs/contributing/models/shared-refresh.pml`.
///
/// No refresh token is sent while an earlier request with it can still be answered or its answer is journaled
/// somewhere. A lock with a lease cannot promise that: a host that pauses for longer than the lease sends a token
/// that another has used, and refusing the late writer's result destroys the only live token. So an intent is
/// recorded before sending; it has no lease.
package struct SharedRefresh: Sendable {
    /// The treatment of an intent whose host is not alive.
    package enum TakeOver: Sendable, Hashable {
        /// It stays until that host comes back, or the user decides otherwise.
        case never
        /// It is taken over when it is as old as this, in seconds.
        case after(Int64)
    }

    /// The answer of the provider.
    package enum Answer: Sendable {
        /// The token set with the issued tokens.
        case issued(TokenSet)
        /// The sign-in is gone, or another answer that shows that the refresh token was not used.
        case refused(CredentialError)
        /// No request that could use the token has left this host, or the provider said that it took no action.
        case unsent(CredentialError)
        /// It is unknown whether the provider has used the token.
        case unknown(CredentialError)
    }

    /// How it ended.
    package struct Outcome: Sendable {
        /// The account's token set as the cluster, or this host's journal, has it now.
        package var tokenSet: TokenSet
        /// Its record in the cluster; `nil` if the cluster did not accept it.
        var record: ClusterRecord?
        /// Whether this call has refreshed; else another process had.
        package var refreshed = false
        /// The warnings for the user.
        package var warnings: [LocalizedMessage] = []
    }

    let cluster: any Cluster
    let notes: any IntentLog
    let seal: GroupCipher
    let clock: any WallClock
    let bootClock: any BootClock
    let random: any RandomSource
    let cryptography: any Cryptography
    /// The name of this host.
    let host: String
    /// The public key by which the group knows this host.
    let publicKey: [UInt8]

    static let leaseSeconds: Int64 = 15
    /// After how many seconds an intent is taken over whose host belongs to the group no more.
    static let outsiderSeconds: Int64 = 30
    static let attempts = 8

    /// Makes it; it asks no host yet.
    package init(
        cluster: any Cluster, notes: any IntentLog, seal: GroupCipher, clock: any WallClock,
        bootClock: any BootClock, random: any RandomSource, cryptography: any Cryptography, host: String,
        publicKey: [UInt8]
    ) {
        self.cluster = cluster
        self.notes = notes
        self.seal = seal
        self.clock = clock
        self.bootClock = bootClock
        self.random = random
        self.cryptography = cryptography
        self.host = host
        self.publicKey = publicKey
    }

    /// The parameters of a call.
    package struct Job: Sendable {
        /// The keys of the account in the cluster.
        package var keys: AccountKeys
        /// The policy whose grant is used; empty if the provider has no policies.
        package var policy: String
        /// Whether a grant is tried once more that was lost by words that may mean something else.
        package var triesDoubtful = false
        /// The treatment of another host's intent.
        package var takeOver: TakeOver
        /// The remedy that a user has for an intent whose end is unknown.
        package var hint: LocalizedMessage?
        /// The account as it was read a moment ago, if it was.
        var seen: AccountSnapshot?
        /// Waits for another active host; `false` when that has taken long enough.
        package var waits: @Sendable () -> Bool = { false }
        /// Whether the stored token set is enough, so that no token has to be refreshed.
        package var isFresh: @Sendable (TokenSet) -> Bool
        /// Asks the provider. It is called with the account's set as it stood when the intent was recorded, and
        /// runs the check directly before it sends.
        package var send: @Sendable (TokenSet, SendCheck) -> Answer

        package init(
            keys: AccountKeys, policy: String, takeOver: TakeOver,
            isFresh: @escaping @Sendable (TokenSet) -> Bool,
            send: @escaping @Sendable (TokenSet, SendCheck) -> Answer
        ) {
            self.keys = keys
            self.policy = policy
            self.takeOver = takeOver
            self.isFresh = isFresh
            self.send = send
        }
    }

    /// Gives the account's token set, refreshed if the stored one is not enough. The caller holds the account's
    /// lock on this host.
    ///
    /// - Throws: ``ErrorCode/signInRequired`` when the account was signed out or its grant is gone;
    ///   ``ErrorCode/storeLocked`` when this host is not admitted; ``ErrorCode/storeDamaged``. It throws
    ///   ``ErrorCode/temporary`` when another host is active, an earlier request is not settled, or the cluster or
    ///   the provider cannot be reached.
    package func refresh(_ job: Job) throws(CredentialError) -> Outcome {
        var job = job
        // The records that were read before the replay are older.
        if try replay(job) { job.seen = nil }
        // A host that was overtaken on the way to the intent looks once more, and then waits for the other as if it
        // had come later.
        var isFirst = true
        while true {
            if let outcome = try attempt(job) { return outcome }
            job.seen = nil
            guard isFirst || job.waits() else { throw busy(nil) }
            isFirst = false
        }
    }

    /// Puts the answer that an earlier run of this host has journaled into the cluster, and takes away the intents
    /// that it has recorded and certainly not sent. The caller holds the account's lock.
    ///
    /// - Throws: as ``refresh(_:)``.
    package func settle(_ keys: AccountKeys) throws(CredentialError) {
        let job = Job(keys: keys, policy: "", takeOver: .never, isFresh: { _ in true }) { (_, _) in
            .unsent(CredentialError(.internalFault, "there is no request to send"))
        }
        _ = try replay(job)
        guard let note = try notes.intent(of: keys.id), !note.unsent.isEmpty else { return }
        let state = try withdrawUnsent(try read(job), job)
        // A transaction of long ago cannot be applied any more: its lease has ended.
        guard state.intent == nil || state.records.live == nil, note.isOld(clock.now) else { return }
        for nonce in note.unsent where nonce != state.intent?.nonce { try notes.forget(nonce, of: keys.id) }
    }

    /// Refreshes, or gives `nil` if another host has changed the account before any intent was recorded, or if the
    /// token was refused and there is another to try.
    private func attempt(_ job: Job) throws(CredentialError) -> Outcome? {
        let state = try adopted(try withdrawUnsent(try awaited(job), job), job)
        guard let set = state.tokenSet else { throw signedOut(job) }
        if job.isFresh(set) { return Outcome(tokenSet: set, record: state.records.set) }
        guard let grant = set.grants[job.policy], job.triesDoubtful ? grant.isWorthATry : grant.isRefreshable else {
            throw CredentialError(
                .signInRequired,
                set.grants[job.policy]?.lostReason.map(LocalizedMessage.init(kept:))
                    ?? "no grant for policy \(job.policy)")
        }
        if let standing = state.intent { try mayTakeOver(standing, state, job) }
        let token = try digest(of: grant)
        let nonce = IntentNonce(random)
        let began = bootClock.milliseconds
        let lease = try cluster.grantLease(seconds: Self.leaseSeconds)
        let intent = Intent(nonce: nonce, host: host, publicKey: publicKey, token: token, time: clock.now)
        let standing: State, looked: Int64
        do throws(CredentialError) {
            let isRecorded = try record(intent, lease, state, job)
            looked = bootClock.milliseconds
            guard isRecorded, let found = try toBeSent(intent, began, state, job) else {
                try notes.note(IntentLogEntry(nonce: nonce, maySend: false), of: job.keys.id)
                withdrawUnsent(nonce, lease, job)
                return nil
            }
            standing = found
            try notes.note(IntentLogEntry(nonce: nonce, maySend: true), of: job.keys.id)
            // To write that down may have taken long.
            try checkTime(began, job)
        } catch {
            // No request was sent, so this host's next run may take the intent away; the lease ends by itself, too.
            try notes.note(IntentLogEntry(nonce: nonce, maySend: false), of: job.keys.id)
            withdrawUnsent(nonce, lease, job)
            throw error
        }
        let held = cluster.hold(lease)
        defer { held.release() }
        let check = SendCheck(bootClock, lookedAt: looked) { () throws(CredentialError) in
            guard try isStill(intent, standing, job) else { throw busy(nil) }
        }
        let answer = job.send(set, check)
        if case .unknown = answer {
            // No process is active any more; the waiting ones may know.
            held.release()
            try? cluster.revoke(lease)
        }
        return try settle(answer, intent, lease, standing, job)
    }

    /// The account as it is once no other host is active any more.
    private func awaited(_ job: Job) throws(CredentialError) -> State {
        var seen = job.seen
        while true {
            let state = if let known = seen { try self.state(known, job) } else { try read(job) }
            seen = nil
            guard state.intent != nil, state.records.live != nil, let set = state.tokenSet, !job.isFresh(set),
                job.waits()
            else { return state }
        }
    }
}
