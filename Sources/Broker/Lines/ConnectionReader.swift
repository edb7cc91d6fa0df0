import CredentialCore

/// Reads a connection by lines and pieces, each within a time.
struct ConnectionReader {
    /// The result of the search for a line.
    enum Line: Equatable {
        /// A line without its newline.
        case line([UInt8])
        /// The end of the stream, with the bytes before it.
        case end([UInt8])
        /// More bytes than a line may have.
        case tooLong
        /// The time is over, or the connection is broken.
        case late
    }

    private let connection: any BrokerConnection
    private let clock: any BootClock
    /// The bytes that are read but not used.
    private(set) var buffer: [UInt8]
    /// The place in the buffer that the search for a newline has reached.
    private var searched = 0

    init(_ connection: any BrokerConnection, first: [UInt8], clock: any BootClock) {
        self.connection = connection
        self.clock = clock
        buffer = first
    }

    /// Takes all bytes that are read but not used.
    mutating func takeAll() -> [UInt8] {
        defer {
            buffer = []
            searched = 0
        }
        return buffer
    }

    /// Reads more bytes.
    ///
    /// - Parameter end: when to give up, by the clock.
    /// - Returns: whether there are any; `nil` if the time is over or the connection is broken.
    mutating func readMore(until end: Int64) -> Bool? {
        let left = end - clock.milliseconds
        guard left > 0 else { return nil }
        do throws(CredentialError) {
            let bytes = try connection.read(atMost: 1 << 14, deadlineMilliseconds: Int(left))
            buffer += bytes
            return !bytes.isEmpty
        } catch { return nil }
    }

    /// Reads up to the next newline.
    mutating func line(limit: Int, until end: Int64) -> Line {
        while true {
            if let place = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[..<place])
                buffer.removeFirst(place + 1)
                searched = 0
                return line.count > limit ? .tooLong : .line(line)
            }
            searched = buffer.count
            if buffer.count > limit { return .tooLong }
            switch readMore(until: end) {
            case true?: continue
            case false?: return .end(takeAll())
            case nil: return .late
            }
        }
    }
}

/// The times of a connection, in milliseconds.
enum ConnectionTimes {
    /// For a complete first line or head.
    static let head: Int64 = 10_000
    /// Between two requests.
    static let idle: Int64 = 60_000
}
