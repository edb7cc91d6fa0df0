package import CredentialCore
import Platform

/// Follows the event logs of groups as they grow, in any process.
package final class EventTailer: EventFeed {
    /// How long to believe that no event has happened, in milliseconds.
    private static let pollInterval: Int64 = 2_000

    private let folders: GroupFolders
    private let group: KeychainGroup?
    private let watch: DirectoryWatcher
    private var followers: [String: LogTailer] = [:]
    private var waiting: [AccountEvent] = []

    /// Starts to follow: events that are in the logs now are not reported.
    ///
    /// - Parameter group: the one to follow; all, also those that appear later, for `nil`.
    /// - Throws: ``ErrorCode/inputOutput``.
    package init(_ folders: GroupFolders, group: KeychainGroup? = nil) throws(CredentialError) {
        watch = try DirectoryWatcher()
        self.folders = folders
        self.group = group
        if let group {
            _ = try folders.create(of: group)
            try follow(group, fromEnd: true)
        } else {
            let root = try folders.createRoot()
            try watch.add(root.path)
            for group in try folders.groups() { try follow(group, fromEnd: true) }
        }
    }

    /// The next event, waiting for it at most `timeout` milliseconds; for ever for `nil`.
    ///
    /// Events of one group come in the order of its log.
    ///
    /// - Returns: `nil` when no event came in time, or a signal came.
    /// - Throws: ``ErrorCode/inputOutput``.
    package func next(timeout: Int64? = nil) throws(CredentialError) -> AccountEvent? {
        let stopwatch = Stopwatch()
        while true {
            if waiting.isEmpty { try look() }
            if !waiting.isEmpty { return waiting.removeFirst() }
            let remaining = timeout.map { $0 - stopwatch.elapsed }
            if let remaining, remaining <= 0 { return nil }
            // If the file system reports no changes, as over a network, periodic polling must suffice.
            let outcome = watch.wait(milliseconds: min(remaining ?? Self.pollInterval, Self.pollInterval))
            if case .interrupted = outcome { return nil }
        }
    }

    private func look() throws(CredentialError) {
        if group == nil {
            for group in try folders.groups() where followers[group.name] == nil {
                try follow(group, fromEnd: false)
            }
        }
        for name in followers.keys.sorted() {
            guard let follower = followers[name], let folder = try folders.open(of: follower.group) else {
                continue
            }
            waiting += try follower.read(folder)
        }
    }

    private func follow(_ group: KeychainGroup, fromEnd: Bool) throws(CredentialError) {
        // A directory that another process has just removed cannot be followed.
        guard let folder = try folders.open(of: group) else { return }
        // The watch comes first: it notices all later writes.
        try watch.add(folder.path)
        let follower = LogTailer(group)
        if fromEnd { try follower.skip(folder) }
        followers[group.name] = follower
    }
}
