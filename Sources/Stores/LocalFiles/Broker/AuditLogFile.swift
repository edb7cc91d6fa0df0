package import Broker
package import CredentialCore
import Platform
import Synchronization

/// Writes the audit log of one broker. Several processes may write the same log, as `exec --broker` does beside
/// `serve`.
package final class AuditLogFile: AuditWriter {
    /// The bytes of a tag.
    private static let tagSize = 8
    /// How long a line may be in memory of the kernel alone, in milliseconds.
    private static let syncDelay: Int64 = 800
    /// The number of lines after which retention applies again.
    private static let retentionInterval: Int64 = 4_096

    private let broker: String
    private let stateHome: String
    private let key: MachineKey
    private let time: @Sendable () -> Int64
    private let copy: (@Sendable (String) -> Void)?
    private let synced: (@Sendable (String) -> Void)?
    private let retention: AuditRetention
    private let state = Mutex(State())

    private struct State {
        var place: AuditPlace?
        var file: OpenLogFile?
        var end = AuditFolder.End()
        var isSyncing = false
        var linesUntilRetention: Int64 = 0
    }

    /// Prepares a log; it opens no file.
    ///
    /// - Parameters:
    ///   - broker: the name of the broker.
    ///   - stateHome: `$XDG_STATE_HOME`.
    ///   - random: makes the installation key if it does not exist.
    ///   - time: milliseconds since 1970-01-01T00:00:00Z.
    ///   - retention: the lines that are kept.
    ///   - copy: receives each line after it is written, as for the system journal.
    ///   - synced: receives the path of each file that was made durable.
    package init(
        broker: String, stateHome: String, random: any RandomSource = SystemRandom(),
        time: @escaping @Sendable () -> Int64 = { SystemTime.sinceEpoch },
        retention: AuditRetention = AuditRetention(), copy: (@Sendable (String) -> Void)? = nil,
        synced: (@Sendable (String) -> Void)? = nil
    ) {
        self.broker = broker
        self.stateHome = stateHome
        self.time = time
        self.copy = copy
        self.synced = synced
        self.retention = retention
        key = MachineKey("audit.key", in: ["credmgr"], below: stateHome, random: random)
    }

    package func write(_ event: AuditEvent) throws(CredentialError) {
        var tag: String?
        if let token = event.token { tag = try self.tag(of: token) }
        let lines = try state.withLock { [tag] (state) throws(CredentialError) in
            try write(event, tag, &state)
        }
        if let copy {
            for line in lines { copy(String(decoding: line, as: UTF8.self)) }
        }
    }

    /// Makes the written lines durable: for the end of a broker.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/temporary``.
    package func sync() throws(CredentialError) {
        try state.withLock { (state) throws(CredentialError) in try makeDurable(state.file) }
    }

    // MARK: Lines

    private func write(_ event: AuditEvent, _ tag: String?, _ state: inout State) throws(CredentialError)
        -> [[UInt8]]
    {
        let place: AuditPlace
        if let open = state.place {
            place = open
        } else {
            place = try AuditPlace(creating: broker, below: stateHome)
        }
        state.place = place
        return try place.whileLocked { () throws(CredentialError) in
            let now = time()
            let file = try prepare(place, at: now, &state)
            var lines: [[UInt8]] = []
            // The line that follows a cut one is a start: its digest covers the cut line.
            if state.end.needsStart, event.what != .start {
                let start = AuditEvent(.start, reason: "incomplete_line")
                lines.append(try append(start, nil, now, file, &state))
            }
            lines.append(try append(event, tag, now, file, &state))
            if event.what == .deny || event.what == .answer || event.what == .stop {
                try makeDurable(state.file)
            } else {
                try scheduleSync(&state)
            }
            return lines
        }
    }

    /// Opens the file of this month, and reads the end of the log if another process has changed it.
    private func prepare(_ place: AuditPlace, at now: Int64, _ state: inout State) throws(CredentialError)
        -> OpenLogFile
    {
        let month = AuditFolder.name(ofMonth: AuditTime.month(milliseconds: now))
        // After the clock went back, lines stay in the latest file.
        let name = max(month, state.end.name ?? month)
        if let file = state.file, name == state.end.name, file.size == state.end.size,
            place.isCurrent(file, name)
        {
            if state.linesUntilRetention > 0 { return file }
        }
        let previous = state.file
        state.file = nil
        // The sync that is due is of the file that is open then.
        if state.isSyncing, name != state.end.name, let previous { try makeDurable(previous) }
        if state.linesUntilRetention <= 0 || name != state.end.name {
            state.linesUntilRetention = Self.retentionInterval
            _ = try retention.apply(place.folder, now: now)
        }
        state.end = try AuditFolder.end(place.folder)
        if state.end.hasNoNewline, let last = state.end.name {
            // The newline goes into the file of the cut line, also if the next line goes into another one.
            let file = try OpenLogFile(place.folder, last)
            try file.append([0x0A])
            state.end.size += 1
            state.end.hasNoNewline = false
        }
        let target = max(month, state.end.name ?? month)
        let file = try OpenLogFile(place.folder, target)
        if target != state.end.name {
            place.folder.syncNames()
            state.end.name = target
            state.end.size = file.size
        }
        state.file = file
        return file
    }

    private func append(
        _ event: AuditEvent, _ tag: String?, _ now: Int64, _ file: OpenLogFile, _ state: inout State
    ) throws(CredentialError) -> [UInt8] {
        let line = AuditLine(
            event, broker: broker, number: state.end.number + 1, time: now, tag: tag, previous: state.end.digest
        ).bytes
        do throws(CredentialError) {
            try file.append(line + [0x0A])
        } catch {
            // Without the file, the next write reads the end again, and finds the bytes that the disk has accepted.
            state.file = nil
            throw error
        }
        state.end.number += 1
        state.end.digest = AuditFolder.digest(line)
        state.end.size += Int64(line.count) + 1
        state.end.needsStart = false
        state.linesUntilRetention -= 1
        return line
    }

    private func tag(of token: Secret) throws(CredentialError) -> String {
        guard let code = key.code(of: Array(token.reveal().utf8), makesKey: true) else {
            try key.check()
            throw CredentialError(.inputOutput, "cannot write the key of the audit log")
        }
        return AuditLine.hexadecimal(code.prefix(Self.tagSize))
    }

    // MARK: Durability

    private func scheduleSync(_ state: inout State) throws(CredentialError) {
        if state.isSyncing { return }
        state.isSyncing = true
        do throws(CredentialError) {
            try DeadlineThread.start { [self] in
                SystemTime.pause(milliseconds: Self.syncDelay)
                syncLater()
            }
        } catch {
            // Without a thread, the line is synced at once.
            state.isSyncing = false
            try makeDurable(state.file)
        }
    }

    /// Syncs outside of the lock, so that writers do not wait for the disk. After a failure, the next write opens
    /// the file again, and reports a failure that persists.
    private func syncLater() {
        let file = state.withLock { state in
            state.isSyncing = false
            return state.file
        }
        guard let file else { return }
        do throws(CredentialError) { try makeDurable(file) } catch { state.withLock { $0.file = nil } }
    }

    private func makeDurable(_ file: OpenLogFile?) throws(CredentialError) {
        guard let file else { return }
        try file.sync()
        synced?(file.path)
    }
}

/// A file of the log, open for appending.
final class OpenLogFile: Sendable {
    /// The path.
    let path: String
    private let file: FileDescriptor

    init(_ folder: borrowing PrivateDirectory, _ name: String) throws(CredentialError) {
        path = folder.path(of: name)
        file = try folder.openShared(name, appending: true)
    }

    /// The size in bytes.
    var size: Int64 { file.size }

    /// Whether `name` still leads to this file.
    func isCurrent(in folder: borrowing PrivateDirectory, _ name: String) -> Bool { folder.isCurrent(file, name) }

    /// Appends bytes in one write.
    ///
    /// - Throws: ``ErrorCode/temporary`` if the disk is full; ``ErrorCode/inputOutput``.
    func append(_ bytes: [UInt8]) throws(CredentialError) {
        switch file.append(bytes) {
        case .done: return
        case .failed(let number), .partial(let number): throw FileDescriptor.appendFailure(path, number)
        }
    }

    /// Makes the content durable.
    func sync() throws(CredentialError) {
        let failure = file.syncContent()
        if failure != 0 { throw FileDescriptor.appendFailure(path, failure) }
    }
}
