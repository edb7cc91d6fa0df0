import Glibc

/// The names of processes, as `/proc` tells them.
enum ProcessName {
    /// The name of a process, of at most 15 characters; `nil` for one that is gone or not to be seen.
    static func of(_ process: UInt64) -> String? {
        let number = unsafe open("/proc/\(process)/comm", O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(number, &bytes, bytes.count)
        guard count > 1 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").first.map(String.init)
    }
}
