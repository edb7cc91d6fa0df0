import CLinux
package import CredentialCore
import Glibc

/// A connected socket of this machine. It is closed when the last reference to it goes.
package final class UnixConnection: Sendable {
    private let descriptor: FileDescriptor

    /// For how long a write waits for a peer that does not read, in milliseconds.
    private static let patience: Int32 = 10_000

    /// Takes a connected socket.
    package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

    /// The socket's number, for questions to the kernel.
    package var number: Int32 { descriptor.number }

    /// The process and the user at the other end, as they were when the socket was connected.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func peer() throws(CredentialError) -> (process: Int32, user: UInt32) {
        try Self.peer(ofSocket: number)
    }

    /// The process and the user at the other end of a socket.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package static func peer(
        ofSocket descriptor: Int32
    ) throws(CredentialError) -> (process: Int32, user: UInt32) {
        var process: Int32 = 0, user: UInt32 = 0
        guard unsafe linux_peer(descriptor, &process, &user) == 0 else {
            throw CredentialError(.inputOutput, "the kernel does not name the peer of a socket")
        }
        return (process, user)
    }

    /// Reads the available bytes, and waits if no byte is available.
    ///
    /// - Returns: the bytes; empty at the end of the stream.
    /// - Throws: ``ErrorCode/temporary`` if the time is over; ``ErrorCode/usage`` if a descriptor came with the
    ///   bytes; ``ErrorCode/inputOutput``.
    package func read(atMost limit: Int, deadlineMilliseconds: Int) throws(CredentialError) -> [UInt8] {
        try wait(for: Int16(POLLIN), milliseconds: Int32(clamping: deadlineMilliseconds))
        var bytes = [UInt8](repeating: 0, count: max(1, limit))
        while true {
            let count = unsafe linux_receive(number, &bytes, bytes.count)
            if count == -2 { throw CredentialError(.usage, "a descriptor came through the socket") }
            if count >= 0 { return Array(bytes[..<count]) }
            if errno == EINTR { continue }
            if errno == ECONNRESET { return [] }
            throw CredentialError(.inputOutput, "cannot read from the socket", details: ["error \(errno)"])
        }
    }

    /// Writes all bytes; waits up to 10 s for a peer that does not read.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func write(_ bytes: [UInt8]) throws(CredentialError) {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe send(
                    number, bytes.baseAddress?.advanced(by: written), bytes.count - written, Self.sendFlags)
            }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                try wait(for: Int16(POLLOUT), milliseconds: Self.patience)
            } else if errno != EINTR {
                throw CredentialError(.inputOutput, "cannot write to the socket", details: ["error \(errno)"])
            }
        }
    }

    /// Ends both directions: a read or write that waits returns at once.
    package func shutDown() { _ = shutdown(number, 2) }

    /// MSG_NOSIGNAL and MSG_DONTWAIT.
    private static let sendFlags: Int32 = 0x4000 | 0x40

    private func wait(for event: Int16, milliseconds: Int32) throws(CredentialError) {
        let clock = Stopwatch()
        while true {
            let left = max(0, Int64(milliseconds) - clock.elapsed)
            var entry = pollfd(fd: number, events: event, revents: 0)
            let status = unsafe poll(&entry, 1, Int32(clamping: left))
            if status > 0 { return }
            if status < 0, errno != EINTR {
                throw CredentialError(.inputOutput, "cannot wait for the socket", details: ["error \(errno)"])
            }
            if status == 0 { throw CredentialError(.temporary, "the peer of the socket is silent") }
        }
    }
}
