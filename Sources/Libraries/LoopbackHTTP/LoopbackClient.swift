package import CredentialCore
import Glibc

/// A blocking HTTP/1.1 client for localhost, without any library: for the robot that signs demo users in, and for
/// tests that determine each byte they send.
package struct LoopbackClient: Sendable {
    /// The time for one read or write in seconds.
    package var seconds: Int
    private static let maximumReply = 4 << 20

    /// Makes a client.
    package init(seconds: Int = 20) { self.seconds = seconds }

    /// Sends a request and returns the response with any status.
    ///
    /// - Throws: ``ErrorCode/denied`` for an address that is not `http` on the loopback; ``ErrorCode/temporary``
    ///   when no reply came; ``ErrorCode/malformedReply`` when it is no HTTP or beyond 4 MiB.
    package func send(
        _ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) throws(CredentialError) -> HTTPResponse {
        guard let address = URI(url), address.scheme == "http", address.isLoopback,
            let port = address.effectivePort
        else {
            throw CredentialError(.denied, "the demo only connects to this machine: \(UntrustedText.shown(url))")
        }
        var target = address.path.isEmpty ? "/" : address.path
        if let query = address.query { target += "?" + query }
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(address.origin.dropFirst(7))\r\nConnection: close\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        if !body.isEmpty || method == "POST" { head += "Content-Length: \(body.count)\r\n" }
        let reply = try exchange(Array((head + "\r\n").utf8) + body, port: port, ipv6: address.host == "::1")
        return try Self.parse(reply)
    }

    /// Sends bytes as they are and gives everything that comes back until the server ends the connection.
    ///
    /// - Throws: ``ErrorCode/temporary`` when the connection fails.
    package func exchange(_ bytes: [UInt8], port: UInt16, ipv6: Bool = false) throws(CredentialError) -> [UInt8] {
        let socket = try LoopbackSocket.connect(port: port, ipv6: ipv6, seconds: seconds)
        defer { close(socket) }
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // A server may answer and hang up before it has read everything: its answer still counts.
            if count <= 0 { break }
            sent += count
        }
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(socket, $0.baseAddress, $0.count, 0) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            reply += buffer[..<count]
            guard reply.count <= Self.maximumReply else {
                throw CredentialError(.malformedReply, "the response of port \(port) is too large")
            }
        }
        return reply
    }

    private static func parse(_ reply: [UInt8]) throws(CredentialError) -> HTTPResponse {
        let end = Array("\r\n\r\n".utf8)
        let bodyStart = reply.indices.first { reply[$0...].starts(with: end) }
        guard !reply.isEmpty else { throw CredentialError(.temporary, "the server ended without a response") }
        guard let bodyStart else { throw CredentialError(.malformedReply, "the response has no header") }
        let lines = String(decoding: reply[..<bodyStart], as: UTF8.self).split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        guard let status else { throw CredentialError(.malformedReply, "the response has no status") }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return nil }
            return (parts[0].lowercased(), String(parts[1].drop { $0 == " " }))
        }
        return HTTPResponse(status: status, headers: headers, body: Array(reply[(bodyStart + end.count)...]))
    }
}
