import Glibc

/// Collects the output of one pipe, up to a limit.
struct OutputCollector: ~Copyable {
    /// The bytes received, at most the limit.
    private(set) var bytes: [UInt8] = []
    /// Whether more came than the limit; the rest is thrown away.
    private(set) var isOverfull = false
    private var pipe: FileDescriptor?
    private let limit: Int

    /// Takes over the reading end of a pipe.
    init(_ pipe: consuming FileDescriptor?, limit: Int) {
        self.pipe = pipe
        self.limit = limit
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// The descriptor to watch; -1 once the pipe has ended.
    var descriptor: Int32 { FileDescriptor.number(of: pipe) }

    /// Reads once.
    ///
    /// - Returns: whether anything came.
    mutating func take() -> Bool {
        let descriptor = descriptor
        if descriptor < 0 { return false }
        var failure: Int32 = 0
        let chunk = unsafe [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, initialized in
            let got = unsafe read(descriptor, buffer.baseAddress, 16_384)
            if got < 0 { failure = errno } else { initialized = got }
        }
        if failure == EINTR || failure == EAGAIN { return false }
        if chunk.isEmpty {
            pipe = nil
            return false
        }
        let room = limit - bytes.count
        if chunk.count > room { isOverfull = true }
        bytes += chunk.prefix(room)
        return true
    }

    /// Reads the bytes that are in the pipe now.
    mutating func drain() {
        while !isOverfull, take() {}
    }
}
