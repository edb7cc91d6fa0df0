package import CredentialCore
import Glibc
import Synchronization

/// A `flock(2)` on a file that credmgr never removes: exclusive, or shared by several that all keep an exclusive
/// one out.
///
/// The lock belongs to the open file: a child that inherits ``descriptor`` holds it, too, and it is free when the
/// last of them has closed it or died. That is why releasing closes and does not unlock.
package final class FileLock: HeldLock {
    /// How long to sleep between two tries, in milliseconds: grows from the first to the second.
    ///
    /// Asking again and again has no elegance, but `flock` knows no deadline, and a signal or a thread to break
    /// it off would reach into the whole process.
    private static let pause: (first: Int64, longest: Int64) = (1, 25)

    private let open: Atomic<Int32>

    /// The descriptor that holds the lock; -1 once it is released.
    package var descriptor: Int32 { open.load(ordering: .acquiring) }

    private init(_ descriptor: consuming FileDescriptor, isShared: Bool) {
        // The file has room for one name, and shared locks are held for milliseconds.
        if !isShared { Self.sign(descriptor.number) }
        open = Atomic(descriptor.release())
    }

    /// Takes over the lock that the parent process handed down at `descriptor`.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when no lock is held there.
    package init(inherited descriptor: Int32) throws(CredentialError) {
        // Locking again a lock that the same open file holds has no effect and succeeds.
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw CredentialError(.internalFault, "cannot refresh: the inherited lock is missing")
        }
        Self.sign(descriptor)
        open = Atomic(descriptor)
    }

    deinit { release() }

    /// Gives the lock back; a second call has no effect.
    package func release() {
        let number = open.exchange(-1, ordering: .acquiringAndReleasing)
        if number >= 0 { close(number) }
    }

    /// Locks the file called `name`, which is made if it is missing.
    ///
    /// - Parameters:
    ///   - seconds: how long to wait at most; 0 tries once.
    ///   - isShared: whether others may hold it at the same time, as long as all of them share it.
    /// - Returns: `nil` when another process has held it all the time.
    /// - Throws: ``ErrorCode/storeUnavailable`` when the file cannot be made or locks do not work there.
    package static func take(
        _ name: String, in folder: borrowing PrivateDirectory, seconds: Int, isShared: Bool = false
    ) throws(CredentialError) -> FileLock? {
        let watch = Stopwatch()
        let limit = Int64(clamping: seconds).multipliedClamping(by: 1000)
        for _ in 0..<exchanges {
            let file: FileDescriptor
            do {
                file = try folder.openShared(name, appending: false)
            } catch {
                throw unusable(error)
            }
            let failure = wait(
                file, milliseconds: max(0, limit - watch.elapsed), operation: isShared ? LOCK_SH : LOCK_EX)
            if failure == EWOULDBLOCK { return nil }
            if failure != 0 { throw unusable(.system("cannot lock", folder.path(of: name), number: failure)) }
            // If another process removed the file meanwhile, others lock the one that has its name now.
            if folder.isCurrent(file, name) { return FileLock(file, isShared: isShared) }
        }
        return nil
    }

    /// How often the file may be removed while it is waited for.
    private static let exchanges = 16

    // MARK: Who holds it

    /// Writes into the lock's file who holds it; when, its time of change says. It serves messages only: the
    /// kernel's own list (`/proc/locks`) names the process that took the lock first, not the worker that was handed
    /// it.
    private static func sign(_ file: Int32) {
        let text = Array("\(getpid())\n".utf8)
        // If the process ID cannot be written, only the holder is unknown later.
        if unsafe pwrite(file, text, text.count, 0) == text.count { _ = ftruncate(file, off_t(text.count)) }
    }

    /// The process that holds the lock called `name`; `nil` if no process does, or it is not known.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when the file cannot be read.
    package static func holder(
        _ name: String, in folder: borrowing PrivateDirectory
    ) throws(CredentialError) -> LockHolder? {
        guard let file = try folder.openExisting(name) else { return nil }
        // A shared lock, for this moment, is refused as long as another process holds the other kind.
        if flock(file.number, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK { return nil }
        let digits = file.read(16, at: 0).prefix { (0x30...0x39).contains($0) }
        guard let process = Int32(String(decoding: digits, as: UTF8.self)), let status = file.status() else {
            return nil
        }
        return LockHolder(
            processID: process, since: Int64(status.st_mtim.tv_sec),
            isStopped: ProcessState.isStopped(process))
    }

    /// Locks an open file, waiting at most `milliseconds`.
    ///
    /// - Returns: 0, `EWOULDBLOCK`, or the number of another error.
    package static func wait(
        _ file: borrowing FileDescriptor, milliseconds: Int64, operation: Int32 = LOCK_EX
    ) -> Int32 {
        let watch = Stopwatch()
        var pause = pause.first
        while true {
            if flock(file.number, operation | LOCK_NB) == 0 { return 0 }
            if errno == EINTR { continue }
            let remaining = milliseconds - watch.elapsed
            if errno != EWOULDBLOCK || remaining <= 0 { return errno }
            sleep(min(pause, remaining))
            pause = min(pause * 2, Self.pause.longest)
        }
    }

    /// The error for a lock that cannot be had for want of a working lock file.
    package static func unusable(_ cause: CredentialError) -> CredentialError {
        CredentialError(
            .storeUnavailable, "locks do not work: \(cause)",
            hint: cause.advice ?? "put XDG_DATA_HOME on a writable file system that supports flock",
            details: cause.details)
    }

    private static func sleep(_ milliseconds: Int64) {
        var time = timespec(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
        _ = unsafe nanosleep(&time, nil)
    }
}

extension Int64 {
    fileprivate func multipliedClamping(by factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? (self > 0 ? .max : .min) : product
    }
}
