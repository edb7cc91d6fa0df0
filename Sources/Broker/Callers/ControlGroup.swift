/// The control group of a process, read from `/proc/PID/cgroup` (cgroups(7)).
public struct ControlGroup: Sendable, Equatable {
    /// The path from the root of the hierarchy.
    public let path: String

    /// The beginnings of the names that container engines give to groups, each followed by the container's ID.
    private static let engines = ["libpod", "docker", "crio", "cri-containerd", "nerdctl", "lxc.payload.", "machine"]
    /// The names of the units of OpenSSH's server.
    private static let sshUnits = ["ssh.service", "sshd.service"]

    /// Reads the content of the file: the group of version 2, else the one that systemd manages.
    ///
    /// - Returns: `nil` if the file names no such group.
    public init?(file: String) {
        var found: Substring?
        for line in file.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[2].hasPrefix("/") else { continue }
            if fields[1].isEmpty, fields[2] != "/" || found == nil { found = fields[2] }
            if fields[1] == "name=systemd", found == nil || found == "/" { found = fields[2] }
        }
        guard let found else { return nil }
        path = String(found)
    }

    private var components: [Substring] { path.split(separator: "/") }

    /// The name of the innermost container, such as `libpod-0123…`; `nil` outside of containers.
    public var container: String? {
        for index in components.indices.reversed() {
            let name = Self.without(".scope", components[index])
            if let engine = Self.engines.first(where: { name.hasPrefix($0) }) {
                let id = name.dropFirst(engine.utf8.count).drop { $0 == "-" || $0 == "." }
                if Self.isContainerID(id) || engine == "lxc.payload." || engine == "machine" && name != components[index],
                    !id.isEmpty
                {
                    return String(name)
                }
            }
            // Version 1, and engines without systemd: `/docker/ID`.
            if Self.isContainerID(name), index > 0, Self.engines.contains(String(components[index - 1])) {
                return "\(components[index - 1])-\(name)"
            }
        }
        return nil
    }

    /// The innermost service of systemd, such as `backup.service`; `nil` for a session, a slice or a scope.
    public var unit: String? {
        for name in components.reversed() {
            if name.hasSuffix(".scope") || name.hasSuffix(".slice") { return nil }
            guard name.hasSuffix(".service") else { continue }
            // The manager of a user is the unit of all that the user runs.
            return name.hasPrefix("user@") ? nil : String(name)
        }
        return nil
    }

    /// Whether the group is of OpenSSH's server.
    public var isOfSSH: Bool {
        components.contains { name in
            Self.sshUnits.contains(String(name))
                || (name.hasPrefix("ssh@") || name.hasPrefix("sshd@")) && name.hasSuffix(".service")
        }
    }

    private static func without(_ suffix: String, _ text: Substring) -> Substring {
        text.hasSuffix(suffix) ? text.dropLast(suffix.utf8.count) : text
    }

    private static func isContainerID(_ text: Substring) -> Bool {
        (12...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
