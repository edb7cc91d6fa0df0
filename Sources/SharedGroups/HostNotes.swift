package import CredentialCore

/// What this host has written down of its own refreshes, synced: it outlives a crash, not the loss of the data folder.
///
/// "The same host" is the folder that holds the note; a cloned machine with the same key is another.
package protocol HostNotes: Sendable {
    /// What this host wrote down last of an account's intent.
    func intent(of account: String) throws(CredentialError) -> IntentNote?

    /// Writes down, synced, how far this host is with an intent.
    func note(_ note: IntentNote, of account: String) throws(CredentialError)

    /// An answer that is not known to be in the cluster, sealed; `nil` if there is none.
    func journal(of account: String) throws(CredentialError) -> [UInt8]?

    /// Keeps a sealed answer, synced.
    func keepJournal(_ entry: [UInt8], of account: String) throws(CredentialError)

    /// Forgets the answer, which is in the cluster now.
    func dropJournal(of account: String) throws(CredentialError)
}

/// How far a host is with one of its intents.
package struct IntentNote: Sendable, Hashable {
    /// Which one.
    package var nonce: IntentNonce
    /// Whether the refresh token may have left this host under it.
    package var maySend: Bool

    package init(nonce: IntentNonce, maySend: Bool) {
        self.nonce = nonce
        self.maySend = maySend
    }
}

/// What tells one intent from every other: 16 unpredictable bytes.
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
