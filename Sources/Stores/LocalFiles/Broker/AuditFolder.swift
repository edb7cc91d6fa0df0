import Broker
import CredentialCore
import Platform
import Sodium

/// The files of one broker's audit log: `YYYY-MM.jsonl` in `$XDG_STATE_HOME/credmgr/audit/NAME`, and a lock.
enum AuditFolder {
    static let lockName = "lock"
    private static let suffix = ".jsonl"
    /// How long to wait for a writer or a reader, in milliseconds. Each holds the lock for one write or one look.
    static let patience: Int64 = 5_000
    /// The tail of a file that is searched for the last whole line, in bytes.
    private static let tailSize = 256 << 10

    /// The components of the directory below `$XDG_STATE_HOME`.
    static func components(_ broker: String) -> [String] { ["credmgr", "audit", broker] }

    /// The name of the file of a month.
    static func name(ofMonth month: String) -> String { month + suffix }

    /// The month of a file; `nil` for another file.
    static func month(ofName name: String) -> String? {
        guard name.hasSuffix(suffix) else { return nil }
        let month = name.dropLast(suffix.utf8.count), bytes = Array(month.utf8)
        guard bytes.count == 7, bytes[4] == UInt8(ascii: "-") else { return nil }
        return bytes.enumerated().allSatisfy { $0 == 4 || (0x30...0x39).contains($1) } ? String(month) : nil
    }

    /// The names of the files, the earliest month first.
    static func names(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> [String] {
        try folder.names().filter { month(ofName: $0) != nil }
    }

    static func digest(_ line: [UInt8]) -> String { AuditLine.previous(of: line) { SHA256.digest($0) } }

    /// The end of a log.
    struct End: Sendable, Equatable {
        /// The number of the last line, cut lines counted; 0 for a log without lines.
        var number: Int64 = 0
        /// The digest of the last line, cut or not.
        var digest = AuditLine.firstPrevious
        /// The file with the last line; `nil` for a log without lines.
        var name: String?
        /// Whether the last line has no newline.
        var hasNoNewline = false
        /// Whether the last line is cut: the next line must be a start.
        var needsStart = false
        /// The size of the file with the last line.
        var size: Int64 = 0
    }

    /// Reads the end of the log.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/storeDamaged`` if the end of a file has no whole line.
    static func end(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> End {
        // A file without a whole line leaves the count to the file before: cut lines are rare, so this ends soon.
        var cut: [[UInt8]] = [], result = End()
        for name in try names(folder).reversed() {
            guard let file = try folder.openExisting(name), case let size = file.size, size > 0 else { continue }
            let start = max(0, size - Int64(tailSize))
            var tail = file.read(tailSize, at: start)
            if result.name == nil {
                result.name = name
                result.size = size
                result.hasNoNewline = tail.last != 0x0A
                result.needsStart = result.hasNoNewline
            }
            if tail.last == 0x0A { tail.removeLast() }
            var lines = tail.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
            // The first one began before the tail.
            if start > 0 { lines.removeFirst() }
            while let line = lines.popLast() {
                if let links = AuditLinks(line) {
                    result.number = links.number + Int64(cut.count)
                    result.digest = digest(cut.first ?? line)
                    return result
                }
                result.needsStart = true
                cut.append(line)
            }
            if start > 0 {
                throw CredentialError(
                    .storeDamaged, "the audit log \(UntrustedText.shown(folder.path(of: name), limit: 4_096)) is damaged",
                    hint: "credmgr audit verify")
            }
        }
        result.number = Int64(cut.count)
        if let last = cut.first { result.digest = digest(last) }
        return result
    }
}

/// The directory of one broker's log, and its lock, which readers, writers and `audit prune` share.
final class AuditPlace: Sendable {
    let folder: PrivateDirectory
    private let lock: FileDescriptor

    /// Opens the directory, and makes it if it is missing.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    convenience init(creating broker: String, below stateHome: String) throws(CredentialError) {
        try self.init(try PrivateDirectory.create(AuditFolder.components(broker), below: stateHome))
    }

    /// Takes over an open directory.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    init(_ folder: consuming PrivateDirectory) throws(CredentialError) {
        lock = try folder.openShared(AuditFolder.lockName, appending: false)
        self.folder = folder
    }

    /// Does work under the lock. The lock belongs to this object: a second thread must not use it at the same time.
    ///
    /// - Throws: ``ErrorCode/temporary`` if another process holds the lock for too long.
    func whileLocked<Result>(_ body: () throws(CredentialError) -> Result) throws(CredentialError) -> Result {
        guard FileLock.wait(lock, milliseconds: AuditFolder.patience) == 0 else {
            throw CredentialError(
                .temporary, "the audit log \(UntrustedText.shown(folder.path, limit: 4_096)) is locked",
                hint: "credmgr audit verify")
        }
        defer { lock.unlock() }
        return try body()
    }

    /// Whether `name` leads to the open file.
    func isCurrent(_ file: OpenLogFile, _ name: String) -> Bool { file.isCurrent(in: folder, name) }
}
