public import CredentialCore
import Synchronization

/// Identifies callers by the kernel's data about the process at the other end.
///
/// The process may end or become another one while it is looked at. A reference of the kernel to the process shows
/// that; without one, the start times before and after must be the same. A caller that changed meanwhile counts as
/// unknown.
public final class KernelCallerIdentifier: CallerIdentifier {
    /// The number of digests that are kept.
    private static let cacheLimit = 256
    /// The number of ancestors that are searched for OpenSSH's server.
    private static let ancestorLimit = 64
    /// The digits of a digest in a key.
    private static let digestLength = 16

    private let processes: any PeerProcesses
    private let usesDigests: Bool
    private let digests = Mutex<[ExecutableFile: String]>([:])

    /// Makes an identifier.
    ///
    /// - Parameters:
    ///   - processes: the kernel's view.
    ///   - usesDigests: whether keys have the digest of the executable: `false` for a broker that never prompts.
    public init(_ processes: any PeerProcesses, usesDigests: Bool) {
        self.processes = processes
        self.usesDigests = usesDigests
    }

    /// Identifies the caller: see ``CallerIdentifier/caller(ofSocket:)``.
    public func caller(ofSocket descriptor: Int32) throws(CredentialError) -> Caller {
        guard let peer = processes.credentials(ofSocket: descriptor) else {
            throw CredentialError(.inputOutput, "cannot identify the caller: the kernel does not name its user")
        }
        let unknown = Caller.unknown(uid: peer.uid, pid: peer.pid)
        let handle = processes.handle(ofSocket: descriptor)
        guard peer.pid > 0, let before = processes.facts(of: peer.pid), handle?.isAlive ?? true else {
            return unknown
        }
        let file = processes.executable(of: peer.pid)
        let group = processes.controlGroups(of: peer.pid).flatMap(ControlGroup.init(file:))
        let ssh = ssh(peer.pid, before, file, group)
        let key = key(peer, file, group, ssh)
        // After the reads: the process ID may be that of another process now, and the process may run another file.
        guard handle?.isAlive ?? true, processes.facts(of: peer.pid)?.start == before.start,
            processes.executable(of: peer.pid) == file
        else { return unknown }
        return Caller(
            uid: peer.uid, pid: peer.pid, start: before.start, executable: file?.path, cgroup: group?.path,
            ssh: ssh?.kind, key: key)
    }

    private func key(
        _ peer: PeerCredentials, _ file: ExecutableFile?, _ group: ControlGroup?,
        _ ssh: (kind: String, value: String)?
    ) -> CallerKey {
        if let container = group?.container { return CallerKey(kind: .container, value: container) }
        if let ssh { return CallerKey(kind: .ssh, value: ssh.value) }
        if let unit = group?.unit { return CallerKey(kind: .unit, value: unit) }
        if let file, !Interpreters.contains(file.name), let value = value(of: file, peer.pid) {
            return CallerKey(kind: .exe, value: value)
        }
        return CallerKey(kind: .uid, value: String(peer.uid))
    }

    private func value(of file: ExecutableFile, _ process: Int32) -> String? {
        let place = "\(String(file.device, radix: 16)):\(file.inode)"
        guard usesDigests else { return place }
        if let known = digests.withLock({ $0[file] }) { return "\(place):\(known)" }
        guard let digest = processes.digest(of: process, expecting: file) else { return nil }
        let text = String(AuditLine.hexadecimal(digest).prefix(Self.digestLength))
        digests.withLock { digests in
            if digests.count >= Self.cacheLimit { digests = [:] }
            digests[file] = text
        }
        return "\(place):\(text)"
    }

    /// The connection of OpenSSH that the caller is part of: its own client, which forwards the socket, or a
    /// session of the server. Each connection has a key of its own.
    private func ssh(
        _ process: Int32, _ facts: ProcessFacts, _ file: ExecutableFile?, _ group: ControlGroup?
    ) -> (kind: String, value: String)? {
        if file?.name == "ssh" { return ("client", "\(process).\(facts.start)") }
        var number = process, current: ProcessFacts? = facts
        for _ in 0..<Self.ancestorLimit {
            guard let seen = current else { break }
            if seen.name == "sshd" || seen.name == "sshd-session" { return ("session", "\(number).\(seen.start)") }
            number = seen.parent
            guard number > 1 else { break }
            current = processes.facts(of: number)
        }
        return group?.isOfSSH == true ? ("session", "\(process).\(facts.start)") : nil
    }
}

/// Programs that run other programs' code, so that their file does not name a caller.
enum Interpreters {
    private static let names: Set<String> = [
        "ash", "awk", "bash", "bun", "busybox", "bwrap", "credmgr", "csh", "dash", "deno", "dotnet", "elvish",
        "env",
        "erl", "beam.smp", "expect", "fish", "gawk", "gdb", "ghc", "guile", "java", "julia", "ksh", "lua", "luajit",
        "m4",
        "mawk", "mksh", "nc", "ncat", "netcat", "node", "nodejs", "nu", "nushell", "octave-cli", "perl", "php",
        "podman", "pwsh", "python", "R", "ruby", "runc", "crun", "sbcl", "sh", "socat", "ssh-agent", "strace",
        "tclsh",
        "tcsh", "wish", "xonsh", "yash", "zsh",
    ]
    /// The beginnings of names that end with a version, or an architecture.
    private static let families = [
        "python", "pypy", "perl", "ruby", "php", "lua", "node", "tclsh", "ld-linux", "ld-musl", "ld.so", "qemu-",
        "java",
        "guile", "bash", "nc.",
    ]

    /// Whether a name is that of an interpreter.
    static func contains(_ name: String) -> Bool {
        if names.contains(name) { return true }
        return families.contains { family in
            guard name.hasPrefix(family) else { return false }
            guard let next = name.dropFirst(family.utf8.count).utf8.first else { return true }
            return !(0x61...0x7A).contains(next) || family.utf8.last == UInt8(ascii: "-") || family.hasPrefix("ld")
                || family.utf8.last == UInt8(ascii: ".")
        }
    }
}
