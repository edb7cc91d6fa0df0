package import CredentialCore
import StrictJSON

/// The metadata services of clouds, for SDKs that know only those: Google, Azure, Amazon, GitHub Actions.
///
/// A relay begins its connections with a line that names the secret of its run. Without that line any secret passes, since
/// the socket is then the caller's own.
package struct HTTPConversation: BrokerConversation {
    /// The configuration as it applies now.
    let configuration: @Sendable () -> BrokerConfiguration
    /// Releases the tokens.
    let releaser: any TokenReleaser
    /// The name that an entry's account signs in with; `nil` if it is unknown.
    let username: @Sendable (BrokerEntry) -> String?
    /// For the rest of a token's life.
    let clock: any WallClock
    /// For the time that a head may take.
    let time: any BootClock

    /// How long a client may take for a head or the first line, in milliseconds.
    static let headTime = 10_000
    /// How long a connection stays open without a request, in milliseconds.
    static let idleTime = 60_000

    /// Makes the conversation of a broker with clouds.
    package init(
        configuration: @escaping @Sendable () -> BrokerConfiguration, releaser: any TokenReleaser,
        username: @escaping @Sendable (BrokerEntry) -> String?, clock: any WallClock, time: any BootClock
    ) {
        self.configuration = configuration
        self.releaser = releaser
        self.username = username
        self.clock = clock
        self.time = time
    }

    /// Whether the first bytes of a connection are an HTTP method with its space. `CONNECT` is the proxy's.
    package static func isRequest(_ first: [UInt8]) -> Bool {
        guard let space = first.prefix(16).firstIndex(of: 0x20), space > 0 else { return false }
        let method = first[..<space]
        return method.allSatisfy { (0x41...0x5A).contains($0) } && !method.elementsEqual("CONNECT".utf8)
    }

    package func serve(_ connection: any BrokerConnection, first: [UInt8], caller: Caller) {
        var reader = HTTPHeadReader(connection: connection, time: time, buffer: first)
        do throws(HTTPHeadReader.End) {
            let secret = try viaSecret(&reader, connection)
            while let head = try reader.next() {
                let routes = CloudRoutes(
                    configuration: configuration(), releaser: releaser, username: username, now: clock.now,
                    secret: secret, caller: caller)
                try write(routes.reply(to: head).bytes(closes: !head.isPersistent), connection)
                if !head.isPersistent { return }
            }
        } catch {
            // A client that is gone or too slow has no use for a reply.
            guard case .fault = error else { return }
            try? connection.write(HTTPReply.failure(BrokerFailure(.malformed)).bytes(closes: true))
        }
    }

    private func viaSecret(
        _ reader: inout HTTPHeadReader, _ connection: any BrokerConnection
    ) throws(HTTPHeadReader.End) -> Secret? {
        guard try reader.begins(with: UInt8(ascii: "{")) else { return nil }
        let line = try reader.line(limit: ViaLine.limit)
        do throws(BrokerFailure) { return try ViaLine(line).secret } catch {
            // The line is of the other language, and so is the reply.
            let reply: JSONValue = [
                "ok": .bool(false), "error": .string(error.error.rawValue), "reason": JSONValue(error.reason),
                "exit": .integer(Int64(error.error.exitStatus)), "retry_after": .null,
            ]
            try write(reply.bytes() + [0x0A], connection)
            throw .gone
        }
    }

    private func write(_ bytes: [UInt8], _ connection: any BrokerConnection) throws(HTTPHeadReader.End) {
        do throws(CredentialError) { try connection.write(bytes) } catch { throw .gone }
    }
}

/// Reads heads from a connection, within the limits of size and time.
struct HTTPHeadReader {
    let connection: any BrokerConnection
    let time: any BootClock
    var buffer: [UInt8]

    /// The end of a connection that has no further request.
    enum End: Error, Equatable {
        /// The peer is gone or too slow.
        case gone
        /// The peer sent something else than a head.
        case fault
    }

    /// The most that is read at once, in bytes.
    private static let piece = 4 << 10

    /// Whether the connection begins with a byte.
    mutating func begins(with byte: UInt8) throws(End) -> Bool {
        if buffer.isEmpty, try !fill(milliseconds: HTTPConversation.headTime) { throw .gone }
        return buffer.first == byte
    }

    /// Returns the next head; `nil` at the end of the stream between two requests.
    mutating func next() throws(End) -> HTTPRequestHead? {
        if buffer.isEmpty, try !fill(milliseconds: HTTPConversation.idleTime) { return nil }
        let start = time.milliseconds
        var seen = 0
        while true {
            if let head = try complete(from: seen) { return head }
            seen = buffer.count
            try more(since: start)
        }
    }

    /// Takes a whole head out of the bytes that are there; `nil` if its end is missing.
    private mutating func complete(from seen: Int) throws(End) -> HTTPRequestHead? {
        do throws(HTTPHeadFault) {
            guard let length = try HTTPRequestHead.length(in: buffer, from: seen) else { return nil }
            let head = try HTTPRequestHead(buffer[..<length])
            buffer.removeFirst(length)
            return head
        } catch { throw .fault }
    }

    /// Returns the next line without its newline.
    mutating func line(limit: Int) throws(End) -> [UInt8] {
        let start = time.milliseconds
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                guard end <= limit else { throw .fault }
                let line = Array(buffer[..<end])
                buffer.removeFirst(end + 1)
                return line
            }
            guard buffer.count <= limit else { throw .fault }
            try more(since: start)
        }
    }

    /// Reads more of a head or line that has begun.
    private mutating func more(since start: Int64) throws(End) {
        let left = HTTPConversation.headTime - Int(time.milliseconds - start)
        guard left > 0, try fill(milliseconds: left) else { throw .gone }
    }

    /// Returns whether bytes were read; there are none at the end of the stream.
    private mutating func fill(milliseconds: Int) throws(End) -> Bool {
        do throws(CredentialError) {
            let bytes = try connection.read(atMost: Self.piece, deadlineMilliseconds: milliseconds)
            buffer += bytes
            return !bytes.isEmpty
        } catch { throw .gone }
    }
}
