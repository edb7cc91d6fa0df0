package import CredentialCore
import Platform
import StrictJSON

/// The event logs of the groups: `events.jsonl` in each group's folder, one event per line.
package struct EventLogFile: EventLog {
    /// The log's file.
    static let name = "events.jsonl"
    /// The name of the file once it is full.
    static let rotatedName = "events.jsonl.1"

    /// The size in bytes from which a log is put away.
    private static let rotationSize: Int64 = 256 << 10
    /// How long to wait for another writer, in milliseconds. It holds the lock for one write.
    private static let patience: Int64 = 200

    private let folders: GroupFolders

    /// Keeps the logs of the groups in `folders`.
    package init(_ folders: GroupFolders) { self.folders = folders }

    package func follow(_ group: KeychainGroup?) throws(CredentialError) -> any EventFeed {
        try EventTailer(folders, group: group)
    }

    /// Adds an event; an event that cannot be written is dropped.
    package func append(_ event: AccountEvent) {
        guard let folder = try? folders.create(of: event.group) else { return }
        let line = JSONValue.object(event.json).bytes() + [0x0A]
        // A second round if the log was put away between opening and locking it, or was full.
        for _ in 0..<3 {
            guard let file = try? folder.openShared(Self.name, appending: true) else { return }
            // Locked, so that no line goes into a file that has been put away and that readers have left. If locks
            // do not work, a line at such a moment may go unseen.
            let isLocked = FileLock.wait(file, milliseconds: Self.patience) == 0
            if isLocked, !folder.isCurrent(file, Self.name) { continue }
            let size = file.size
            if isLocked, size > Self.rotationSize, (try? folder.rename(Self.name, to: Self.rotatedName)) != nil {
                continue
            }
            // A line that a crash or a full disk has cut would take this one with it.
            let isCut = size > 0 && file.read(1, at: size - 1) != [0x0A]
            _ = file.write(isCut ? [0x0A] + line : line)
            return
        }
    }
}
