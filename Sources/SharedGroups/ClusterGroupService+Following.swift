package import CredentialCore
import Synchronization

// The changes of other hosts, as they happen: a list, and from its moment on the changes that the cluster reports.
extension ClusterGroupService {
    /// How long to wait after a failure, in milliseconds: twice as long each time, up to the last.
    private static let firstPause: Int64 = 500
    private static let lastPause: Int64 = 15_000
    /// How often it is looked whether anybody still waits, in milliseconds.
    private static let turn: Int64 = 250

    package func follow(_ group: KeychainGroup, _ following: WatchRequest) {
        var pause = Self.firstPause, isLost = false
        while following.isWanted() {
            do throws(CredentialError) {
                guard let link = try link(group) else { return }
                let revision = try takeAll(link).revision
                isLost = false
                following.tell(nil)
                try ReplicaUpdater(self, link, following).follow(after: revision)
                pause = Self.firstPause
            } catch {
                if !isLost { following.tell(error) }
                isLost = true
                for _ in stride(from: 0, to: pause, by: Int64.Stride(Self.turn)) where following.isWanted() {
                    parts.pause(Self.turn)
                }
                pause = min(2 * pause, Self.lastPause)
            }
        }
    }

    // MARK: What this host has changed itself

    private static let ownPrefix = "own-"
    /// The size of the bytes that distinguish one sealed record from every other: its head and its nonce.
    private static let ownSize = 21

    /// Notes the value that this host is about to put, whose change it reports itself. A change that cannot be
    /// noted is reported twice.
    func noteOwn(_ value: [UInt8], of id: String, _ group: KeychainGroup) {
        try? parts.files.write(Array(value.prefix(Self.ownSize)), to: Self.ownPrefix + id, of: group)
    }

    /// Whether this host has put a record itself.
    func isOwn(_ value: [UInt8], of id: String, _ group: KeychainGroup) throws(CredentialError) -> Bool {
        try parts.files.read(Self.ownPrefix + id, of: group) == Array(value.prefix(Self.ownSize))
    }

    /// Forgets the notes about an account that is gone.
    func forgetOwn(_ id: String, _ group: KeychainGroup) throws(CredentialError) {
        try parts.files.remove(Self.ownPrefix + id, of: group)
    }
}

/// Takes over the changes of one stream.
///
/// An account is taken over under its lock on this host: a process that changes the account here has the lock, and
/// reports the change itself.
private final class ReplicaUpdater: Sendable {
    private let sharing: ClusterGroupService
    private let link: GroupConnection
    private let following: WatchRequest
    private let state = Mutex(State())

    private struct State {
        /// The newest change of each account that was not taken over yet.
        var waiting: [String: ClusterChange] = [:]
        var failure: CredentialError?
        /// Whether the group is one of this machine alone by now.
        var isLeft = false
    }

    init(_ sharing: ClusterGroupService, _ link: GroupConnection, _ following: WatchRequest) {
        self.sharing = sharing
        self.link = link
        self.following = following
    }

    /// Follows until no caller wants it any more, or all is to be listed again.
    func follow(after revision: Int64) throws(CredentialError) {
        try link.cluster.follow(
            link.path, after: revision,
            isWanted: { [self] in following.isWanted() && takeWaiting() },
            take: { [self] changes in
                for change in changes {
                    // The list shows the hosts of the group and the group's key.
                    if isOfGroup(change.record.key) { return false }
                    guard let id = link.account(ofSet: change.record.key) else { continue }
                    state.withLock { $0.waiting[id] = change }
                }
                return takeWaiting()
            })
        if let failure = state.withLock(\.failure) { throw failure }
    }

    private func isOfGroup(_ key: String) -> Bool {
        let membership = link.membership
        return [membership.groupKey, membership.epochKey, membership.hostKey(link.backend.host)].contains(key)
    }

    /// - Returns: whether it can go on.
    private func takeWaiting() -> Bool {
        for (id, change) in state.withLock({
            $0.waiting.sorted { $0.value.record.revision < $1.value.record.revision }
        }) {
            let isDone = following.alone(id) {
                do throws(CredentialError) {
                    // A host that has left the group has taken its accounts along; accounts that the cluster
                    // forgets afterwards are not the host's.
                    let isShared = try sharing.backend(of: link.group) == link.backend
                    if isShared { try take(change, of: id) } else { state.withLock { $0.isLeft = true } }
                } catch {
                    // A record that others have damaged, or a newer version has written, hurts its account only,
                    // and doctor tells.
                    guard error.code != .storeDamaged, error.code != .unsupported else { return }
                    state.withLock { $0.failure = error }
                }
            }
            state.withLock { if isDone, $0.waiting[id] == change { $0.waiting[id] = nil } }
        }
        return state.withLock { $0.failure == nil && !$0.isLeft }
    }

    private func take(_ change: ClusterChange, of id: String) throws(CredentialError) {
        // A copy that another process of this host has made meanwhile is newer.
        if let copied = try sharing.revision(ofCopy: id, link.group), copied >= change.record.revision { return }
        if change.isRemoval { return try sharing.forgetCopy(id, link.group, tells: true) }
        let isOwn = try sharing.isOwn(change.record.value, of: id, link.group)
        try sharing.copy(change.record, id, link, tells: !isOwn)
    }
}
