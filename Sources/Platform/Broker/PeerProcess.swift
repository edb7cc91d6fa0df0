import CLinux
import Glibc

/// The peer of a connected Unix socket.
package enum SocketPeer {
    /// The user and the process ID at the time of the connection (`SO_PEERCRED`); `nil` if the kernel does not name
    /// them.
    package static func credentials(of socket: Int32) -> (uid: UInt32, pid: Int32)? {
        // `struct ucred`: process, user, group.
        var facts: (pid: Int32, uid: UInt32, gid: UInt32) = (0, 0, 0)
        var size = socklen_t(12)
        let status = unsafe withUnsafeMutableBytes(of: &facts) {
            unsafe getsockopt(socket, SOL_SOCKET, SO_PEERCRED, $0.baseAddress, &size)
        }
        return status == 0 && size == 12 ? (facts.uid, facts.pid) : nil
    }

    /// The peer's process, as the kernel gives it.
    package enum Process: ~Copyable {
        /// A descriptor of the process.
        case known(FileDescriptor)
        /// The process has ended.
        case ended
        /// The kernel has no `SO_PEERPIDFD` (before Linux 6.5).
        case unsupported
    }

    /// A descriptor of the peer's process (`SO_PEERPIDFD`).
    package static func process(of socket: Int32) -> Process {
        var number: Int32 = -1
        var size = socklen_t(4)
        // SO_PEERPIDFD of <asm-generic/socket.h>; older headers lack it.
        guard unsafe getsockopt(socket, SOL_SOCKET, 77, &number, &size) == 0, number >= 0 else {
            return errno == ENOPROTOOPT ? .unsupported : .ended
        }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        return .known(FileDescriptor(owning: number))
    }

    /// Whether the process of a descriptor has not ended.
    package static func isAlive(_ process: borrowing FileDescriptor) -> Bool {
        var polled = pollfd(fd: process.number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&polled, 1, 0) == 0
    }
}

/// The data that the kernel shows of a process in `/proc`.
package enum ProcessView {
    /// The greatest size of an executable that is read, in bytes.
    private static let executableLimit: Int64 = 1 << 30

    /// The start in clock ticks since boot, the parent and the name; `nil` if the process has ended.
    package static func facts(of process: Int32) -> (start: UInt64, parent: Int32, name: String)? {
        guard let text = read("/proc/\(process)/stat", limit: 1_024),
            let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")"), open < close
        else { return nil }
        let fields = text[text.index(after: close)...].split(separator: " ")
        guard fields.count > 19, fields[0] != "Z", fields[0] != "X", let parent = Int32(fields[1]),
            let start = UInt64(fields[19])
        else { return nil }
        return (start, parent, String(text[text.index(after: open)..<close]))
    }

    /// The path and metadata of the file that a process runs; `nil` if the process does not show it.
    package static func executable(
        of process: Int32
    ) -> (path: String, device: UInt64, inode: UInt64, size: Int64, changed: Int64)? {
        let link = "/proc/\(process)/exe"
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { text in
                unsafe text.baseAddress.map { unsafe readlink(link, $0, text.count) } ?? 0
            }
        }
        var status = stat()
        guard count > 0, unsafe stat(link, &status) == 0 else { return nil }
        return (
            String(decoding: buffer[..<count], as: UTF8.self), UInt64(status.st_dev), UInt64(status.st_ino),
            Int64(status.st_size), Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
        )
    }

    /// Gives the content of the file that a process runs in pieces.
    ///
    /// - Parameters:
    ///   - device: the expected device.
    ///   - inode: the expected inode.
    /// - Returns: whether the file was the expected one and was read to its end.
    package static func readExecutable(
        of process: Int32, device: UInt64, inode: UInt64, _ body: ([UInt8]) -> Void
    ) -> Bool {
        let number = unsafe open("/proc/\(process)/exe", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return false }
        let file = FileDescriptor(owning: number)
        guard let status = file.status(), UInt64(status.st_dev) == device, UInt64(status.st_ino) == inode,
            status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) <= executableLimit
        else { return false }
        var offset: Int64 = 0
        while offset < Int64(status.st_size) {
            let piece = file.read(1 << 18, at: offset)
            if piece.isEmpty { return false }
            body(piece)
            offset += Int64(piece.count)
        }
        return true
    }

    /// The content of a process's `cgroup` file; `nil` if it is not readable.
    package static func controlGroups(of process: Int32) -> String? {
        read("/proc/\(process)/cgroup", limit: 16_384)
    }

    private static func read(_ path: String, limit: Int) -> String? {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let bytes = FileDescriptor(owning: number).read(limit, at: 0)
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
