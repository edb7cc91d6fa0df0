package import CredentialCore

/// A small HTTP/1.1 server on the loopback addresses, for this machine's own programs only.
///
/// Handlers run on threads of their own and may block. Malformed requests are answered by libmicrohttpd and never
/// reach the handler.
package final class LoopbackServer: Sendable {
    /// The port it listens on.
    package let port: UInt16
    private let daemons: [MicroHTTPD]

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - ports: tried in order; 0 is any free port.
    ///   - addresses: where.
    ///   - handler: answers a request; called from many threads at a time.
    /// - Throws: ``ErrorCode/temporary`` when every port is taken; ``ErrorCode/internalFault`` when libmicrohttpd
    ///   is not installed.
    package init(
        ports: [UInt16] = [0], at addresses: LoopbackAddresses = .both, limits: ServerLimits = ServerLimits(),
        handler: @escaping @Sendable (ServerRequest) -> ServerResponse
    ) throws(CredentialError) {
        let (port, sockets) = try Self.listen(ports, at: addresses)
        self.port = port
        var daemons: [MicroHTTPD] = []
        for socket in sockets {
            daemons.append(try MicroHTTPD(listener: socket, limits: limits, handler: handler))
        }
        self.daemons = daemons
    }

    private static func listen(
        _ ports: [UInt16], at addresses: LoopbackAddresses
    ) throws(CredentialError) -> (port: UInt16, sockets: [Int32]) {
        var failure = CredentialError(.configuration, "no port to listen on")
        for port in ports {
            do {
                return try LoopbackSocket.listen(port: port, at: addresses)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Stops listening, ends the connections and waits for the handlers that still run. Not to be called from a
    /// handler. The server also stops when the last reference to it goes.
    package func stop() {
        for daemon in daemons { daemon.stop() }
    }
}

/// The most that a loopback server spends on its clients.
package struct ServerLimits: Sendable {
    /// The size of a request's body in bytes; a larger one is answered 413.
    package var bodyBytes: Int
    /// The memory of one connection in bytes: the request line, the header and the reply's header fit in it.
    package var connectionBytes: Int
    /// Connections at a time; a further one takes the place of the oldest.
    package var connections: Int
    /// How long a connection may be idle in seconds.
    package var idleSeconds: Int

    /// Makes limits. The defaults suit a redirect listener: bodies of 64 KiB (RFC 6749 sets no bound on codes;
    /// those of Azure AD B2C reach 16 KiB), 256 KiB a connection, 64 connections, 10 idle seconds.
    package init(
        bodyBytes: Int = 64 << 10, connectionBytes: Int = 256 << 10, connections: Int = 64, idleSeconds: Int = 10
    ) {
        self.bodyBytes = bodyBytes
        self.connectionBytes = connectionBytes
        self.connections = connections
        self.idleSeconds = idleSeconds
    }
}
