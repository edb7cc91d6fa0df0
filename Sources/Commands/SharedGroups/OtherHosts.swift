import CredentialCore

/// What other hosts do in the shared groups that are watched: it comes with the events of this one.
struct OtherHosts {
    private let session: Session
    /// The groups whose cluster could not be asked the last time; each failure is told once.
    private var failing: Set<KeychainGroup> = []

    /// How long it takes until what another host has done is seen, in milliseconds.
    private static let interval: Int64 = 2_000

    init(_ session: Session) { self.session = session }

    /// Takes over what has changed.
    ///
    /// - Returns: how long to wait before the next look, in milliseconds; `nil` for ever.
    mutating func look() throws(CredentialError) -> Int64? {
        let sharing = session.context.machine.sharing
        var isAnyShared = false
        for group in try session.groups() {
            do throws(CredentialError) {
                guard try sharing.isShared(group) else { continue }
                isAnyShared = true
                try sharing.catchUp(group, unlessWithin: 0)
                session.services(session.stores(mayPrompt: false)).takeUpAnswers(in: group)
                failing.remove(group)
            } catch {
                if failing.insert(group).inserted {
                    session.notices.warning("other hosts of group \(group) are not seen for now: \(error)")
                }
            }
        }
        return isAnyShared ? Self.interval : nil
    }
}
