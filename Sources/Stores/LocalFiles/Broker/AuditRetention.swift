import Broker
package import CredentialCore
package import Platform

/// The lines of an audit log that are kept: those of a time, within a size. The last line always stays, so that the
/// next one can refer to it.
package struct AuditRetention: Sendable {
    /// The age of the oldest line, in seconds.
    package var seconds: Int64
    /// The size of all files of a broker, in bytes.
    package var bytes: Int64

    /// Makes a retention; by default 90 days and 64 MB.
    package init(seconds: Int64 = 90 * 86_400, bytes: Int64 = 64_000_000) {
        self.seconds = seconds
        self.bytes = bytes
    }

    /// Removes the lines that are too old, then the oldest lines beyond the size. The caller holds the lock.
    ///
    /// - Parameters:
    ///   - folder: the directory of a broker's log.
    ///   - now: milliseconds since 1970-01-01T00:00:00Z.
    /// - Returns: the number of removed bytes.
    /// - Throws: ``ErrorCode/inputOutput``.
    package func apply(_ folder: borrowing PrivateDirectory, now: Int64) throws(CredentialError) -> Int64 {
        let cutoff = AuditTime.text(milliseconds: now - min(seconds, DurationText.longest * 100) * 1_000)
        var removed: Int64 = 0
        for name in try AuditFolder.names(folder) {
            let count = try removeBeginning(of: name, folder) { links, _ in links.time < cutoff }
            removed += count.removed
            // The first line that is kept ends the search: the later files are later in time.
            if count.isKept { break }
        }
        return try removed + limit(folder)
    }

    /// Removes the oldest lines until the files fit. A quarter goes at once, so that this is rare.
    private func limit(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> Int64 {
        var total: Int64 = 0
        let names = try AuditFolder.names(folder)
        for name in names { total += try folder.openExisting(name)?.size ?? 0 }
        guard total > bytes else { return 0 }
        var surplus = total - bytes / 4 * 3, removed: Int64 = 0
        for name in names where surplus > 0 {
            let count = try removeBeginning(of: name, folder) { $1 < surplus }
            removed += count.removed
            surplus -= count.removed
            if count.isKept { break }
        }
        return removed
    }

    /// The file with the last whole line, which carries the count on; `nil` for a log without a whole line.
    private func keeper(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> String? {
        for name in try AuditFolder.names(folder).reversed() {
            guard let file = try folder.openExisting(name) else { continue }
            var reader = LogLines(), offset: Int64 = 0
            while case let chunk = file.read(1 << 16, at: offset), !chunk.isEmpty {
                offset += Int64(chunk.count)
                if reader.take(chunk).contains(where: { AuditLinks($0) != nil }) { return name }
            }
        }
        return nil
    }

    /// Removes the first lines of a file while they are to go. The last whole line of the log stays, and the cut
    /// ones behind it.
    private func removeBeginning(
        of name: String, _ folder: borrowing PrivateDirectory, _ goes: (_ line: AuditLinks, _ offset: Int64) -> Bool
    ) throws(CredentialError) -> (removed: Int64, isKept: Bool) {
        guard let file = try folder.openExisting(name) else { return (0, false) }
        let size = file.size
        guard let keeper = try keeper(folder), name <= keeper else { return (0, true) }
        let isLast = name == keeper
        var reader = LogLines(), end: Int64 = 0, lastStart: Int64 = 0, offset: Int64 = 0, isKept = false
        search: while true {
            let chunk = file.read(1 << 16, at: offset)
            if chunk.isEmpty { break }
            offset += Int64(chunk.count)
            for line in reader.take(chunk) {
                let next = end + Int64(line.count) + 1
                // A cut line goes with the lines around it.
                let links = AuditLinks(line)
                if let links, !goes(links, end) {
                    isKept = true
                    break search
                }
                if links != nil { lastStart = end }
                end = next
            }
        }
        // A file whose lines all go is removed. Of the last file with a whole line, that line stays.
        if !isKept, isLast { end = lastStart }
        if !isKept, !isLast {
            try folder.remove(name)
            return (size, false)
        }
        if end == 0 { return (0, true) }
        try folder.removeBeginning(of: name, count: end)
        return (end, true)
    }
}

/// Splits the bytes that are read from a file into lines.
struct LogLines {
    /// The greatest length that is kept of one line, in bytes: a longer one is no line of a log.
    private static let limit = 1 << 16

    /// The bytes after the last newline.
    private(set) var rest: [UInt8] = []

    /// Takes the next bytes.
    ///
    /// - Returns: the lines that end in them, without their newlines.
    mutating func take(_ chunk: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var start = chunk.startIndex
        while let end = chunk[start...].firstIndex(of: 0x0A) {
            lines.append(rest.isEmpty ? Array(chunk[start..<end]) : rest + chunk[start..<end])
            rest = []
            start = end + 1
        }
        if rest.count < Self.limit { rest += chunk[start...] }
        return lines
    }
}
