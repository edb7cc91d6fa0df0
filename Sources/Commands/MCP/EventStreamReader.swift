package import CredentialCore

/// Reads server-sent events (WHATWG HTML §9.2.6) as they come, in pieces of any size; of each event only the data.
package struct EventStreamReader {
    /// The most that one event may have, in bytes: its data, and the line that is being read.
    private let limit: Int

    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var lastWasReturn = false

    /// Makes a reader.
    package init(limit: Int) { self.limit = limit }

    /// The data of the events that this piece completes.
    ///
    /// - Throws: ``ErrorCode/malformedReply`` for an event over the limit.
    package mutating func read(_ piece: [UInt8]) throws(CredentialError) -> [[UInt8]] {
        var events: [[UInt8]] = []
        for byte in piece {
            let isPair = lastWasReturn && byte == UInt8(ascii: "\n")
            lastWasReturn = byte == UInt8(ascii: "\r")
            if isPair { continue }
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                guard line.count + data.count < limit else {
                    throw CredentialError(
                        .malformedReply, "the server's message is larger than \(limit >> 20) MiB")
                }
                line.append(byte)
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    /// Takes a line; an empty one ends an event.
    private mutating func endLine() -> [UInt8]? {
        defer { line = [] }
        if line.isEmpty {
            defer { (data, hasData) = ([], false) }
            return hasData && !data.isEmpty ? data : nil
        }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        guard name.elementsEqual("data".utf8) else { return nil }
        var value = line.dropFirst(name.count + 1)
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        if hasData { data.append(UInt8(ascii: "\n")) }
        data += value
        hasData = true
        return nil
    }
}
