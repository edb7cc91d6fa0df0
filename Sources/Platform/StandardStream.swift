package import CredentialCore
import Glibc

/// Standard output and standard error.
package enum StandardStream: Int32, Sendable {
    /// The result only.
    case output = 1
    /// All the rest.
    case error = 2

    /// The error that ``write(_:)-(String)`` throws when the reader has gone away (`| head`): no reason to
    /// complain, but not a success.
    package static let readerGone = CredentialError(.inputOutput, "the reader closed the output")

    /// Writes a text.
    ///
    /// - Throws: as ``write(_:)-([UInt8])``.
    package func write(_ text: String) throws(CredentialError) { try write(Array(text.utf8)) }

    /// Writes all bytes; waits if the reader is slow.
    ///
    /// SIGPIPE must be ignored (``ProcessHardening/harden()``).
    ///
    /// - Throws: ``readerGone``; ``ErrorCode/inputOutput`` when not everything could be written.
    package func write(_ bytes: [UInt8]) throws(CredentialError) {
        var written = 0
        while written < bytes.count {
            let got = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(rawValue, buffer.baseAddress.map { unsafe $0 + written }, bytes.count - written)
            }
            if got >= 0 {
                written += got
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: waitUntilWritable()
            case EPIPE: throw Self.readerGone
            default: throw .system("cannot write", name, number: errno)
            }
        }
    }

    private var name: String { self == .output ? "standard output" : "standard error" }

    private func waitUntilWritable() {
        var polled = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&polled, 1, -1)
    }
}

/// Standard input, read whole.
package enum StandardInput {
    /// Everything up to its end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/usage`` for more than `limit` bytes.
    package static func readAll(limit: Int) throws(CredentialError) -> [UInt8] {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe read(STDIN_FILENO, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system("cannot read", "standard input", number: errno) }
            if count == 0 { return all }
            all += piece[..<count]
            guard all.count <= limit else {
                throw CredentialError(.usage, "standard input holds more than \(limit) bytes")
            }
        }
    }
}
