import Broker
import CredentialCore
import Synchronization
import Testing

/// Processes that a test describes.
final class MemoryPeers: PeerProcesses {
    struct Process: Sendable {
        var facts: ProcessFacts?
        var file: ExecutableFile?
        var groups: String?
    }

    struct Handle: PeerHandle { let isAlive: Bool }

    let credentials: PeerCredentials?
    /// `nil` for a kernel without `SO_PEERPIDFD`.
    let isAlive: Bool?
    let processes: Mutex<[Int32: Process]>
    /// Called after the executable was read.
    let change: @Sendable (inout [Int32: Process]) -> Void
    let digests = Atomic<Int>(0)

    init(
        _ credentials: PeerCredentials?, _ processes: [Int32: Process], isAlive: Bool? = true,
        change: @escaping @Sendable (inout [Int32: Process]) -> Void = { _ in }
    ) {
        self.credentials = credentials
        self.processes = Mutex(processes)
        self.isAlive = isAlive
        self.change = change
    }

    func credentials(ofSocket descriptor: Int32) -> PeerCredentials? { credentials }
    func handle(ofSocket descriptor: Int32) -> (any PeerHandle)? { isAlive.map(Handle.init) }
    func facts(of process: Int32) -> ProcessFacts? { processes.withLock { $0[process]?.facts } }
    func executable(of process: Int32) -> ExecutableFile? {
        processes.withLock { processes in
            let file = processes[process]?.file
            change(&processes)
            return file
        }
    }
    func digest(of process: Int32, expecting file: ExecutableFile) -> [UInt8]? {
        digests.add(1, ordering: .relaxed)
        return [UInt8](repeating: 0xAB, count: 32)
    }
    func controlGroups(of process: Int32) -> String? { processes.withLock { $0[process]?.groups } }
}

@Suite struct CallerTests {
    private static let peer = PeerCredentials(uid: 1_000, pid: 42)
    private static let git = ExecutableFile(path: "/usr/bin/git", device: 0x801, inode: 7, size: 9, changed: 1)

    private static func process(
        _ file: ExecutableFile? = git, groups: String? = "0::/user.slice/user-1000.slice/session-3.scope\n",
        parent: Int32 = 1, start: UInt64 = 500, name: String = "git"
    ) -> MemoryPeers.Process {
        MemoryPeers.Process(facts: ProcessFacts(start: start, parent: parent, name: name), file: file, groups: groups)
    }

    private func caller(_ peers: MemoryPeers, usesDigests: Bool = true) throws -> Caller {
        try KernelCallerIdentifier(peers, usesDigests: usesDigests).caller(ofSocket: 3)
    }

    @Test(arguments: [true, nil])
    func `KernelCallerIdentifier names an executable by device, inode and digest`(isAlive: Bool?) throws {
        let caller = try caller(MemoryPeers(Self.peer, [42: Self.process()], isAlive: isAlive))
        #expect(caller.key == CallerKey(kind: .exe, value: "801:7:abababababababab"))
        #expect(caller.executable == "/usr/bin/git")
        #expect(caller.start == 500)
        #expect(caller.cgroup == "/user.slice/user-1000.slice/session-3.scope")
    }

    @Test func `KernelCallerIdentifier computes a digest once for the same file`() throws {
        let peers = MemoryPeers(Self.peer, [42: Self.process()])
        let identifier = KernelCallerIdentifier(peers, usesDigests: true)
        let keys = try (0..<3).map { _ in try identifier.caller(ofSocket: 3).key }
        #expect(Set(keys).count == 1)
        #expect(peers.digests.load(ordering: .relaxed) == 1)
    }

    @Test func `KernelCallerIdentifier computes no digest when the broker never prompts`() throws {
        let peers = MemoryPeers(Self.peer, [42: Self.process()])
        #expect(try caller(peers, usesDigests: false).key.value == "801:7")
        #expect(peers.digests.load(ordering: .relaxed) == 0)
    }

    @Test(arguments: [
        "python3", "python3.11", "sh", "bash", "dash", "node", "perl5.36.0", "ruby3.1", "busybox", "java", "credmgr",
        "qemu-x86_64", "ld-linux-x86-64.so.2", "php8.2", "lua5.4",
    ])
    func `KernelCallerIdentifier takes an interpreter for no key`(name: String) throws {
        var file = Self.git
        file.path = "/usr/bin/\(name)"
        #expect(
            try caller(MemoryPeers(Self.peer, [42: Self.process(file)])).key == CallerKey(kind: .uid, value: "1000"))
    }

    @Test(arguments: ["shellcheck", "nodemon", "pythonista", "git", "javac"])
    func `KernelCallerIdentifier takes another program for a key`(name: String) throws {
        var file = Self.git
        file.path = "/usr/bin/\(name)"
        #expect(try caller(MemoryPeers(Self.peer, [42: Self.process(file)])).key.kind == .exe)
    }

    @Test func `KernelCallerIdentifier falls to the user when the executable is not readable`() throws {
        let caller = try caller(MemoryPeers(Self.peer, [42: Self.process(nil)]))
        #expect(caller.key == CallerKey(kind: .uid, value: "1000"))
        #expect(caller.start == 500)
    }

    @Test func `KernelCallerIdentifier knows only the user when the process has ended`() throws {
        let unknown = Caller.unknown(uid: 1_000, pid: 42)
        #expect(try caller(MemoryPeers(Self.peer, [:])) == unknown)
        #expect(try caller(MemoryPeers(Self.peer, [42: Self.process()], isAlive: false)) == unknown)
        #expect(
            try caller(MemoryPeers(PeerCredentials(uid: 1_000, pid: 0), [:])) == .unknown(uid: 1_000, pid: 0))
    }

    @Test func `KernelCallerIdentifier knows only the user when the process ID has another process`() throws {
        let peers = MemoryPeers(Self.peer, [42: Self.process()], isAlive: nil) { $0[42]?.facts?.start = 900 }
        #expect(try caller(peers) == .unknown(uid: 1_000, pid: 42))
    }

    @Test func `KernelCallerIdentifier knows only the user when the process runs another file meanwhile`() throws {
        let peers = MemoryPeers(Self.peer, [42: Self.process()]) { $0[42]?.file?.inode = 8 }
        #expect(try caller(peers) == .unknown(uid: 1_000, pid: 42))
    }

    @Test func `KernelCallerIdentifier fails when the kernel names no user`() {
        #expect(throws: CredentialError.self) { try caller(MemoryPeers(nil, [:])) }
    }

    @Test func `KernelCallerIdentifier names a service and a container before the executable`() throws {
        let service = Self.process(groups: "0::/system.slice/backup.service\n")
        #expect(
            try caller(MemoryPeers(Self.peer, [42: service])).key == CallerKey(kind: .unit, value: "backup.service"))
        let id = String(repeating: "0123456789abcdef", count: 4)
        let container = Self.process(groups: "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-\(id).scope\n")
        #expect(
            try caller(MemoryPeers(Self.peer, [42: container])).key
                == CallerKey(kind: .container, value: "libpod-\(id)"))
    }

    @Test func `KernelCallerIdentifier names each connection of OpenSSH`() throws {
        let session = MemoryPeers(
            Self.peer,
            [
                42: Self.process(parent: 41), 41: Self.process(parent: 40, name: "bash"),
                40: Self.process(parent: 30, start: 77, name: "sshd-session"), 30: Self.process(name: "sshd"),
            ])
        let caller = try caller(session)
        #expect(caller.key == CallerKey(kind: .ssh, value: "40.77"))
        #expect(caller.ssh == "session")
        var file = Self.git
        file.path = "/usr/bin/ssh"
        let client = try self.caller(MemoryPeers(Self.peer, [42: Self.process(file)]))
        #expect(client.key == CallerKey(kind: .ssh, value: "42.500"))
        #expect(client.ssh == "client")
        let group = Self.process(groups: "0::/system.slice/ssh.service\n")
        #expect(try self.caller(MemoryPeers(Self.peer, [42: group])).key.kind == .ssh)
    }
}

@Suite struct ControlGroupTests {
    private static let id = String(repeating: "0123456789abcdef", count: 4)

    @Test(arguments: [
        ("/system.slice/docker-\(id).scope", "docker-\(id)"), ("/docker/\(id)", "docker-\(id)"),
        ("/machine.slice/libpod-\(id).scope/container", "libpod-\(id)"),
        ("/user.slice/libpod-\(id)", "libpod-\(id)"),
        ("/kubepods.slice/cri-containerd-\(id).scope", "cri-containerd-\(id)"),
        ("/machine.slice/machine-web.scope", "machine-web"), ("/lxc.payload.web/init.scope", "lxc.payload.web"),
    ])
    func `ControlGroup finds a container`(path: String, container: String) {
        #expect(ControlGroup(file: "0::\(path)\n")?.container == container)
    }

    @Test(arguments: [
        "/", "/user.slice/libpod-conmon-\(id).scope", "/system.slice/docker.service", "/machine.slice",
        "/user.slice/docker-short.scope",
    ])
    func `ControlGroup finds no container elsewhere`(path: String) {
        #expect(ControlGroup(file: "0::\(path)\n")?.container == nil)
    }

    @Test func `ControlGroup finds the innermost service`() {
        func unit(_ path: String) -> String? { ControlGroup(file: "0::\(path)\n")?.unit }
        #expect(unit("/system.slice/backup.service") == "backup.service")
        #expect(unit("/system.slice/backup.service/worker") == "backup.service")
        #expect(unit("/user.slice/user-1.slice/user@1.service/app.slice/agent.service") == "agent.service")
        #expect(unit("/user.slice/user-1.slice/user@1.service/app.slice/vte-1.scope") == nil)
        #expect(unit("/user.slice/user-1.slice/user@1.service") == nil)
        #expect(unit("/user.slice/user-1.slice/session-2.scope") == nil)
    }

    @Test func `ControlGroup reads both versions of the file`() {
        #expect(ControlGroup(file: "9:name=systemd:/a\n8:pids:/b\n0::/\n")?.path == "/a")
        #expect(ControlGroup(file: "1:name=systemd:/a\n0::/c\n")?.path == "/c")
        #expect(ControlGroup(file: "0::/\n")?.path == "/")
        #expect(ControlGroup(file: "x\n") == nil)
    }
}
