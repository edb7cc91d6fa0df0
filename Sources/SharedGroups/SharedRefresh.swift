package import CredentialCore

/// Refreshes a sign-in that several hosts share, exactly once: `docs/many-hosts.md`, and the model of it in
/// `docs/models/shared-refresh.pml`.
///
/// No refresh token is sent while an earlier request with it can still be answered or its answer is journaled somewhere. A
/// lock with a lease cannot promise that: whoever pauses for longer than the lease sends what another has used up, and
/// refusing the late writer's result destroys the only live token. So an intent is recorded before sending; it has no lease.
package struct SharedRefresh: Sendable {
    /// What happens to an intent whose host is not alive.
    package enum TakeOver: Sendable, Hashable {
        /// It stands until that host comes back, or a person says otherwise.
        case never
        /// It is taken over when it is as old as this, in seconds.
        case after(Int64)
    }

    /// What the provider said.
    package enum Answer: Sendable {
        /// The token set with what was issued.
        case issued(TokenSet)
        /// The sign-in is gone, or another answer that says that the refresh token was not used up.
        case refused(CredentialError)
        /// Nothing that could use the token up has left this host, or the provider said that it did nothing.
        case unsent(CredentialError)
        /// Nobody knows whether the provider has used the token up.
        case unknown(CredentialError)
    }

    /// How it ended.
    package struct Outcome: Sendable {
        /// The account's token set as the cluster, or this host's journal, has it now.
        package var tokenSet: TokenSet
        /// Whether this call has refreshed; else somebody else had.
        package var refreshed = false
        /// What the user should know.
        package var warnings: [Message] = []
    }

    let cluster: any Cluster
    let notes: any HostNotes
    let seal: GroupSeal
    let clock: any WallClock
    let bootClock: any BootClock
    let random: any RandomSource
    let cryptography: any Cryptography
    /// The name of this host.
    let host: String

    static let leaseSeconds: Int64 = 15
    /// After how many seconds an intent is taken over whose host belongs to the group no more.
    private static let outsiderSeconds: Int64 = 30
    private static let attempts = 8

    /// Makes it; nothing is asked yet.
    package init(
        cluster: any Cluster, notes: any HostNotes, seal: GroupSeal, clock: any WallClock,
        bootClock: any BootClock, random: any RandomSource, cryptography: any Cryptography, host: String
    ) {
        self.cluster = cluster
        self.notes = notes
        self.seal = seal
        self.clock = clock
        self.bootClock = bootClock
        self.random = random
        self.cryptography = cryptography
        self.host = host
    }

    /// What a call is about.
    package struct Job: Sendable {
        /// Where the account stands in the cluster.
        package var keys: AccountKeys
        /// Whose grant is used: the policy, empty where the provider has none.
        package var policy: String
        /// What to do about another host's intent.
        package var takeOver: TakeOver
        /// What a person can do about an intent that nobody knows the end of.
        package var hint: Message?
        /// Waits for another host that is at it; `false` when that has taken long enough.
        package var waits: @Sendable () -> Bool = { false }
        /// Whether what is there will do, so that nothing has to be refreshed.
        package var isFresh: @Sendable (TokenSet) -> Bool
        /// Asks the provider. It is called with the account's set as it stood when the intent was recorded.
        package var send: @Sendable (TokenSet) -> Answer

        package init(
            keys: AccountKeys, policy: String, takeOver: TakeOver,
            isFresh: @escaping @Sendable (TokenSet) -> Bool, send: @escaping @Sendable (TokenSet) -> Answer
        ) {
            self.keys = keys
            self.policy = policy
            self.takeOver = takeOver
            self.isFresh = isFresh
            self.send = send
        }
    }

    /// Gives the account's token set, refreshed if what is there will not do. The caller holds the account's lock on this
    /// host.
    ///
    /// - Throws: ``ErrorCode/signInRequired`` when the account was signed out or its grant is gone;
    ///   ``ErrorCode/temporary`` when another host is at it, an earlier request is not settled, or the cluster or the provider
    ///   cannot be reached; ``ErrorCode/storeLocked`` when this host is not admitted; ``ErrorCode/storeDamaged``.
    package func refresh(_ job: Job) throws(CredentialError) -> Outcome {
        try replay(job)
        // Who was overtaken on the way to the intent waits for the other, as if it had come later.
        while true {
            if let outcome = try attempt(job) { return outcome }
            guard job.waits() else { throw busy(nil) }
        }
    }

    /// Puts the answer that an earlier run of this host has journaled into the cluster, and takes away the intents that it has
    /// recorded and certainly not sent. The caller holds the account's lock.
    ///
    /// - Throws: as ``refresh(_:)``.
    package func settle(_ keys: AccountKeys) throws(CredentialError) {
        let job = Job(keys: keys, policy: "", takeOver: .never, isFresh: { _ in true }) { _ in
            .unsent(CredentialError(.internalFault, "nothing is to be sent"))
        }
        try replay(job)
        guard let note = try notes.intent(of: keys.id), !note.unsent.isEmpty else { return }
        let state = try withdrawUnsent(try read(job), job)
        // A transaction of long ago cannot be applied any more: its lease has ended.
        guard state.records.live == nil, note.isOld(clock.now) else { return }
        for nonce in note.unsent where nonce != state.intent?.nonce { try notes.forget(nonce, of: keys.id) }
    }

    /// Refreshes, or gives `nil` where another host has changed the account before anything was recorded.
    private func attempt(_ job: Job) throws(CredentialError) -> Outcome? {
        let state = try withdrawUnsent(try awaited(job), job)
        guard let set = state.tokenSet else { throw signedOut(job) }
        if job.isFresh(set) { return Outcome(tokenSet: set) }
        guard let grant = set.grants[job.policy], grant.isRefreshable else {
            throw CredentialError(
                .signInRequired,
                set.grants[job.policy]?.lostReason.map(Message.init(kept:))
                    ?? "no sign-in for policy \(job.policy)")
        }
        if let standing = state.intent { try mayTakeOver(standing, state, job) }
        let token = try digest(of: grant)
        let nonce = IntentNonce(random)
        let began = bootClock.milliseconds
        let lease = try cluster.grantLease(seconds: Self.leaseSeconds)
        let intent = Intent(nonce: nonce, host: host, token: token, time: clock.now)
        do throws(CredentialError) {
            guard try record(intent, lease, state, job), try isToBeSent(intent, began, state, job) else {
                withdrawUnsent(nonce, lease, job)
                return nil
            }
            try notes.note(IntentNote(nonce: nonce, maySend: true), of: job.keys.id)
            // To write that down may have taken long.
            try checkTime(began, job)
        } catch {
            // Nothing was sent, so this host's next run may take the intent away; the lease ends by itself, too.
            try notes.note(IntentNote(nonce: nonce, maySend: false), of: job.keys.id)
            withdrawUnsent(nonce, lease, job)
            throw error
        }
        let held = cluster.hold(lease)
        defer { held.release() }
        let answer = job.send(set)
        if case .unknown = answer {
            // Nobody is at it any more; whoever waits for that may know.
            held.release()
            try? cluster.revoke(lease)
        }
        return try settle(answer, intent, lease, set, job)
    }

    /// The account as it is once no other host is at it any more.
    private func awaited(_ job: Job) throws(CredentialError) -> State {
        while true {
            let state = try read(job)
            guard state.intent != nil, state.records.live != nil, let set = state.tokenSet, !job.isFresh(set),
                job.waits()
            else { return state }
        }
    }

    // MARK: The intent

    /// Writes the nonce down and puts the intent, if the account still is as it was read.
    ///
    /// - Returns: whether it may be there.
    private func record(
        _ intent: Intent, _ lease: ClusterLease, _ state: State, _ job: Job
    ) throws(CredentialError) -> Bool {
        try notes.note(IntentNote(nonce: intent.nonce, maySend: false, time: intent.time), of: job.keys.id)
        var transaction = ClusterTransaction()
        transaction.expect(state.records.set, at: job.keys.set)
        transaction.expect(state.records.intent, at: job.keys.intent)
        transaction.expect(nil, at: job.keys.live)
        transaction.expect(state.records.epoch, at: job.keys.epoch)
        transaction.changes = [
            .put(
                job.keys.intent,
                try seal.seal(intent.encoded, at: job.keys.intent, epoch: state.epoch)),
            .put(job.keys.live, Array(host.utf8), lease: lease),
        ]
        // Whether it was applied is read again by its nonce, so an error that does not say is none yet.
        var wasApplied = true
        do throws(CredentialError) { wasApplied = try cluster.commit(transaction) } catch {
            guard error.code == .temporary else { throw error }
        }
        return wasApplied
    }

    /// Whether an intent that is there may be replaced.
    ///
    /// - Throws: ``ErrorCode/temporary`` where it may not.
    private func mayTakeOver(_ standing: Intent, _ state: State, _ job: Job) throws(CredentialError) {
        guard state.records.live == nil else { throw busy(standing) }
        let takeOver = try leave(job.takeOver, standing, job)
        // A sign-in has replaced the token that it was about: nothing that is still under way can answer the new one.
        if let set = state.tokenSet {
            var isReplaced = true
            for grant in set.grants.values where try digest(of: grant) == standing.token { isReplaced = false }
            if isReplaced { return }
        }
        // The other host's clock may be ahead of this one's: where nothing is to be waited for, it does not count.
        guard case .after(let seconds) = takeOver,
            seconds == 0 || clock.now.epochSeconds - standing.time.epochSeconds >= seconds
        else { throw busy(standing).withHint(job.hint ?? "credmgr doctor") }
    }

    /// When an intent is taken over: that of a host which was expelled, or has left, nobody will settle. Its request may have
    /// used the token up, but what came of it is that host's alone, so nothing is lost by asking again once the request cannot
    /// be under way any more.
    private func leave(_ takeOver: TakeOver, _ standing: Intent, _ job: Job) throws(CredentialError) -> TakeOver {
        guard try cluster.read([job.keys.host(standing.host)])[0] == nil else { return takeOver }
        if case .after(let seconds) = takeOver { return .after(min(seconds, Self.outsiderSeconds)) }
        return .after(Self.outsiderSeconds)
    }

    /// Reads the intent again: it must still be one's own.
    ///
    /// - Returns: `false` where the group has another key by now, or the account another token: whoever has changed that may
    ///   have expelled this host, or knows better than the cluster did. Then all begins anew.
    private func isToBeSent(
        _ intent: Intent, _ began: Int64, _ before: State, _ job: Job
    ) throws(CredentialError) -> Bool {
        let state = try read(job), nonce = intent.nonce
        guard state.intent?.nonce == nonce, state.records.live != nil else { throw busy(state.intent) }
        let standing = try state.tokenSet?.grants[job.policy].map { (grant) throws(CredentialError) in
            try digest(of: grant)
        }
        guard state.epoch == before.epoch, standing == intent.token else { return false }
        try checkTime(began, job)
        return true
    }

    /// The lease must be far from its end: whoever finds it ended may believe that nothing is sent any more.
    private func checkTime(_ began: Int64, _ job: Job) throws(CredentialError) {
        guard bootClock.milliseconds - began < Self.leaseSeconds * 1_000 / 2 else {
            throw CredentialError(
                .temporary, "the cluster took too long to record the refresh of \(job.keys.id)",
                hint: "try again")
        }
    }

    /// Takes away what an earlier run of this host has recorded and certainly not sent.
    ///
    /// Its lease must have ended: a copy of this folder on a cloned machine may be about to send.
    private func withdrawUnsent(_ state: State, _ job: Job) throws(CredentialError) -> State {
        guard let intent = state.intent, state.records.live == nil,
            let note = try notes.intent(of: job.keys.id), note.unsent.contains(intent.nonce)
        else { return state }
        try withdraw(intent.nonce, job)
        return try read(job)
    }

    /// Takes away what this run has recorded, or may have, and certainly does not send, so that nobody waits for it.
    ///
    /// The lease goes first: from then on a transaction that nobody has answered yet cannot be applied any more. Where the cluster
    /// does not answer this, either, the note stays, and the next run of this host does it.
    private func withdrawUnsent(_ nonce: IntentNonce, _ lease: ClusterLease, _ job: Job) {
        guard (try? cluster.revoke(lease)) != nil, (try? withdraw(nonce, job)) != nil else { return }
        try? notes.forget(nonce, of: job.keys.id)
    }

    /// Takes one's own intent away, if it is there, after which anybody may refresh.
    private func withdraw(_ nonce: IntentNonce, _ job: Job) throws(CredentialError) {
        // Whoever seals the group anew writes it again, too.
        for _ in 0..<Self.attempts {
            let record = try cluster.read([job.keys.intent])[0]
            guard let record, try Intent(decoding: try seal.open(record)).nonce == nonce else { return }
            var transaction = ClusterTransaction()
            transaction.expect(record, at: job.keys.intent)
            transaction.changes = [.remove(job.keys.intent), .remove(job.keys.live)]
            if try cluster.commit(transaction) { return }
        }
        throw busy(nil)
    }

    // MARK: The answer

    private func settle(
        _ answer: Answer, _ intent: Intent, _ lease: ClusterLease, _ set: TokenSet, _ job: Job
    ) throws(CredentialError) -> Outcome {
        let nonce = intent.nonce, token = intent.token
        switch answer {
        case .issued(var issued):
            issued.lines[job.policy] = (issued.lines[job.policy] ?? GrantLine(random)).next(by: host)
            let late = LateAnswer(nonce: nonce, replaced: token, policy: job.policy, tokenSet: issued)
            var unkept: CredentialError?
            do throws(CredentialError) {
                try notes.keepJournal(try late.sealed(by: set.journalKey, cryptography, random), of: job.keys.id)
            } catch {
                // A full disk: the cluster may take it all the same, and nobody else has it.
                unkept = error
            }
            do throws(CredentialError) {
                return Outcome(tokenSet: try store(late, job), refreshed: true)
            } catch {
                if let unkept { throw unkept }
                guard error.code == .temporary else { throw error }
                return Outcome(
                    tokenSet: issued, refreshed: true,
                    warnings: [
                        "the cluster did not take the new tokens (\(error)); they are kept sealed on this host "
                            + "and will be put there by the next run"
                    ])
            }
        case .refused(let error):
            do throws(CredentialError) { try markLost(nonce, token, error, job) } catch {
                // What was refused is not under way: the next run takes the intent away, and is told the same.
                try notes.note(IntentNote(nonce: nonce, maySend: false), of: job.keys.id)
            }
            throw error
        case .unsent(let error):
            // The next run takes the intent away where this one cannot.
            try notes.note(IntentNote(nonce: nonce, maySend: false), of: job.keys.id)
            withdrawUnsent(nonce, lease, job)
            throw error
        case .unknown(let error): throw error
        }
    }

    /// Puts an answer where the token that it replaced still stands; keeps it as the alternate where another host is at it.
    ///
    /// - Returns: the set as it stands then.
    /// - Throws: ``ErrorCode/temporary`` when the cluster cannot be reached; the journal then stays.
    private func store(_ answer: LateAnswer, _ job: Job) throws(CredentialError) -> TokenSet {
        let isNew = try answer.tokenSet.grants[answer.policy].map { (grant) throws(CredentialError) in
            try digest(of: grant)
        }
        var failure: CredentialError?
        for _ in 0..<Self.attempts {
            let state: State
            do throws(CredentialError) { state = try read(job) } catch {
                guard error.code == .temporary else { throw error }
                failure = error
                continue
            }
            guard var set = state.tokenSet else {
                // Signed out meanwhile: what came belongs to nobody any more.
                try notes.dropJournal(of: job.keys.id)
                throw signedOut(job)
            }
            let standing = try set.grants[answer.policy].map { (grant) throws(CredentialError) in
                try digest(of: grant)
            }
            let isOurs = state.intent?.nonce == answer.nonce
            if standing == isNew, !isOurs {
                try notes.dropJournal(of: job.keys.id)
                return set
            }
            var transaction = ClusterTransaction()
            transaction.expect(state.records.epoch, at: job.keys.epoch)
            transaction.expect(state.records.intent, at: job.keys.intent)
            // Where what stands was refused meanwhile, it is worth nothing, and this may be. So it is where the cluster was put
            // back, and has an earlier step of the line.
            let newer = answer.tokenSet.lines[answer.policy]
            let isEarlier = set.lines[answer.policy].flatMap { line in newer.map { line.isOlder(than: $0) } }
            let isLost = set.grants[answer.policy]?.lostReason != nil || isEarlier == true && standing != isNew
            if standing == answer.replaced || isLost, isOurs || state.intent == nil {
                set.take(answer.policy, of: answer.tokenSet)
                transaction.expect(state.records.set, at: job.keys.set)
                transaction.changes.append(try put(set, at: job.keys.set, state))
                // An earlier try may have put it aside. There it would be tried again when it is used up.
                if let aside = state.alternate?.grants[answer.policy], try digest(of: aside) == isNew {
                    transaction.expect(state.records.alternate, at: job.keys.alternate)
                    transaction.changes.append(.remove(job.keys.alternate))
                }
            } else if state.intent?.token == answer.replaced, !isOurs {
                transaction.changes.append(try put(answer.tokenSet, at: job.keys.alternate, state))
            } else if !isOurs {
                // It has been there already, and may be used up by now; or another grant has come in its place.
                try notes.dropJournal(of: job.keys.id)
                return set
            }
            if isOurs { transaction.changes += [.remove(job.keys.intent), .remove(job.keys.live)] }
            do throws(CredentialError) {
                guard try cluster.commit(transaction) else { continue }
            } catch {
                guard error.code == .temporary else { throw error }
                failure = error
                continue
            }
            try notes.dropJournal(of: job.keys.id)
            return set
        }
        throw failure ?? busy(nil)
    }

    /// Puts what an earlier run of this host has journaled.
    private func replay(_ job: Job) throws(CredentialError) {
        guard let entry = try notes.journal(of: job.keys.id) else { return }
        guard let set = try read(job).tokenSet else { return try notes.dropJournal(of: job.keys.id) }
        _ = try store(try LateAnswer(opening: entry, key: set.journalKey, cryptography), job)
    }

    /// Says in the cluster that the grant is gone, if the token that was refused still is the one that stands there; takes
    /// the alternate in its place where there is one.
    private func markLost(
        _ nonce: IntentNonce, _ token: TokenDigest, _ reason: CredentialError, _ job: Job
    ) throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let state = try read(job)
            guard var set = state.tokenSet, state.intent?.nonce == nonce else { return }
            var transaction = ClusterTransaction()
            transaction.expect(state.records.epoch, at: job.keys.epoch)
            transaction.expect(state.records.intent, at: job.keys.intent)
            transaction.changes = [.remove(job.keys.intent), .remove(job.keys.live)]
            let standing = try set.grants[job.policy].map { (grant) throws(CredentialError) in try digest(of: grant)
            }
            if standing == token {
                // An answer that is put aside just now is not to be overlooked.
                transaction.expect(state.records.alternate, at: job.keys.alternate)
                if let alternate = state.alternate?.grants[job.policy] {
                    set.grants[job.policy] = alternate
                    set.lines[job.policy] = set.lines[job.policy]?.next(by: host)
                    transaction.changes.append(.remove(job.keys.alternate))
                } else {
                    set.grants[job.policy]?.lostReason = reason.message
                    set.accessTokens.removeAll { $0.key.policy == job.policy && $0.expiresAt <= clock.now }
                    if !set.grants.values.contains(where: \.isRefreshable) {
                        set.account.status = .needsLogin(reason: reason.message)
                    }
                }
                set.account.updatedAt = clock.now
                set.generation += 1
                transaction.expect(state.records.set, at: job.keys.set)
                transaction.changes.append(try put(set, at: job.keys.set, state))
            }
            if try cluster.commit(transaction) { return }
        }
        throw busy(nil)
    }

    // MARK: What stands in the cluster

    /// The account as it was read at one moment.
    private struct State {
        var records:
            (
                set: ClusterRecord?, intent: ClusterRecord?, live: ClusterRecord?, epoch: ClusterRecord?,
                alternate: ClusterRecord?
            )
        var tokenSet: TokenSet?
        var alternate: TokenSet?
        var intent: Intent?
        var epoch: Int64
    }

    private func read(_ job: Job) throws(CredentialError) -> State {
        let keys = job.keys
        let found = try cluster.read([keys.set, keys.intent, keys.live, keys.epoch, keys.alternate])
        guard let epoch = found[3].flatMap({ Int64(String(decoding: $0.value, as: UTF8.self)) }) else {
            throw CredentialError(
                .storeDamaged, "\(keys.group) of the cluster is no group of credmgr", hint: "credmgr doctor")
        }
        var state = State(records: (found[0], found[1], found[2], found[3], found[4]), epoch: epoch)
        if let record = found[0] { state.tokenSet = try TokenSet(decoding: try seal.open(record)) }
        if let record = found[1] { state.intent = try Intent(decoding: try seal.open(record)) }
        if let record = found[4] { state.alternate = try TokenSet(decoding: try seal.open(record)) }
        return state
    }

    private func put(
        _ set: TokenSet, at key: String, _ state: State
    ) throws(CredentialError) -> ClusterTransaction.Change {
        .put(key, try seal.seal(set.encoded(), at: key, epoch: state.epoch))
    }

    private func digest(of grant: Grant) throws(CredentialError) -> TokenDigest {
        TokenDigest(bytes: try cryptography.sha256(Array((grant.refreshToken?.reveal() ?? "").utf8)))
    }

    private func busy(_ intent: Intent?) -> CredentialError {
        guard let intent else {
            return CredentialError(.temporary, "another host has changed the account meanwhile", hint: "try again")
        }
        return CredentialError(
            .temporary,
            "the host \(ForeignText.shown(intent.host)) began to refresh the account, and nobody knows yet how that ended"
        )
    }

    private func signedOut(_ job: Job) -> CredentialError {
        CredentialError(.signInRequired, "the account \(job.keys.id) was signed out")
    }
}
