package import CredentialCore
import Glibc

/// The names in folders.
package enum FileNames {
    /// The names in the directory at `path`, sorted by their bytes; empty if there is no such directory.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be read.
    package static func inFolder(_ path: String) throws(CredentialError) -> [String] {
        let number = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw .system("cannot read the directory", path, number: errno)
        }
        return try inFolder(FileDescriptor(owning: number), path: path)
    }

    /// The names in an open folder, sorted by their bytes.
    static func inFolder(_ folder: consuming FileDescriptor, path: String) throws(CredentialError) -> [String] {
        var names: [String] = []
        try eachInFolder(folder, path: path) { names.append(text($0)) }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// A name that ``eachInFolder(_:path:_:)`` gives.
    static func text(_ name: borrowing Span<UInt8>) -> String {
        unsafe name.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Gives each name in an open folder, in no order.
    static func eachInFolder(
        _ folder: consuming FileDescriptor, path: String, _ body: (borrowing Span<UInt8>) -> Void
    ) throws(CredentialError) {
        let number = folder.release()
        guard let stream = unsafe fdopendir(number) else {
            let failure = errno
            close(number)
            throw .system("cannot read the directory", path, number: failure)
        }
        defer { unsafe closedir(stream) }
        errno = 0
        while let entry = unsafe readdir(stream) {
            unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                let count = unsafe strlen(UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self))
                let name = unsafe UnsafeBufferPointer(
                    start: UnsafeRawPointer(pointer).assumingMemoryBound(to: UInt8.self), count: count)
                let isDots = unsafe count <= 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
                if !isDots { body(unsafe name.span) }
            }
            errno = 0
        }
        if errno != 0 { throw .system("cannot read the directory", path, number: errno) }
    }

    /// Whether `name` is one component of a path that stays in its folder.
    static func isComponent(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255
            && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
    }
}
