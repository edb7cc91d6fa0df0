import Glibc

/// Owns a file descriptor and closes it.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number; valid as long as this value lives.
    package let number: Int32

    /// Takes over an open descriptor.
    package init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Gives the descriptor away: the caller closes it.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    /// What the kernel knows of the file, or `nil` with `errno` set.
    func status() -> stat? {
        var status = stat()
        return unsafe fstat(number, &status) == 0 ? status : nil
    }

    /// Reads to the end of the file, at most `limit` bytes and one more.
    ///
    /// - Returns: the bytes, or `nil` with `errno` set.
    func readAll(limit: Int, expected: Int) -> [UInt8]? {
        var content: [UInt8] = []
        content.reserveCapacity(min(expected, limit) + 1)
        while content.count <= limit {
            // One byte more than expected, so that the end shows without growing.
            let room = min(max(expected - content.count, 4095) + 1, limit + 1 - content.count)
            var failure: Int32 = 0
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, initialized in
                let got = unsafe read(number, buffer.baseAddress, room)
                if got < 0 { failure = errno } else { initialized = got }
            }
            if failure == EINTR { continue }
            if failure != 0 {
                errno = failure
                return nil
            }
            if chunk.isEmpty { return content }
            if content.isEmpty { content = chunk } else { content += chunk }
        }
        return content
    }

    /// Writes all bytes.
    ///
    /// - Returns: 0, or the error number.
    func writeAll(_ bytes: [UInt8]) -> Int32 {
        var written = 0
        while written < bytes.count {
            let got = unsafe bytes.withUnsafeBytes { buffer in
                unsafe write(number, buffer.baseAddress.map { unsafe $0 + written }, bytes.count - written)
            }
            if got >= 0 { written += got } else if errno != EINTR { return errno }
        }
        return 0
    }
}
