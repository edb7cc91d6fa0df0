/// What a loopback server spends on its clients at most.
package struct ServerLimits: Sendable {
    /// The size of a request's body in bytes; a larger one is answered 413.
    package var bodyBytes: Int
    /// The memory of one connection in bytes: the request line, the header and the reply's header fit in it.
    package var connectionBytes: Int
    /// Connections at a time; a further one takes the place of the oldest.
    package var connections: Int
    /// How long a connection may be idle in seconds.
    package var idleSeconds: Int

    /// Makes limits. The defaults suit a redirect listener: bodies of 64 KiB (RFC 6749 sets no bound on codes; those
    /// of Azure AD B2C reach 16 KiB), 256 KiB a connection, 64 connections, 10 idle seconds.
    package init(
        bodyBytes: Int = 64 << 10, connectionBytes: Int = 256 << 10, connections: Int = 64, idleSeconds: Int = 10
    ) {
        self.bodyBytes = bodyBytes
        self.connectionBytes = connectionBytes
        self.connections = connections
        self.idleSeconds = idleSeconds
    }
}
