import CredentialCore
import Glibc

/// A file that is sent as a body, read piece by piece.
struct BodyFile: ~Copyable {
    private let path: String
    private let descriptor: Int32
    private var remaining: Int64?

    /// The size in bytes; `nil` for anything but a regular file, such as a pipe.
    let size: Int64?

    /// Opens the file.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` naming it.
    init(path: String) throws(CredentialError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.unreadable(path, errno) }
        var facts = stat()
        guard unsafe fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw Self.unreadable(path, EISDIR)
        }
        self.path = path
        self.descriptor = descriptor
        size = facts.st_mode & S_IFMT == S_IFREG ? Int64(facts.st_size) : nil
        remaining = size
    }

    deinit { close(descriptor) }

    /// Reads the next bytes into `buffer`; 0 at the end. A file that grows is sent with the size it had.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be read or became shorter.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(CredentialError) -> Int {
        let wanted = min(Int64(buffer.count), remaining ?? .max)
        guard wanted > 0 else { return 0 }
        var count = -1
        repeat {
            count = unsafe Glibc.read(descriptor, buffer.baseAddress, Int(wanted))
        } while count < 0 && errno == EINTR
        guard count >= 0 else { throw Self.unreadable(path, errno) }
        guard count > 0 || remaining == nil else {
            throw CredentialError(.inputOutput, "\(path) became shorter during the upload")
        }
        if let left = remaining { remaining = left - Int64(count) }
        return count
    }

    /// Checks that a file can be opened for reading.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` naming it.
    static func check(path: String) throws(CredentialError) { _ = try BodyFile(path: path) }

    private static func unreadable(_ path: String, _ number: Int32) -> CredentialError {
        let reason = unsafe strerror(number).map { unsafe String(cString: $0).lowercased() }
        return CredentialError(.inputOutput, "cannot read \(path): \(reason ?? "error \(number)")")
    }
}
