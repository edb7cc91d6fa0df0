package import CredentialCore
import Glibc

/// A folder of our own, open: nobody else can write in it, and no symbolic link leads there.
///
/// Everything in it is reached through the descriptor, so that nothing can be exchanged between a check and its
/// use. The folder that it lies below, `$XDG_DATA_HOME`, may be a link; what is below may not.
package struct PrivateDirectory: ~Copyable, Sendable {
    /// The path, for messages and for watching.
    package let path: String
    let descriptor: FileDescriptor

    private init(path: String, descriptor: consuming FileDescriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Opens a folder and makes what is missing on the way, with mode 0700.
    ///
    /// - Parameters:
    ///   - components: the names below `base`.
    ///   - base: an absolute path.
    /// - Throws: ``ErrorCode/inputOutput``, also for a folder that is a link, of another user or writable by others.
    package static func create(
        _ components: [String], below base: String
    ) throws(CredentialError) -> PrivateDirectory {
        try makeFolders(base)
        guard let folder = try walk(components, below: base, creating: true) else {
            throw .system("cannot open the folder", base, number: ENOENT)
        }
        return folder
    }

    /// Opens a folder, or gives `nil` where there is none.
    ///
    /// - Throws: as ``create(_:below:)``.
    package static func open(
        _ components: [String], below base: String
    ) throws(CredentialError) -> PrivateDirectory? {
        try walk(components, below: base, creating: false)
    }

    /// The names in it, sorted by their bytes.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func names() throws(CredentialError) -> [String] {
        let number = unsafe openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 { throw .system("cannot read the folder", path, number: errno) }
        return try FileNames.inFolder(FileDescriptor(owning: number), path: path)
    }

    // MARK: The way there

    private static func walk(
        _ components: [String], below base: String, creating: Bool
    ) throws(CredentialError) -> PrivateDirectory? {
        let number = unsafe Glibc.open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 {
            if errno == ENOENT && !creating { return nil }
            throw .system("cannot open the folder", base, number: errno)
        }
        var path = base
        var folder = FileDescriptor(owning: number)
        for name in components {
            path += "/" + name
            guard FileNames.isComponent(name) else {
                throw CredentialError(.inputOutput, "\(CredentialError.shownPath(path)) is not a folder's name")
            }
            var next = enter(name, from: folder)
            if next < 0, errno == ENOENT {
                if !creating { return nil }
                if unsafe mkdirat(folder.number, name, 0o700) != 0, errno != EEXIST {
                    throw .system("cannot make the folder", path, number: errno)
                }
                // What is written in it is only as durable as its own name is.
                _ = fsync(folder.number)
                next = enter(name, from: folder)
            }
            if next < 0 { throw refusal(path, number: errno) }
            folder = FileDescriptor(owning: next)
            try check(folder, path)
        }
        return PrivateDirectory(path: path, descriptor: folder)
    }

    private static func enter(_ name: String, from folder: borrowing FileDescriptor) -> Int32 {
        unsafe openat(folder.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }

    private static func refusal(_ path: String, number: Int32) -> CredentialError {
        // O_DIRECTORY with O_NOFOLLOW says ENOTDIR for a link, too.
        if number == ELOOP || number == ENOTDIR {
            return CredentialError(
                .inputOutput, "\(CredentialError.shownPath(path)) is not a folder, or is a symbolic link",
                hint: "move it away; to keep the data elsewhere set XDG_DATA_HOME")
        }
        return .system("cannot open the folder", path, number: number)
    }

    private static func check(_ folder: borrowing FileDescriptor, _ path: String) throws(CredentialError) {
        guard let status = folder.status() else { throw .system("cannot open the folder", path, number: errno) }
        let shown = CredentialError.shownPath(path)
        if status.st_uid != geteuid() {
            throw CredentialError(
                .inputOutput, "the folder \(shown) belongs to another user (uid \(status.st_uid))",
                hint: "run credmgr as that user, or set XDG_DATA_HOME")
        }
        if status.st_mode & 0o022 != 0 {
            throw CredentialError(
                .inputOutput, "others can write in the folder \(shown)", hint: "chmod 700 '\(shown)'")
        }
    }

    /// Makes a folder and those above it; what exists already stays as it is.
    private static func makeFolders(_ path: String) throws(CredentialError) {
        if unsafe access(path, F_OK) == 0 { return }
        for place in path.utf8.indices.dropFirst() where path.utf8[place] == UInt8(ascii: "/") {
            try makeFolder(String(path[..<place]))
        }
        try makeFolder(path)
    }

    private static func makeFolder(_ path: String) throws(CredentialError) {
        if unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
            // Above the home folder even making what exists can be forbidden.
            let failure = errno
            if unsafe access(path, F_OK) != 0 { throw .system("cannot make the folder", path, number: failure) }
        }
    }
}
