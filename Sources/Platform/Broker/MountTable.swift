import Glibc

/// The mounts that a process sees (proc_pid_mountinfo(5)).
struct MountTable: Sendable {
    /// A directory as the kernel knows it, whatever its path is.
    struct Place: Sendable, Equatable {
        /// The file system: major and minor number.
        let device: String
        /// The path in the file system, with the escapes of the table.
        let path: String
    }

    private struct Mount: Sendable {
        let point: String
        let place: Place
    }

    private var mounts: [Mount] = []

    /// The largest table that is read, in bytes.
    private static let limit = 4 << 20

    /// Reads the lines of a table.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ").map(String.init)
            guard fields.count > 5 else { continue }
            mounts.append(Mount(point: fields[4], place: Place(device: fields[2], path: fields[3])))
        }
    }

    /// The table of a process, such as `self`; `nil` if it is not readable.
    init?(ofProcess process: String) {
        let number = unsafe open("/proc/\(process)/mountinfo", O_RDONLY | O_CLOEXEC)
        guard number >= 0, let bytes = FileDescriptor(owning: number).readAll(limit: Self.limit, expected: 0) else {
            return nil
        }
        self.init(String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the place of a directory; `nil` without a mount for it.
    ///
    /// - Parameter path: an absolute path without symbolic links.
    func place(of path: String) -> Place? {
        let path = Self.escaped(path)
        var best: Mount?
        for mount in mounts where Self.isInside(path, mount.point) {
            // A later mount hides an earlier one at its point.
            if mount.point.utf8.count >= best?.point.utf8.count ?? 0 { best = mount }
        }
        guard let best else { return nil }
        let rest = best.point == "/" ? path : String(path.dropFirst(best.point.count))
        let base = best.place.path == "/" ? "" : best.place.path
        let inside = rest == "/" ? base : base + rest
        return Place(device: best.place.device, path: inside.isEmpty ? "/" : inside)
    }

    private static func isInside(_ path: String, _ point: String) -> Bool {
        point == "/" || path == point || path.hasPrefix(point + "/")
    }

    /// A path as the table writes it.
    private static func escaped(_ path: String) -> String {
        var result = ""
        for scalar in path.unicodeScalars {
            switch scalar {
            case " ": result += "\\040"
            case "\t": result += "\\011"
            case "\n": result += "\\012"
            case "\\": result += "\\134"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether another process sees the same directory at a path as this one.
    ///
    /// - Returns: `false` also if that is unknown.
    static func isShared(_ directory: String, with process: pid_t) -> Bool {
        guard let real = unsafe realpath(directory, nil) else { return false }
        defer { unsafe free(real) }
        let path = unsafe String(cString: real)
        guard let own = MountTable(ofProcess: "self")?.place(of: path) else { return false }
        return MountTable(ofProcess: String(process))?.place(of: path) == own
    }
}
