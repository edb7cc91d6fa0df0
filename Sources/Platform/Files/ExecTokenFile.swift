import CLinux
package import CredentialCore
import Glibc

/// The file with the token of a command that `exec` runs: in memory, in a directory of its own for each run.
///
/// A container may share `$XDG_RUNTIME_DIR/credmgr`, so the directory is beside that: `credmgr-exec.RANDOM` in
/// `$XDG_RUNTIME_DIR`, else in `/run/user/UID`, else in `/dev/shm`, whichever is first a memory file system of the
/// user's own or of root's. If another user has taken a name, the next one is drawn.
///
/// The directory has a lock that its process holds. The next run removes the files that a killed one has left.
package final class ExecTokenFile: Sendable {
    /// The path of the file; the file does not exist before it is written.
    package var path: String { directory.path(of: Self.fileName) }

    /// The directory's name, for the program that takes it over.
    package let directoryName: String

    private let directory: PrivateDirectory
    private let lock: FileLock

    /// How the name of a directory begins.
    package static let prefix = "credmgr-exec."
    /// How it begins while the directory has no lock yet.
    private static let unlockedPrefix = "." + prefix
    private static let fileName = "token"
    private static let lockName = "lock"
    /// How many names are drawn.
    private static let draws = 8
    /// How old a directory without a lock must be, in seconds, to count as left behind by a killed process.
    private static let staleAge = 3600

    /// Makes the directory, and removes those that killed processes have left.
    ///
    /// - Parameter runtime: `$XDG_RUNTIME_DIR`.
    /// - Returns: `nil` if the machine has no place for it.
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/storeUnavailable`` if locks do not work.
    package init?(runtime: String?) throws(CredentialError) {
        guard let (base, name, lock) = try Self.make(runtime),
            let directory = try PrivateDirectory.open([name], below: base)
        else { return nil }
        directoryName = name
        self.directory = directory
        self.lock = lock
        Self.sweep(base)
    }

    /// Takes over the file of the program that this process was before it became this one (execve(2)).
    ///
    /// - Parameters:
    ///   - name: ``directoryName``.
    ///   - lock: the descriptor that ``handDown()`` returned.
    ///   - runtime: `$XDG_RUNTIME_DIR`.
    /// - Throws: ``ErrorCode/inputOutput`` if it is no private directory of the user's, ``ErrorCode/usage`` if its
    ///   lock is not held.
    package init(takenOver name: String, lock: Int32, runtime: String?) throws(CredentialError) {
        directoryName = name
        var found: PrivateDirectory?
        if name.hasPrefix(Self.prefix) {
            for base in Self.bases(runtime) where found == nil {
                found = try? PrivateDirectory.open([name], below: base)
            }
        }
        // Checked by its name first: the descriptor may be any file of the caller's.
        let held = FileDescriptor(owning: fcntl(lock, F_DUPFD_CLOEXEC, STDERR_FILENO + 1))
        guard let directory = found.take(), try directory.openExisting(Self.fileName) != nil,
            directory.isCurrent(held, Self.lockName)
        else {
            throw CredentialError(
                .usage, "the directory \(UntrustedText.shown(name, limit: 80)) is not held by this process")
        }
        self.directory = directory
        self.lock = try FileLock(inherited: lock)
    }

    /// Leaves the file to the program that this process becomes (execve(2)), which takes it over.
    ///
    /// - Returns: the descriptor that holds its lock.
    package func handDown() -> Int32 {
        _ = fcntl(lock.descriptor, F_SETFD, 0)
        return lock.descriptor
    }

    /// Replaces the content as a whole: a reader sees the old one or the new one.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func write(_ bytes: [UInt8]) throws(CredentialError) {
        try directory.write(bytes, to: Self.fileName, tidying: false, isDurable: false)
    }

    /// Removes the file and its directory.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func remove() throws(CredentialError) {
        try Self.empty(directory)
        lock.release()
    }

    // MARK: Directories

    /// The directories that may have it, as far as they are in memory and no other user can exchange their content.
    private static func bases(_ runtime: String?) -> [String] {
        (0...2).compactMap { place in
            guard let base = RuntimeDirectory.base(place, runtime),
                RuntimeDirectory.isTrusted(base, isShared: place == 2)
            else { return nil }
            let number = unsafe open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if number < 0 { return nil }
            let folder = FileDescriptor(owning: number)
            return linux_is_in_memory(folder.number) != 0 ? base : nil
        }
    }

    private static func make(
        _ runtime: String?
    ) throws(CredentialError) -> (base: String, name: String, lock: FileLock)? {
        for base in bases(runtime) {
            for _ in 0..<draws {
                let name = SystemRandom().accountID()
                let unlocked = base + "/" + unlockedPrefix + name
                if unsafe mkdir(unlocked, 0o700) != 0 {
                    if errno == EEXIST { continue }
                    // It is full, or cannot be written: the next may do.
                    break
                }
                guard let directory = try PrivateDirectory.open([unlockedPrefix + name], below: base),
                    let lock = try FileLock.take(lockName, in: directory, seconds: 0)
                else { continue }
                // It gets the name under which others look at its lock when it has one.
                if unsafe rename(unlocked, base + "/" + prefix + name) == 0 { return (base, prefix + name, lock) }
                try empty(directory)
            }
        }
        return nil
    }

    /// Removes the files that killed processes have left. The next run tries again to remove the files that cannot
    /// be removed now.
    private static func sweep(_ base: String) {
        guard let names = try? FileNames.inFolder(base) else { return }
        for name in names where name.hasPrefix(prefix) || name.hasPrefix(unlockedPrefix) {
            // Another user's, in a directory that all share, is refused here.
            guard let directory = try? PrivateDirectory.open([name], below: base) else { continue }
            if name.hasPrefix(unlockedPrefix), age(of: directory) < staleAge { continue }
            guard let abandoned = try? FileLock.take(lockName, in: directory, seconds: 0) else { continue }
            try? empty(directory)
            abandoned.release()
        }
    }

    private static func age(of directory: borrowing PrivateDirectory) -> Int {
        directory.descriptor.status().map { time(nil) - $0.st_mtim.tv_sec } ?? 0
    }

    private static func empty(_ directory: borrowing PrivateDirectory) throws(CredentialError) {
        try directory.remove(fileName)
        // The command may have put other entries there, also directories and other non-files.
        for name in try directory.names() { try? directory.remove(name) }
        if unsafe rmdir(directory.path) != 0, errno != ENOENT, errno != ENOTEMPTY {
            throw .system("cannot remove", directory.path, number: errno)
        }
    }
}
