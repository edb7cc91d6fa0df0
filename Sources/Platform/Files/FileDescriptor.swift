import Glibc

/// Owns a file descriptor and closes it.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number; valid as long as this value lives.
    package private(set) var number: Int32

    /// Takes over an open descriptor.
    package init(owning number: Int32) { self.number = number }

    deinit { if number >= 0 { close(number) } }

    /// Gives the descriptor away: the caller closes it.
    package consuming func release() -> Int32 {
        let given = number
        // Not `discard`, which Embedded Swift does not know here.
        number = -1
        return given
    }

    /// The number of a file that may not be there: -1 then, which `poll(2)` passes over.
    package static func number(of file: borrowing FileDescriptor?) -> Int32 {
        switch file {
        case .some(let file): file.number
        case .none: -1
        }
    }

    /// The kernel's metadata of the file, or `nil` with `errno` set.
    func status() -> stat? {
        var status = stat()
        return unsafe fstat(number, &status) == 0 ? status : nil
    }

    /// The size of the file in bytes; 0 if it is not known.
    package var size: Int64 { status().map { Int64($0.st_size) } ?? 0 }

    /// Writes bytes in one call, as an append that must not mix with others needs it.
    ///
    /// - Returns: whether all were written.
    package func write(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) } == bytes.count
    }

    /// Reads at most `count` bytes from `offset` on.
    ///
    /// - Returns: no bytes at the end of the file, and if it cannot be read.
    package func read(_ count: Int, at offset: Int64) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = unsafe max(0, pread(number, buffer.baseAddress, count, off_t(offset)))
        }
    }

    /// Reads to the end of the file, at most `limit` bytes and one more.
    ///
    /// - Returns: the bytes, or `nil` with `errno` set.
    func readAll(limit: Int, expected: Int) -> [UInt8]? {
        var content: [UInt8] = []
        while content.count <= limit {
            // One byte more than expected, so that the end shows without growing.
            let room = min(max(expected - content.count, 4095) + 1, limit + 1 - content.count)
            var failure: Int32 = 0
            let chunk = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, initialized in
                let got = unsafe Glibc.read(number, buffer.baseAddress, room)
                if got < 0 { failure = errno } else { initialized = got }
            }
            if failure == EINTR { continue }
            if failure != 0 {
                errno = failure
                return nil
            }
            if chunk.isEmpty { return content }
            if content.isEmpty { content = chunk } else { content += chunk }
            // A file that gives as much as it has, and less than it was asked for, is at its end.
            if content.count == expected, chunk.count < room { return content }
        }
        return content
    }

    /// Makes the written data durable.
    ///
    /// - Returns: 0, or the error number.
    package func sync() -> Int32 { fsync(number) == 0 ? 0 : errno }

    /// Writes all bytes.
    ///
    /// - Returns: 0, or the error number.
    package func writeAll(_ bytes: [UInt8]) -> Int32 {
        var written = 0
        while written < bytes.count {
            let got = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(number, buffer.baseAddress.map { unsafe $0 + written }, bytes.count - written)
            }
            if got >= 0 { written += got } else if errno != EINTR { return errno }
        }
        return 0
    }
}
