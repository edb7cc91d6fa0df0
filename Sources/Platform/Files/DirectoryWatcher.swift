package import CredentialCore
import Glibc

/// Tells when something happens in folders (`inotify(7)`).
///
/// It does not name the event: the waiting code looks for itself, and so misses no change when the kernel's queue
/// overflows.
package struct DirectoryWatcher: ~Copyable {
    /// How a waiting ended.
    package enum Outcome: Sendable {
        /// Something has happened.
        case changed
        /// No event came in time.
        case timedOut
        /// A signal came.
        case interrupted
    }

    private let events: FileDescriptor

    /// Watches nothing yet.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when the user has too many watches.
    package init() throws(CredentialError) {
        let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        if number < 0 { throw .system("cannot watch", "folders", number: errno) }
        events = FileDescriptor(owning: number)
    }

    /// Watches a folder: files made, written, renamed or removed there. Watching it again has no effect.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func add(_ path: String) throws(CredentialError) {
        let mask = IN_CREATE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | Int32(IN_ONLYDIR)
        if unsafe inotify_add_watch(events.number, path, UInt32(mask)) < 0 {
            // Here that is not about the disk.
            let hint: LocalizedMessage? =
                errno == ENOSPC ? "allow more of them: sysctl fs.inotify.max_user_watches" : nil
            throw .system("cannot watch", path, number: errno, hint: hint)
        }
    }

    /// Waits until something has happened since the last call, at most `milliseconds`; for ever for `nil`.
    ///
    /// - Returns: how the waiting ended.
    package borrowing func wait(milliseconds: Int64?) -> Outcome {
        var polled = pollfd(fd: events.number, events: Int16(POLLIN), revents: 0)
        let timeout = milliseconds.map { Int32(clamping: max(0, $0)) } ?? -1
        let ready = unsafe poll(&polled, 1, timeout)
        guard ready > 0 else { return ready == 0 ? .timedOut : .interrupted }
        // The contents of the events are not needed: this empties the queue.
        while unsafe withUnsafeTemporaryAllocation(
            byteCount: 16_384, alignment: 8, { unsafe read(events.number, $0.baseAddress, $0.count) }) > 0
        {}
        return .changed
    }
}
