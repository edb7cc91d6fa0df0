import CLinux
package import CredentialCore
import Glibc

/// Sockets of this machine (unix(7)), named by a path.
package enum UnixSocket {
    /// The most bytes of a path, with the zero at its end.
    private static let pathSize = 108

    /// Makes a listening socket.
    ///
    /// - Parameter mode: the mode of the socket, such as 0o600.
    /// - Throws: ``ErrorCode/inputOutput``.
    package static func listen(at path: String, mode: UInt32) throws(CredentialError) -> FileDescriptor {
        let descriptor = try make(path)
        // The directory is the user's alone, so that the mode before chmod lets no other user in.
        guard unsafe withAddress(path, { unsafe linux_bind(descriptor.number, $0, $1) }) == 0,
            unsafe chmod(path, mode) == 0, Glibc.listen(descriptor.number, 128) == 0
        else { throw .system("cannot listen on the socket", path, number: errno) }
        return descriptor
    }

    /// Takes a listening socket that the parent process has passed.
    ///
    /// - Throws: ``ErrorCode/usage`` for a descriptor that is not a socket.
    package static func take(_ number: Int32) throws(CredentialError) -> FileDescriptor {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        // SO_ACCEPTCONN
        guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0,
            unsafe getsockopt(number, SOL_SOCKET, 30, &listens, &size) == 0, listens == 1
        else { throw CredentialError(.usage, "descriptor \(String(number)) is not a listening socket") }
        return FileDescriptor(owning: number)
    }

    /// How long a connection waits in a full queue of the server, in milliseconds.
    package static let patience: Int32 = 10_000

    /// Connects to a socket.
    ///
    /// - Parameter milliseconds: how long to wait while the server's queue is full; at least 1.
    /// - Throws: ``ErrorCode/temporary`` if no process listens there, or if the queue stays full;
    ///   ``ErrorCode/inputOutput``.
    package static func connect(
        to path: String, milliseconds: Int32 = patience
    ) throws(CredentialError) -> UnixConnection {
        let descriptor = try make(path)
        guard linux_limit_sending(descriptor.number, max(milliseconds, 1)) == 0 else {
            throw .system("cannot connect to the socket", path, number: errno)
        }
        while unsafe withAddress(path, { unsafe linux_connect(descriptor.number, $0, $1) }) != 0 {
            let number = errno
            if number == EINTR { continue }
            if number == EAGAIN {
                throw CredentialError(
                    .temporary,
                    "cannot connect to the socket \(CredentialError.shownPath(path)): too many connections",
                    hint: "try again", details: ["connect: error \(number)"])
            }
            if [ENOENT, ECONNREFUSED].contains(number) {
                throw CredentialError(
                    .temporary, "cannot connect to the socket \(CredentialError.shownPath(path)): no server",
                    details: ["connect: error \(number)"])
            }
            throw .system("cannot connect to the socket", path, number: number)
        }
        return UnixConnection(descriptor)
    }

    /// Whether a server listens on a socket; one with a full queue does.
    package static func isServed(_ path: String) -> Bool {
        guard let descriptor = try? make(path), linux_limit_sending(descriptor.number, 1) == 0 else { return false }
        while unsafe withAddress(path, { unsafe linux_connect(descriptor.number, $0, $1) }) != 0 {
            if errno != EINTR { return errno == EAGAIN }
        }
        return true
    }

    /// The directory of a socket.
    static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// Whether a path fits into an address.
    package static func fits(_ path: String) -> Bool { path.utf8.count < pathSize }

    private static func make(_ path: String) throws(CredentialError) -> FileDescriptor {
        guard fits(path), !path.isEmpty else {
            throw CredentialError(
                .inputOutput, "the socket's path \(CredentialError.shownPath(path)) is longer than 107 bytes")
        }
        let number = socket(AF_UNIX, streamType, 0)
        guard number >= 0 else { throw .system("cannot make the socket", path, number: errno) }
        return FileDescriptor(owning: number)
    }

    /// SOCK_STREAM with SOCK_CLOEXEC, which the small program's headers have as numbers.
    private static var streamType: Int32 { 1 | linux_close_on_exec }

    private static func withAddress(
        _ path: String, _ body: (UnsafeRawPointer, UInt32) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
            for (index, byte) in path.utf8.enumerated() { unsafe place[index] = byte }
        }
        return unsafe withUnsafePointer(to: address) {
            unsafe body(UnsafeRawPointer($0), UInt32(MemoryLayout<sockaddr_un>.size))
        }
    }
}
