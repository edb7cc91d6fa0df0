package import CredentialCore

/// The notes of this host about its own refreshes, synced: they outlive a crash, not the loss of the data folder.
///
/// "The same host" is the directory that holds the note; a cloned machine with the same key is another, also if the
/// directory was cloned with it.
package protocol IntentLog: Sendable {
    /// The last note of this host about an account's intent.
    func intent(of account: String) throws(CredentialError) -> IntentLogEntry?

    /// Writes down, synced, how far this host is with an intent. The notes of earlier intents that were certainly
    /// not sent stay: a transaction that got no answer may be applied later.
    func note(_ note: IntentLogEntry, of account: String) throws(CredentialError)

    /// Forgets an intent that was certainly not sent, and is taken away.
    func forget(_ nonce: IntentNonce, of account: String) throws(CredentialError)

    /// An answer that is not known to be in the cluster, sealed; `nil` if there is no such answer.
    func journal(of account: String) throws(CredentialError) -> [UInt8]?

    /// Keeps a sealed answer, synced.
    func keepJournal(_ entry: [UInt8], of account: String) throws(CredentialError)

    /// Forgets the answer, which is in the cluster now, and every intent: transactions of earlier intents cannot be
    /// applied any more.
    func dropJournal(of account: String) throws(CredentialError)
}

/// How far a host is with one of its intents.
package struct IntentLogEntry: Sendable, Hashable {
    /// Which one.
    package var nonce: IntentNonce
    /// Whether the refresh token may have left this host under it.
    package var maySend: Bool
    /// Whether a process is about to send it, unless that has ended: a process that finds this in a copy of the
    /// directory cannot know that.
    package var isUnderWay = false
    /// Earlier intents, all unsent.
    package var earlier: [IntentNonce] = []
    /// When the last one was recorded; `nil` for the time that was noted before.
    package var time: Timestamp?

    package init(nonce: IntentNonce, maySend: Bool, time: Timestamp? = nil) {
        self.nonce = nonce
        self.maySend = maySend
        self.time = time
    }

    /// That of a process that is about to record an intent, and to send.
    static func underWay(_ nonce: IntentNonce, _ time: Timestamp) -> IntentLogEntry {
        var note = IntentLogEntry(nonce: nonce, maySend: false, time: time)
        note.isUnderWay = true
        return note
    }

    /// Whether all leases that belong to it have ended long ago.
    func isOld(_ now: Timestamp) -> Bool {
        time.map { abs(now.seconds(since: $0)) >= 4 * SharedRefresh.leaseSeconds } ?? true
    }

    /// The intents that were certainly not sent.
    var unsent: [IntentNonce] { maySend ? earlier : earlier + [nonce] }
}

/// A value that distinguishes one intent from every other: 16 unpredictable bytes.
package struct IntentNonce: Sendable, Hashable {
    /// The bytes.
    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    /// A new one.
    package init(_ random: any RandomSource) { bytes = random.bytes(Self.size) }

    private static let size = 16
}
