import CredentialCore

// The way of a refresh's result into the cluster: the provider's answer, late ones too.
extension SharedRefresh {
    /// Brings the provider's answer into the cluster.
    ///
    /// - Parameter state: the account as it stood when the refresh token was sent.
    /// - Returns: `nil` if the token was refused and that of a late answer is in its place.
    func settle(
        _ answer: Answer, _ intent: Intent, _ lease: ClusterLease, _ state: State, _ job: Job
    ) throws(CredentialError) -> Outcome? {
        let nonce = intent.nonce, token = intent.token
        switch answer {
        case .issued(var issued):
            issued.lines[job.policy] = (issued.lines[job.policy] ?? TokenFamily(random)).next(by: host)
            let late = LateResponse(nonce: nonce, replaced: token, policy: job.policy, tokenSet: issued)
            var unkept: CredentialError?
            do throws(CredentialError) {
                try notes.keepJournal(try late.sealed(by: issued.journalKey, cryptography, random), of: job.keys.id)
            } catch {
                // A full disk: the cluster may still take it, and no other host has it.
                unkept = error
            }
            do throws(CredentialError) {
                let (set, record) = try store(late, after: state, job)
                return Outcome(tokenSet: set, record: record, refreshed: true)
            } catch {
                if let unkept { throw error.forbidsStaleToken ? error : unkept.asFinal }
                guard error.code == .temporary else { throw error }
                return Outcome(
                    tokenSet: issued, refreshed: true,
                    warnings: [
                        "the cluster did not accept the new tokens (\(error)); saved them encrypted on this host "
                            + "until the next run writes them"
                    ])
            }
        case .refused(let error):
            do throws(CredentialError) { if try !markLost(nonce, token, error, job) { return nil } } catch {
                // A refused refresh is not under way: the next run takes the intent away, and gets the same error.
                try notes.note(IntentLogEntry(nonce: nonce, maySend: false), of: job.keys.id)
            }
            throw error
        case .unsent(let error):
            // The next run takes the intent away if this one cannot.
            try notes.note(IntentLogEntry(nonce: nonce, maySend: false), of: job.keys.id)
            withdrawUnsent(nonce, lease, job)
            throw error
        case .unknown(let error): throw error
        }
    }

    /// Puts an answer into the set if the token that it replaced is still there; keeps it aside if another host has
    /// taken its intent over.
    ///
    /// - Parameter seen: the account as it was last; it is read if this is `nil`, and again if that is no longer
    ///   so.
    /// - Returns: the set after that, and its record.
    /// - Throws: ``ErrorCode/temporary`` when the cluster cannot be reached; the journal then stays.
    private func store(
        _ answer: LateResponse, after seen: State?, _ job: Job
    ) throws(CredentialError) -> (TokenSet, ClusterRecord?) {
        var seen = seen
        let new = try digest(of: answer.tokenSet, answer.policy)
        var failure: CredentialError?
        for _ in 0..<Self.attempts {
            let state: State
            do throws(CredentialError) { if let seen { state = seen } else { state = try read(job) } } catch {
                guard error.code == .temporary else { throw error }
                failure = error
                continue
            }
            seen = nil
            guard var set = state.tokenSet else {
                // Signed out meanwhile: the answer belongs to no account any more.
                try notes.dropJournal(of: job.keys.id)
                throw signedOut(job)
            }
            let standing = try digest(of: set, answer.policy)
            let isOurs = state.intent?.nonce == answer.nonce
            if standing == new, !isOurs {
                try notes.dropJournal(of: job.keys.id)
                return (set, state.records.set)
            }
            var transaction = ClusterTransaction()
            transaction.expect(state.records.epoch, at: job.keys.epoch)
            transaction.expect(state.records.intent, at: job.keys.intent)
            // If the token in the cluster is refused meanwhile, the answer must not be put aside but must take its
            // place.
            transaction.expect(state.records.set, at: job.keys.set)
            var aside = state.aside
            if isWorthMore(answer, than: set, standing, new, state), isOurs || state.intent == nil {
                set.take(answer.policy, of: answer.tokenSet)
                transaction.changes.append(try put(set, at: job.keys.set, state))
                // An earlier try may have put it aside. There it would be tried again after its use.
                aside.forget(answer.nonce)
            } else if !isOurs, mayBeTheOnlyOne(answer, beside: set, state) {
                aside.keep(answer)
            }
            if isOurs { transaction.changes += [.remove(job.keys.intent), .remove(job.keys.live)] }
            try put(aside, in: &transaction, state, job)
            var record = state.records.set
            // Else it was there already and may have been sent by now, or another sign-in has come in its place.
            if !transaction.changes.isEmpty {
                do throws(CredentialError) {
                    guard let revision = try cluster.revision(committing: transaction) else { continue }
                    record = transaction.record(at: job.keys.set, revision) ?? record
                } catch {
                    guard error.code == .temporary else { throw error }
                    failure = error
                    continue
                }
            }
            try notes.dropJournal(of: job.keys.id)
            return (set, record)
        }
        throw failure ?? busy(nil)
    }

    /// Whether an answer may replace the token in the set. It may if that is the token that it replaced, or an
    /// earlier step of its line, in a restored cluster. It may replace a refused token, too, unless the answer was
    /// in the set before that, or its sign-in was replaced by the refused one.
    private func isWorthMore(
        _ answer: LateResponse, than set: TokenSet, _ standing: TokenDigest?, _ new: TokenDigest?, _ state: State
    ) -> Bool {
        if standing == answer.replaced { return true }
        let line = set.lines[answer.policy], own = answer.tokenSet.lines[answer.policy]
        if let lost = set.grants[answer.policy], lost.lostReason != nil {
            guard let line, let own else { return true }
            // This host has not seen the fate of an earlier sign-in's token since that sign-in was replaced.
            guard own.id == line.id else {
                return answer.tokenSet.grants[answer.policy].map { $0.signedInAt > lost.signedInAt } ?? false
            }
            guard own.isOlder(than: line) else { return true }
            return mayBeTheOnlyOne(answer, beside: set, state)
        }
        guard standing != new, let line, let own else { return false }
        return line.isOlder(than: own)
    }

    /// Whether an answer that may not be the set was never in it: its intent was taken over, and the result of that
    /// may be refused.
    private func mayBeTheOnlyOne(_ answer: LateResponse, beside set: TokenSet, _ state: State) -> Bool {
        guard set.lines[answer.policy]?.id == answer.tokenSet.lines[answer.policy]?.id else { return false }
        return state.aside.awaits(answer.nonce) || state.intent?.token == answer.replaced
    }

    /// The account once answers that were kept aside replace the tokens that they belong to, of this policy: no
    /// host sends those again.
    func adopted(_ state: State, _ job: Job) throws(CredentialError) -> State {
        var state = state
        for _ in 0..<Self.attempts {
            guard var set = state.tokenSet, !job.isFresh(set), let token = try digest(of: set, job.policy),
                let answer = state.aside.answer(to: token, of: job.policy)
            else { return state }
            var transaction = ClusterTransaction()
            transaction.expect(state.records.epoch, at: job.keys.epoch)
            transaction.expect(state.records.set, at: job.keys.set)
            transaction.expect(state.records.intent, at: job.keys.intent)
            var aside = state.aside
            if let standing = state.intent {
                try mayTakeOver(standing, state, job)
                transaction.changes.append(.remove(job.keys.intent))
                aside = try self.aside(without: standing, state)
            }
            aside.forget(answer.nonce)
            try put(aside, in: &transaction, state, job)
            set.take(job.policy, of: answer.tokenSet)
            transaction.changes.append(try put(set, at: job.keys.set, state))
            _ = try cluster.commit(transaction)
            state = try read(job)
        }
        throw busy(nil)
    }

    /// Puts the answer that an earlier run of this host has journaled.
    ///
    /// - Returns: whether there was anything.
    func replay(_ job: Job) throws(CredentialError) -> Bool {
        guard let entry = try notes.journal(of: job.keys.id) else { return false }
        let state = try read(job)
        if let set = state.tokenSet {
            let answer = try LateResponse(opening: entry, key: set.journalKey, cryptography)
            _ = try store(answer, after: state, job)
        } else {
            try notes.dropJournal(of: job.keys.id)
        }
        return true
    }

    /// Records in the cluster that the grant is gone, if the refused token still is the one in the set; takes that
    /// of a late answer in its place if there is one.
    ///
    /// - Returns: whether it is gone; else there is another to try.
    private func markLost(
        _ nonce: IntentNonce, _ token: TokenDigest, _ reason: CredentialError, _ job: Job
    ) throws(CredentialError) -> Bool {
        for _ in 0..<Self.attempts {
            let state = try read(job)
            guard var set = state.tokenSet, state.intent?.nonce == nonce else { return true }
            var transaction = ClusterTransaction()
            transaction.expect(state.records.epoch, at: job.keys.epoch)
            transaction.expect(state.records.intent, at: job.keys.intent)
            transaction.changes = [.remove(job.keys.intent), .remove(job.keys.live)]
            let isStanding = try digest(of: set, job.policy) == token
            let other = state.aside.newest(of: job.policy, in: set.lines[job.policy])
            if isStanding {
                // An answer that is put aside just now is not to be overlooked.
                transaction.expect(state.records.aside, at: job.keys.aside)
                if let other {
                    set.take(job.policy, of: other.tokenSet)
                    var aside = state.aside
                    aside.forget(other.nonce)
                    try put(aside, in: &transaction, state, job)
                } else {
                    set.grants[job.policy]?.lostReason = reason.message
                    set.grants[job.policy]?.isDoubtful = reason.keepsGrant
                    set.accessTokens.removeAll { $0.key.policy == job.policy && $0.expiresAt <= clock.now }
                    if !set.grants.values.contains(where: \.isRefreshable) {
                        set.account.status = .needsLogin(reason: reason.message)
                    }
                    set.generation += 1
                }
                set.account.updatedAt = clock.now
                transaction.expect(state.records.set, at: job.keys.set)
                transaction.changes.append(try put(set, at: job.keys.set, state))
            }
            if try cluster.commit(transaction) { return !isStanding || other == nil }
        }
        throw busy(nil)
    }
}
