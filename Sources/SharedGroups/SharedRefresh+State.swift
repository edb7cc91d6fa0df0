import CredentialCore

// The account as it is in the cluster.
extension SharedRefresh {
    /// The account as it was read at one moment.
    struct State {
        var records: AccountSnapshot
        var tokenSet: TokenSet?
        /// Late answers of hosts whose intents were taken over.
        var aside = SupersededIntents()
        var intent: Intent?
        var epoch: Int64
    }

    func read(_ job: Job) throws(CredentialError) -> State {
        let keys = job.keys
        let found = try cluster.read(AccountSnapshot.keys(keys) + [keys.epoch, keys.host(host)])
        return try state(AccountSnapshot(found, epoch: found[4], host: found[5]), job)
    }

    /// The state of an account, from the records that were read.
    func state(_ records: AccountSnapshot, _ job: Job) throws(CredentialError) -> State {
        guard let record = records.epoch else {
            throw CredentialError(
                .storeDamaged, "\(job.keys.group) of the cluster is not a group of credmgr", hint: "credmgr doctor")
        }
        let epoch = try KeyEpoch(record)
        guard let own = try records.host.map({ (record) throws(CredentialError) in try GroupHost(record) }),
            own.publicKey == publicKey, epoch.admits(own)
        else {
            throw CredentialError(.storeLocked, "this host, \(host), does not belong to the group any more")
        }
        guard own.leaves == nil else {
            throw CredentialError(.storeLocked, "this host, \(host), is leaving the group")
        }
        var state = State(records: records, epoch: epoch.number)
        // The cluster may have been restored since this process has looked first.
        try seal.keys.check(epoch)
        if let record = records.set { state.tokenSet = try seal.tokenSet(in: record) }
        if let record = records.intent { state.intent = try Intent(decoding: try seal.open(record)) }
        if let record = records.aside { state.aside = try SupersededIntents(decoding: try seal.open(record)) }
        return state
    }

    func put(
        _ set: TokenSet, at key: String, _ state: State
    ) throws(CredentialError) -> ClusterTransaction.Change {
        .put(key, try seal.seal(set.encoded(), at: key, epoch: state.epoch))
    }

    /// Has a transaction change the late answers, if `aside` differs from the stored ones.
    func put(
        _ aside: SupersededIntents, in transaction: inout ClusterTransaction, _ state: State, _ job: Job
    ) throws(CredentialError) {
        guard aside != state.aside else { return }
        let key = job.keys.aside
        transaction.expect(state.records.aside, at: key)
        transaction.changes.append(
            aside.isEmpty ? .remove(key) : .put(key, try seal.seal(aside.encoded, at: key, epoch: state.epoch)))
    }

    /// The digest of the refresh token of a policy; `nil` if there is no grant.
    func digest(of set: TokenSet, _ policy: String) throws(CredentialError) -> TokenDigest? {
        guard let grant = set.grants[policy] else { return nil }
        return try digest(of: grant)
    }

    func digest(of grant: Grant) throws(CredentialError) -> TokenDigest { try TokenDigest(of: grant, cryptography) }

    func busy(_ intent: Intent?) -> CredentialError {
        guard let intent else {
            return CredentialError(.temporary, "another host has changed the account meanwhile", hint: "try again")
        }
        return CredentialError(
            .temporary,
            "the host \(UntrustedText.shown(intent.host)) began to refresh the account, and the result is not "
                + "known yet"
        )
    }

    func signedOut(_ job: Job) -> CredentialError {
        CredentialError(.signInRequired, "the account \(job.keys.id) was signed out").asFinal
    }
}
