import CredentialCore

// The intent: recorded before a refresh token is sent, read again, taken over, taken away.
extension SharedRefresh {
    /// Writes the nonce down and puts the intent, if the account still is as it was read.
    ///
    /// - Returns: whether it may be there.
    func record(
        _ intent: Intent, _ lease: ClusterLease, _ state: State, _ job: Job
    ) throws(CredentialError) -> Bool {
        try notes.note(.underWay(intent.nonce, intent.time), of: job.keys.id)
        var transaction = ClusterTransaction()
        transaction.expect(state.records.set, at: job.keys.set)
        transaction.expect(state.records.intent, at: job.keys.intent)
        // Both come and go together: without an intent it is not that of an active host, and is replaced.
        transaction.expect(state.intent == nil ? state.records.live : nil, at: job.keys.live)
        transaction.expect(state.records.epoch, at: job.keys.epoch)
        // Another process of this host may have told that it leaves.
        transaction.expect(state.records.host, at: job.keys.host(host))
        transaction.changes = [
            .put(
                job.keys.intent,
                try seal.seal(intent.encoded, at: job.keys.intent, epoch: state.epoch)),
            .put(job.keys.live, Array(host.utf8), lease: lease),
        ]
        if let standing = state.intent {
            try put(try aside(without: standing, state), in: &transaction, state, job)
        }
        // Whether it was applied is read again by its nonce, so an error that leaves it open is not a failure yet.
        var wasApplied = true
        do throws(CredentialError) { wasApplied = try cluster.commit(transaction) } catch {
            guard error.code == .temporary else { throw error }
        }
        return wasApplied
    }

    /// Whether an intent that is there may be replaced.
    ///
    /// - Throws: ``ErrorCode/temporary`` if it may not.
    func mayTakeOver(_ standing: Intent, _ state: State, _ job: Job) throws(CredentialError) {
        guard state.records.live == nil else { throw busy(standing) }
        let takeOver = try leave(job.takeOver, standing, job)
        if try isReplaced(standing, state) { return }
        // The other host's clock may be ahead of this one's: without a waiting time it does not count.
        guard case .after(let seconds) = takeOver,
            seconds == 0 || clock.now.epochSeconds - standing.time.epochSeconds >= seconds
        else { throw busy(standing).withHint(job.hint ?? "credmgr doctor") }
    }

    /// Whether a sign-in has replaced the token that an intent was about: no request that is still under way can
    /// answer the new one.
    private func isReplaced(_ standing: Intent, _ state: State) throws(CredentialError) -> Bool {
        for grant in state.tokenSet?.grants.values.map(\.self) ?? []
        where try digest(of: grant) == standing.token { return false }
        return true
    }

    /// The late answers once an intent is taken over: that of its host may come.
    func aside(without standing: Intent, _ state: State) throws(CredentialError) -> SupersededIntents {
        var aside = state.aside
        if try !isReplaced(standing, state) { aside.await(standing.nonce) }
        return aside
    }

    /// When an intent is taken over: no host will settle the intent of one that was expelled, or has left. Its
    /// request may have used the token, but the answer is that host's alone, so another request loses no token once
    /// the first cannot be under way any more.
    private func leave(_ takeOver: TakeOver, _ standing: Intent, _ job: Job) throws(CredentialError) -> TakeOver {
        if let record = try cluster.read([job.keys.host(standing.host)])[0] {
            // If the record cannot be read, it is unknown whether it is still that host; the command that expels it
            // decides.
            guard let host = try? GroupHost(record), host.publicKey != standing.publicKey else { return takeOver }
        }
        if case .after(let seconds) = takeOver { return .after(min(seconds, Self.outsiderSeconds)) }
        return .after(Self.outsiderSeconds)
    }

    /// Reads the intent again: it must still be one's own.
    ///
    /// - Returns: the account as it is then; `nil` if the group has another key by now, or the account another
    ///   token, or another host's answer to this one. The host that changed it may have expelled this one, or know
    ///   better than the cluster did. Then all begins again.
    func toBeSent(
        _ intent: Intent, _ began: Int64, _ before: State, _ job: Job
    ) throws(CredentialError) -> State? {
        let state = try read(job)
        guard try isToBeSent(intent, state, since: before, job) else { return nil }
        try checkTime(began, job)
        return state
    }

    /// Whether all is as it was when the intent was read again: a process that stood still meanwhile may have been
    /// taken for gone.
    ///
    /// The lease is kept alive by then, and is valid if this host was not away for too long.
    ///
    /// - Throws: ``ErrorCode/temporary`` if the intent is another host's by now, or its lease has ended.
    func isStill(_ intent: Intent, _ before: State, _ job: Job) throws(CredentialError) -> Bool {
        try isToBeSent(intent, try read(job), since: before, job)
    }

    private func isToBeSent(
        _ intent: Intent, _ state: State, since before: State, _ job: Job
    ) throws(CredentialError) -> Bool {
        let nonce = intent.nonce
        guard state.intent?.nonce == nonce, state.records.live != nil else { throw busy(state.intent) }
        let standing = try state.tokenSet.flatMap { (set) throws(CredentialError) in
            try digest(of: set, job.policy)
        }
        return state.epoch == before.epoch && standing == intent.token
            && state.aside.answer(to: intent.token, of: job.policy) == nil
    }

    /// The lease must be far from its end: a host that finds it ended may believe that no request is sent any more.
    func checkTime(_ began: Int64, _ job: Job) throws(CredentialError) {
        guard bootClock.milliseconds - began < Self.leaseSeconds * 1_000 / 2 else {
            throw CredentialError(
                .temporary, "the cluster took too long to record the refresh of \(job.keys.id)",
                hint: "try again")
        }
    }

    /// Removes intents that an earlier run of this host has recorded and certainly not sent.
    ///
    /// Its lease must have ended: a copy of this folder on a cloned machine may be about to send.
    func withdrawUnsent(_ state: State, _ job: Job) throws(CredentialError) -> State {
        guard let intent = state.intent, state.records.live == nil,
            let note = try notes.intent(of: job.keys.id), note.unsent.contains(intent.nonce)
        else { return state }
        try withdraw(intent.nonce, job)
        return try read(job)
    }

    /// Removes the intent that this run has recorded, or may have, and certainly does not send, so that no host
    /// waits for it.
    ///
    /// The lease goes first: from then on a transaction that has no answer yet cannot be applied any more. If the
    /// cluster does not answer this, either, the note stays, and the next run of this host does it.
    func withdrawUnsent(_ nonce: IntentNonce, _ lease: ClusterLease, _ job: Job) {
        guard (try? cluster.revoke(lease)) != nil, (try? withdraw(nonce, job)) != nil else { return }
        try? notes.forget(nonce, of: job.keys.id)
    }

    /// Takes one's own intent away, if it is there, after which anybody may refresh.
    func withdraw(_ nonce: IntentNonce, _ job: Job) throws(CredentialError) {
        // A host that seals the group again writes the intent again, too.
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
}
