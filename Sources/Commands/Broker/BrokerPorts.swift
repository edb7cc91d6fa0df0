package import Broker
package import CredentialCore

/// The sockets of brokers on this machine.
package protocol BrokerHost: Sendable {
    /// The path of an instance's socket: `NAME`, or `NAME.PID` for `exec --broker`. It is the one that a server
    /// listens at, else the usual one.
    func socketPath(of instance: String) -> String

    /// The instances that are served, with their processes.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func running() throws(CredentialError) -> [(instance: String, process: Int32)]

    /// Ends an instance, and waits until it releases no token any more. The usual socket goes, too, also without a
    /// server: systemd may wait there for a connection.
    ///
    /// - Returns: whether it was served.
    /// - Throws: ``ErrorCode/temporary`` if it does not end within 10 s.
    func stop(_ instance: String) throws(CredentialError) -> Bool

    /// Opens the socket of an instance; a server on it does not accept connections before it runs.
    ///
    /// - Throws: ``ErrorCode/temporary`` with the process if another server has the instance;
    ///   ``ErrorCode/storeUnavailable`` if others can write the socket's directory.
    func open(_ plan: BrokerPlan) throws(CredentialError) -> any BrokerServer

    /// Whether systemd has passed a socket to this process.
    var hasPassedSocket: Bool { get }

    /// Blocks the signals that end a server. Call it before the first thread.
    func blockSignals()

    /// Sends a line to the broker of a sandbox, after the checks of directory and user, and returns the reply.
    ///
    /// - Parameters:
    ///   - path: `CREDMGR_SOCK`.
    ///   - user: `CREDMGR_SOCK_UID`.
    ///   - seconds: how long the reply may take.
    /// - Throws: ``ErrorCode/denied`` if others can write the directory, or if the server's user is another;
    ///   ``ErrorCode/temporary`` if no server is there, or without a reply in time.
    func ask(
        _ line: [UInt8], at path: String, user: String?, seconds: Int
    ) throws(CredentialError) -> [UInt8]

    /// This process.
    var process: Int32 { get }

    /// This process's user.
    var user: UInt32 { get }

    /// The network namespace, as `readlink /proc/self/ns/net` prints it.
    var networkNamespace: String? { get }
}

/// How an instance is to be served.
package struct BrokerPlan: Sendable {
    /// The instance.
    package var instance: String
    /// The path of the socket; `nil` for the usual one.
    package var path: String?
    /// Whether the directory goes with the server.
    package var isTemporary = false
    /// The group that may connect; `nil` for the user alone.
    package var group: String?
    /// How many connections are open at most.
    package var connections: @Sendable () -> Int
    /// The milliseconds until the server ends by itself without activity; `nil` for never.
    package var remaining: @Sendable (_ open: Int, _ idleMilliseconds: Int64) -> Int64?

    /// Makes a plan for the usual path.
    package init(
        instance: String, connections: @escaping @Sendable () -> Int,
        remaining: @escaping @Sendable (_ open: Int, _ idleMilliseconds: Int64) -> Int64?
    ) {
        self.instance = instance
        self.connections = connections
        self.remaining = remaining
    }
}

/// A server on a broker's socket.
package protocol BrokerServer: Sendable {
    /// The socket's path.
    var path: String { get }

    /// Accepts connections until the end, then ends all of them. After ``end()`` and a request of `broker stop` the
    /// socket's path goes, even if systemd has passed the socket.
    ///
    /// - Parameters:
    ///   - signals: whether SIGTERM, SIGINT and SIGHUP end the server.
    ///   - serve: serves a connection on a thread of its own.
    /// - Throws: ``ErrorCode/inputOutput``.
    func run(
        signals: Bool, _ serve: @escaping @Sendable (any AcceptedConnection) -> Void
    ) throws(CredentialError)

    /// Asks the server to end.
    func end()

    /// Removes the socket and the lock, and lets those go who wait for the end.
    func close()
}

/// A connection that a broker has accepted.
package protocol AcceptedConnection: BrokerConnection {
    /// The socket's number.
    var number: Int32 { get }

    /// The user at the other end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func peerUser() throws(CredentialError) -> UInt32
}

/// A machine without brokers, such as that of a test of other commands.
package struct NoBrokerHost: BrokerHost {
    /// Makes one.
    package init() {}

    package func socketPath(of instance: String) -> String { "/memory/run/credmgr-brokers/\(instance)/sock" }
    package func running() -> [(instance: String, process: Int32)] { [] }
    package func stop(_ instance: String) -> Bool { false }
    package func open(_ plan: BrokerPlan) throws(CredentialError) -> any BrokerServer { throw Self.nothing }
    package var hasPassedSocket: Bool { false }
    package func blockSignals() {}
    package func ask(
        _ line: [UInt8], at path: String, user: String?, seconds: Int
    ) throws(CredentialError) -> [UInt8] { throw Self.nothing }
    package var process: Int32 { 1 }
    package var user: UInt32 { 0 }
    package var networkNamespace: String? { nil }

    private static var nothing: CredentialError {
        CredentialError(.unsupported, "this machine has no sockets for brokers")
    }
}
