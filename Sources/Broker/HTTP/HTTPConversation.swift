package import CredentialCore

/// The metadata services of clouds, for SDKs that know only those: Google, Azure, Amazon, GitHub Actions.
package struct HTTPConversation: BrokerConversation {
    /// The facts of an entry's account that clouds tell.
    package struct Account: Sendable {
        /// The name that it signs in with; `nil` if that is unknown.
        package var username: String?
        /// The scopes of its type.
        package var scope: [String]

        /// Makes facts.
        package init(username: String?, scope: [String] = []) {
            self.username = username
            self.scope = scope
        }
    }

    private let configuration: @Sendable () -> BrokerConfiguration
    private let releaser: any TokenReleaser
    private let account: @Sendable (BrokerEntry) -> Account?
    private let clock: any WallClock
    private let time: any BootClock
    private let secret: Secret?
    private let refuse: @Sendable (_ reason: String, Caller) -> Void

    /// Makes the conversation of a broker with clouds.
    ///
    /// - Parameters:
    ///   - configuration: returns the configuration as it applies now.
    ///   - account: returns the account that an entry means now; `nil` if the entry has no account.
    ///   - refuse: receives, for the log, each request that is refused before the releaser is asked.
    ///   - secret: the secret of the relay's run; any value passes if it is `nil`, since the socket is then the
    ///     caller's own.
    package init(
        configuration: @escaping @Sendable () -> BrokerConfiguration, releaser: any TokenReleaser,
        account: @escaping @Sendable (BrokerEntry) -> Account?, clock: any WallClock, time: any BootClock,
        secret: Secret?, refuse: @escaping @Sendable (_ reason: String, Caller) -> Void
    ) {
        self.configuration = configuration
        self.releaser = releaser
        self.account = account
        self.clock = clock
        self.time = time
        self.secret = secret
        self.refuse = refuse
    }

    package func serve(_ connection: any BrokerConnection, first: [UInt8], caller: Caller) {
        var reader = HTTPHeadReader(connection: connection, time: time, buffer: first)
        do throws(HTTPHeadReader.End) {
            while let head = try reader.next() {
                let routes = CloudRoutes(
                    configuration: configuration(), releaser: releaser, account: account, clock: clock,
                    secret: secret, caller: caller, refuse: refuse)
                let reply = routes.reply(to: head)
                    .bytes(closes: !head.isPersistent, hasBody: head.method != "HEAD")
                guard write(reply, connection), head.isPersistent else { return }
            }
        } catch {
            // A client that is gone or too slow has no use for a reply.
            guard case .fault = error else { return }
            refuse(BrokerError.malformed.rawValue, caller)
            _ = write(HTTPReply.failure(BrokerFailure(.malformed)).bytes(closes: true), connection)
        }
    }

    /// Returns whether the client got the bytes.
    private func write(_ bytes: [UInt8], _ connection: any BrokerConnection) -> Bool {
        do throws(CredentialError) {
            try connection.write(bytes)
            return true
        } catch { return false }
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

    /// Returns the next head; `nil` at the end of the stream between two requests.
    mutating func next() throws(End) -> HTTPRequestHead? {
        if buffer.isEmpty, try !fill(milliseconds: Int(ConnectionTimes.idle)) { return nil }
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

    /// Reads more of a head that has begun.
    private mutating func more(since start: Int64) throws(End) {
        let left = Int(ConnectionTimes.head - (time.milliseconds - start))
        guard left > 0, try fill(milliseconds: left) else { throw .gone }
    }

    /// Returns whether bytes were read; `false` at the end of the stream.
    private mutating func fill(milliseconds: Int) throws(End) -> Bool {
        do throws(CredentialError) {
            let bytes = try connection.read(atMost: Self.piece, deadlineMilliseconds: milliseconds)
            buffer += bytes
            return !bytes.isEmpty
        } catch { throw .gone }
    }
}
