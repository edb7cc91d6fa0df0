/// The user and process of a peer, at the time of its connection (`SO_PEERCRED`).
public struct PeerCredentials: Sendable, Equatable {
    /// The user ID.
    public var uid: UInt32
    /// The process ID; 0 for a process that this PID namespace does not show.
    public var pid: Int32

    /// Makes credentials.
    public init(uid: UInt32, pid: Int32) {
        self.uid = uid
        self.pid = pid
    }
}

/// The file that a process runs.
public struct ExecutableFile: Sendable, Hashable {
    /// The path; one of a deleted file ends with " (deleted)".
    public var path: String
    /// The device.
    public var device: UInt64
    /// The inode.
    public var inode: UInt64
    /// The size in bytes.
    public var size: Int64
    /// The time of the last change of content or mode, in nanoseconds since 1970.
    public var changed: Int64

    /// Makes a description.
    public init(path: String, device: UInt64, inode: UInt64, size: Int64, changed: Int64) {
        self.path = path
        self.device = device
        self.inode = inode
        self.size = size
        self.changed = changed
    }

    /// The last component of the path.
    public var name: String {
        let last = path.split(separator: "/").last.map(String.init) ?? path
        return last.hasSuffix(" (deleted)") ? String(last.dropLast(10)) : last
    }
}

/// The kernel's metadata of a process (proc_pid_stat(5)).
public struct ProcessFacts: Sendable, Equatable {
    /// The start in clock ticks since boot.
    public var start: UInt64
    /// The parent's process ID.
    public var parent: Int32
    /// The name of the program, at most 15 bytes; the process can change it.
    public var name: String

    /// Makes metadata.
    public init(start: UInt64, parent: Int32, name: String) {
        self.start = start
        self.parent = parent
        self.name = name
    }
}

/// A reference to one process, which stays that of this process after its end (`SO_PEERPIDFD`).
public protocol PeerHandle: Sendable {
    /// Whether the process has not ended.
    var isAlive: Bool { get }
}

/// Processes of this machine, as the kernel describes them.
public protocol PeerProcesses: Sendable {
    /// The credentials of a connection's peer; `nil` if the kernel does not name them.
    func credentials(ofSocket descriptor: Int32) -> PeerCredentials?
    /// A reference to the peer; `nil` if the kernel has no `SO_PEERPIDFD` (before Linux 6.5).
    func handle(ofSocket descriptor: Int32) -> (any PeerHandle)?
    /// The metadata of a process; `nil` if the process has ended.
    func facts(of process: Int32) -> ProcessFacts?
    /// The file that a process runs; `nil` if the process does not show it, as a non-dumpable process.
    func executable(of process: Int32) -> ExecutableFile?
    /// SHA-256 of the file that a process runs; `nil` if the file is not readable, or is another file meanwhile.
    func digest(of process: Int32, expecting file: ExecutableFile) -> [UInt8]?
    /// The content of the process's `cgroup` file; `nil` if it is not readable.
    func controlGroups(of process: Int32) -> String?
}
