import StrictJSON

/// Checks that lines of an audit log follow each other: numbers without a gap, and each `p` the digest of the line
/// before.
///
/// A log may begin after its first line, as retention removes lines from the beginning. A line that a crash has cut
/// is valid if the next whole line is a `start` whose `p` covers the cut one.
public struct AuditVerifier: Sendable {
    /// The place of a line.
    public struct Place: Sendable, Equatable {
        /// The path of the file.
        public let file: String
        /// The number of the line in the file, from 1.
        public let line: Int

        /// Names a place.
        public init(file: String, line: Int) {
            self.file = file
            self.line = line
        }
    }

    /// The fault of a line.
    public struct Fault: Error, Sendable, Equatable {
        /// The kind of a fault.
        public enum Kind: Sendable, Equatable {
            /// The line is not one that the log writes.
            case unreadable
            /// The number is not the next one.
            case number(expected: Int64, found: Int64)
            /// `p` is not the digest of the line before: a line was changed, inserted or removed.
            case chain
            /// The last line has no newline.
            case incomplete
        }

        /// The kind.
        public let kind: Kind
        /// The place.
        public let place: Place
    }

    private let sha256: @Sendable ([UInt8]) -> [UInt8]
    /// The number of whole lines that were checked.
    public private(set) var count: Int64 = 0
    /// The number of the last line; 0 before the first one.
    public private(set) var number: Int64 = 0
    /// The digest of the last line: the `p` of the next one.
    public private(set) var head = AuditLine.firstPrevious
    /// The number of lines from the first to the last one, cut lines counted.
    public private(set) var span: Int64 = 0
    private var isBeginning = true
    private var last: (line: [UInt8], place: Place)?
    /// The first of the cut lines that no `start` has covered yet.
    private var cut: Place?

    /// Makes a verifier.
    ///
    /// - Parameter sha256: the digest function.
    public init(sha256: @escaping @Sendable ([UInt8]) -> [UInt8]) { self.sha256 = sha256 }

    /// Takes the next line, without its newline.
    public mutating func take(_ line: [UInt8], at place: Place) throws(Fault) {
        defer { head = AuditLine.previous(of: line, sha256) }
        span += 1
        guard let links = AuditLinks(line) else {
            if cut == nil { cut = place }
            number += 1
            return
        }
        if cut != nil, !links.isStart { throw Fault(kind: .unreadable, place: cut ?? place) }
        // The lines before the first one may have been removed with all that they say of it.
        if isBeginning { number = links.number - 1 }
        guard links.number == number + 1 else {
            throw Fault(kind: .number(expected: number + 1, found: links.number), place: place)
        }
        guard isBeginning && cut == nil && links.number > 1 || links.previous == head else {
            throw Fault(kind: .chain, place: place)
        }
        isBeginning = false
        cut = nil
        count += 1
        number = links.number
        last = (line, place)
    }

    /// Ends the verification.
    ///
    /// - Parameters:
    ///   - rest: the bytes after the last newline.
    ///   - place: the place of `rest`.
    public mutating func end(rest: [UInt8], at place: Place) throws(Fault) {
        if !rest.isEmpty { throw Fault(kind: .incomplete, place: place) }
        if let cut { throw Fault(kind: .unreadable, place: cut) }
        // No later line covers the last one, so its text must at least be JSON.
        if let last, (try? JSONValue.parse(last.line)) == nil { throw Fault(kind: .unreadable, place: last.place) }
    }
}
