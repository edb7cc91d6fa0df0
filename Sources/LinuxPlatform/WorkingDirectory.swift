import Glibc

/// The folder that the program was called in.
package enum WorkingDirectory {
    /// Its absolute path; `/` when it has gone.
    package static var path: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard unsafe getcwd(&buffer, buffer.count) != nil else { return "/" }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
