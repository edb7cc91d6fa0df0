package import Broker
package import CredentialCore
import Platform
import Sodium
import Synchronization

/// The audit logs below `$XDG_STATE_HOME/credmgr/audit`.
package final class AuditLogFiles: AuditLogs {
    private let stateHome: String
    private let time: @Sendable () -> Int64
    private let watch = Mutex<LogWatch?>(nil)

    /// Names the directory; it does not open it.
    package init(stateHome: String, time: @escaping @Sendable () -> Int64 = { SystemTime.sinceEpoch }) {
        self.stateHome = stateHome
        self.time = time
    }

    package func brokers() throws(CredentialError) -> [String] {
        guard let folder = try PrivateDirectory.open(["credmgr", "audit"], below: stateHome) else { return [] }
        var names: [String] = []
        for name in try folder.names() where Identifier.isValid(name) {
            if let log = try PrivateDirectory.open(AuditFolder.components(name), below: stateHome),
                try !AuditFolder.names(log).isEmpty
            {
                names.append(name)
            }
        }
        return names
    }

    package func lines(of broker: String) throws(CredentialError) -> any AuditLines {
        AuditLineReader(broker, below: stateHome)
    }

    package func verify(_ broker: String) throws(CredentialError) -> AuditVerifier {
        var verifier = AuditVerifier { SHA256.digest($0) }
        // The files as they are now: a writer that adds lines meanwhile, or removes old ones, does not change the
        // result.
        for (file, size) in try snapshot(of: broker) {
            var reader = LogLines(), line = 0, offset: Int64 = 0
            do {
                while offset < size {
                    let chunk = file.read(Int(min(1 << 18, size - offset)), at: offset)
                    if chunk.isEmpty { break }
                    offset += Int64(chunk.count)
                    for text in reader.take(chunk) {
                        line += 1
                        try verifier.take(text, at: AuditVerifier.Place(file: file.path, line: line))
                    }
                }
                if !reader.rest.isEmpty {
                    try verifier.end(
                        rest: reader.rest, at: AuditVerifier.Place(file: file.path, line: line + 1))
                }
            } catch {
                throw Self.error(error)
            }
        }
        do {
            try verifier.end(rest: [], at: AuditVerifier.Place(file: "", line: 0))
        } catch {
            throw Self.error(error)
        }
        return verifier
    }

    package func head(of broker: String) throws(CredentialError) -> (number: Int64, digest: String) {
        guard let place = try place(of: broker) else { return (0, AuditLine.firstPrevious) }
        let end = try place.whileLocked { () throws(CredentialError) in try AuditFolder.end(place.folder) }
        return (end.number, end.digest)
    }

    package func prune(_ broker: String, olderThan seconds: Int64?) throws(CredentialError) -> Int64 {
        guard let place = try place(of: broker) else { return 0 }
        let retention = seconds.map { AuditRetention(seconds: $0, bytes: .max / 4) } ?? AuditRetention()
        return try place.whileLocked { () throws(CredentialError) in
            try retention.apply(place.folder, now: time())
        }
    }

    package func remove(_ broker: String) throws(CredentialError) {
        guard let place = try place(of: broker) else { return }
        try place.whileLocked { () throws(CredentialError) in
            for name in try AuditFolder.names(place.folder) { try place.folder.remove(name) }
            place.folder.syncNames()
        }
    }

    package func wait(milliseconds: Int64) throws(CredentialError) -> Bool {
        try watch.withLock { (watch) throws(CredentialError) in
            let current: LogWatch
            if let open = watch { current = open } else { current = try LogWatch() }
            watch = current
            let root = try PrivateDirectory.create(["credmgr", "audit"], below: stateHome)
            try current.add(root.path)
            for name in try brokers() { try current.add(root.path(of: name)) }
            return current.wait(milliseconds: milliseconds)
        }
    }

    private func place(of broker: String) throws(CredentialError) -> AuditPlace? {
        guard let folder = try PrivateDirectory.open(AuditFolder.components(broker), below: stateHome) else {
            return nil
        }
        return try AuditPlace(folder)
    }

    private func snapshot(of broker: String) throws(CredentialError) -> [(file: LogFileView, size: Int64)] {
        guard let place = try place(of: broker) else { return [] }
        return try place.whileLocked { () throws(CredentialError) in
            var views: [(LogFileView, Int64)] = []
            for name in try AuditFolder.names(place.folder) {
                guard let view = try LogFileView(place.folder, name) else { continue }
                views.append((view, view.size))
            }
            return views
        }
    }

    private static func error(_ fault: AuditVerifier.Fault) -> CredentialError {
        let cause: LocalizedMessage =
            switch fault.kind {
            case .unreadable: "the line is not readable"
            case .number(let expected, let found): "expected line number \(expected) but got \(found)"
            case .chain: "the line before was changed, added or removed"
            case .incomplete: "the last line is incomplete"
            }
        let place = UntrustedText.shown(fault.place.file, limit: 4_096)
        return CredentialError(
            .problemsFound, "the audit log is not valid: \(place):\(fault.place.line): \(cause)",
            hint: fault.kind == .incomplete ? "start the broker: its next line covers the incomplete one" : nil)
    }
}

/// A watch for changes of the logs.
private final class LogWatch: Sendable {
    private let watcher: DirectoryWatcher

    init() throws(CredentialError) { watcher = try DirectoryWatcher() }

    func add(_ path: String) throws(CredentialError) { try watcher.add(path) }

    func wait(milliseconds: Int64) -> Bool {
        if case .interrupted = watcher.wait(milliseconds: milliseconds) { return false }
        return true
    }
}

/// A file of a log, open for reading.
private final class LogFileView: Sendable {
    let path: String
    let name: String
    private let file: FileDescriptor

    init?(_ folder: borrowing PrivateDirectory, _ name: String) throws(CredentialError) {
        guard let file = try folder.openExisting(name) else { return nil }
        self.file = file
        self.name = name
        path = folder.path(of: name)
    }

    var size: Int64 { file.size }

    func read(_ count: Int, at offset: Int64) -> [UInt8] { file.read(count, at: offset) }

    func isCurrent(in folder: borrowing PrivateDirectory) -> Bool { folder.isCurrent(file, name) }
}

/// Reads a log file by file, and continues after the last line that it has read.
private final class AuditLineReader: AuditLines {
    private let broker: String
    private let stateHome: String
    private var view: LogFileView?
    private var offset: Int64 = 0
    private var lines = LogLines()
    private var ready: ArraySlice<[UInt8]> = []
    /// The number of the last line that was given; a file that retention has replaced is read again from its
    /// beginning.
    private var number: Int64 = 0
    private var rereads = false

    init(_ broker: String, below stateHome: String) {
        self.broker = broker
        self.stateHome = stateHome
    }

    func next() throws(CredentialError) -> [UInt8]? {
        while true {
            while let line = ready.popFirst() {
                let found = AuditLinks(line)?.number
                if rereads, let found, found <= number { continue }
                if let found { number = found }
                return line
            }
            if let view {
                let chunk = view.read(1 << 16, at: offset)
                if !chunk.isEmpty {
                    offset += Int64(chunk.count)
                    ready = lines.take(chunk)[...]
                    continue
                }
            }
            if try !open() { return nil }
        }
    }

    /// Opens the file that comes next.
    ///
    /// - Returns: whether there is one.
    private func open() throws(CredentialError) -> Bool {
        guard let folder = try PrivateDirectory.open(AuditFolder.components(broker), below: stateHome) else {
            return false
        }
        let names = try AuditFolder.names(folder)
        let isReplaced = view.map { !$0.isCurrent(in: folder) && names.contains($0.name) } ?? false
        guard
            let name = isReplaced
                ? view?.name : names.first(where: { name in view.map { name > $0.name } ?? true }),
            let next = try LogFileView(folder, name)
        else { return false }
        rereads = isReplaced
        view = next
        offset = 0
        lines = LogLines()
        return true
    }
}
