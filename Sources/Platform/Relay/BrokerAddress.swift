package import CredentialCore

/// The socket of a broker, as a relay connects to it again and again.
package struct BrokerAddress: Sendable {
    /// The path.
    package let path: String
    private let user: String?

    /// Names a socket.
    ///
    /// - Parameter user: `CREDMGR_SOCK_UID`.
    package init(_ path: String, user: String?) {
        self.path = path
        self.user = user
    }

    /// How long the relay's only thread waits for a place in the broker's queue, in milliseconds.
    private static let patience: Int32 = 5

    /// Connects, and checks the directory and the server's user.
    ///
    /// - Throws: as ``BrokerClientSocket/connect(to:user:)``.
    func connect() throws(CredentialError) -> StreamSocket {
        StreamSocket(
            try BrokerClientSocket.connect(to: path, user: user, milliseconds: Self.patience))
    }

    /// Sends a line and waits for its reply.
    ///
    /// - Parameter milliseconds: for how long to wait at most.
    /// - Returns: the reply without its newline.
    /// - Throws: as ``BrokerClientSocket/connect(to:user:)``; ``ErrorCode/temporary`` if there is no reply in time.
    package func ask(_ line: [UInt8], milliseconds: Int64) throws(CredentialError) -> [UInt8] {
        let watch = Stopwatch()
        let connection = try BrokerClientSocket.connect(to: path, user: user)
        try connection.write(line)
        var reply: [UInt8] = []
        while watch.elapsed < milliseconds, reply.count <= RelayErrand.limit {
            let left = milliseconds - watch.elapsed
            let bytes = try connection.read(atMost: 16 << 10, deadlineMilliseconds: Int(left))
            if bytes.isEmpty { break }
            reply += bytes
            if let end = reply.firstIndex(of: 0x0A) { return Array(reply[..<end]) }
        }
        throw CredentialError(.temporary, "the broker at \(CredentialError.shownPath(path)) does not reply")
    }
}
