import Glibc

/// Bytes that grow and leave no copy behind: memory is wiped before it is given back.
@safe struct ZeroizingBuffer: ~Copyable {
    private var storage = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
    /// How many bytes it holds.
    private(set) var count = 0

    deinit { unsafe Self.release(storage) }

    /// Adds bytes at the end.
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if unsafe bytes.count > storage.count - count {
            let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(storage.count * 2, count + bytes.count, 4_096), alignment: 1)
            unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
            unsafe Self.release(storage)
            unsafe storage = larger
        }
        unsafe UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    /// A copy of the bytes.
    var bytes: [UInt8] { unsafe Array(storage[..<count]) }

    private static func release(_ storage: UnsafeMutableRawBufferPointer) {
        guard let start = storage.baseAddress else { return }
        unsafe explicit_bzero(start, storage.count)
        unsafe storage.deallocate()
    }
}
