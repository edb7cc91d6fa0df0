package import CredentialCore
import Glibc

/// The names in folders.
package enum FileNames {
    /// The names in the folder at `path`, sorted by their bytes; none where there is no such folder.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be read.
    package static func inFolder(_ path: String) throws(CredentialError) -> [String] {
        let number = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw .system("cannot read the folder", path, number: errno)
        }
        return try inFolder(FileDescriptor(owning: number), path: path)
    }

    /// The names in an open folder, sorted by their bytes.
    static func inFolder(_ folder: consuming FileDescriptor, path: String) throws(CredentialError) -> [String] {
        let number = folder.release()
        guard let stream = unsafe fdopendir(number) else {
            let failure = errno
            close(number)
            throw .system("cannot read the folder", path, number: failure)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if name != "." && name != ".." { names.append(name) }
            errno = 0
        }
        if errno != 0 { throw .system("cannot read the folder", path, number: errno) }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Whether `name` is one component of a path that stays in its folder.
    static func isComponent(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255
            && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
    }
}
