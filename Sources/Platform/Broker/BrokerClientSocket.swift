import CLinux
package import CredentialCore
import Glibc

/// The client's side of a broker's socket: the checks that come before anything is sent.
package enum BrokerClientSocket {
    /// The user that an unknown user of another namespace is shown as (user_namespaces(7)).
    private static let overflowUser: UInt32 = 65_534

    /// Connects to a broker.
    ///
    /// - Parameters:
    ///   - path: `CREDMGR_SOCK`.
    ///   - user: `CREDMGR_SOCK_UID`: a number, or `any`.
    ///   - milliseconds: how long to wait while the server's queue is full.
    /// - Throws: ``ErrorCode/denied`` if others can write the socket's directory, or if the server's user is
    ///   another; ``ErrorCode/temporary`` if no server is there.
    package static func connect(
        to path: String, user: String?, milliseconds: Int32 = UnixSocket.patience
    ) throws(CredentialError) -> UnixConnection {
        let shown = CredentialError.shownPath(path)
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw CredentialError(.usage, "CREDMGR_SOCK must be an absolute path, not '\(shown)'")
        }
        let directory = UnixSocket.directory(of: path)
        var status = stat()
        guard unsafe stat(directory, &status) == 0 else {
            throw CredentialError(
                .temporary, "cannot connect to the socket \(shown): the directory does not exist",
                hint: "check CREDMGR_SOCK")
        }
        let isReadOnly = isReadOnly(directory)
        guard isReadOnly || status.st_mode & 0o022 == 0 else {
            throw CredentialError(
                .denied, "others can write the directory of the socket \(shown)", hint: "chmod go-w '\(directory)'")
        }
        try check(UInt32(status.st_uid), user, isReadOnly, shown)
        let connection = try UnixSocket.connect(to: path, milliseconds: milliseconds)
        try check(try connection.peer().user, user, isReadOnly, shown)
        return connection
    }

    /// Connects, sends a line and returns the line of the reply, both without a newline.
    ///
    /// - Parameters:
    ///   - path: `CREDMGR_SOCK`.
    ///   - user: `CREDMGR_SOCK_UID`.
    ///   - limit: the largest reply, in bytes.
    ///   - seconds: how long the reply may take.
    /// - Throws: as ``connect(to:user:)``; ``ErrorCode/temporary`` without a reply in time;
    ///   ``ErrorCode/malformedReply`` for a larger reply.
    package static func exchange(
        _ line: [UInt8], at path: String, user: String?, limit: Int, seconds: Int
    ) throws(CredentialError) -> [UInt8] {
        let clock = Stopwatch()
        let connection = try connect(to: path, user: user)
        try connection.write(line + [UInt8(ascii: "\n")])
        var reply: [UInt8] = []
        while true {
            let left = Int64(seconds) * 1_000 - clock.elapsed
            let bytes = try connection.read(atMost: 1 << 14, deadlineMilliseconds: Int(max(0, left)))
            if bytes.isEmpty {
                throw CredentialError(
                    .temporary, "the broker closed the connection to \(CredentialError.shownPath(path))",
                    hint: "try again")
            }
            // A broker sends no bytes after the only reply.
            let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
            reply += bytes[..<(end ?? bytes.count)]
            if end != nil { return reply }
            if reply.count > limit {
                throw CredentialError(.malformedReply, "the broker's reply is larger than \(String(limit)) bytes")
            }
        }
    }

    private static func check(
        _ owner: UInt32, _ allowed: String?, _ isReadOnly: Bool, _ shown: String
    ) throws(CredentialError) {
        if owner == geteuid() || owner == 0 { return }
        if let allowed {
            if let number = UInt32(allowed), number == owner { return }
            if allowed == "any", owner == overflowUser { return }
        }
        if owner == overflowUser, isReadOnly { return }
        throw CredentialError(
            .denied, "the socket \(shown) belongs to another user (uid \(String(owner)))",
            hint: "if you trust that user: export CREDMGR_SOCK_UID=\(String(owner))")
    }

    private static func isReadOnly(_ directory: String) -> Bool {
        var facts = statvfs()
        // ST_RDONLY
        return unsafe statvfs(directory, &facts) == 0 && facts.f_flag & 1 != 0
    }
}
