package import CredentialCore
import Glibc

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
