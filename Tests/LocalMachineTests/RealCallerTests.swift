import Broker
import CredentialCore
import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalMachine

/// Callers that are real processes.
@Suite(.serialized) struct RealCallerTests {
    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    /// Listens, runs a program that connects, and identifies it once it has printed a line (if `waits`).
    private func caller(
        _ words: [String], waits: Bool = true, hasHandles: Bool = true,
        _ check: (RunningProcess) throws -> Void = { _ in }
    ) throws -> Caller {
        let path = temporary.path + "/sock"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(listener >= 0)
        defer { close(listener) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        try #require(listen(listener, 8) == 0)
        let process = try ChildProcess(words[0], words.dropFirst().map { $0 == "SOCK" ? path : $0 })
            .start(input: .pipe)
        defer { process.kill() }
        var polled = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        try #require(poll(&polled, 1, 20_000) == 1)
        let connection = accept(listener, nil, nil)
        try #require(connection >= 0)
        defer { close(connection) }
        if waits { #expect(try process.line() != nil) }
        try check(process)
        return try KernelCallerIdentifier(LinuxPeerProcesses(hasHandles: hasHandles), usesDigests: true)
            .caller(ofSocket: connection)
    }

    private static let connect = """
        import socket, sys, os
        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])

        """

    private func python(_ script: String) -> [String] { ["/usr/bin/python3", "-c", Self.connect + script, "SOCK"] }

    @Test(arguments: [true, false])
    func `a program that connects has its executable as key`(hasHandles: Bool) throws {
        let found = try caller(
            ["/usr/bin/curl", "-s", "--unix-socket", "SOCK", "http://x/"], waits: false, hasHandles: hasHandles)
        #expect(found.executable == "/usr/bin/curl")
        #expect(found.uid == geteuid())
        #expect(
            found.key.kind == .exe || found.key.kind == .unit || found.key.kind == .container
                || found.key.kind == .ssh)
        #expect(found.start != nil)
    }

    @Test func `an interpreter that connects has another key than its executable`() throws {
        let found = try caller(python("print(1, flush=True); sys.stdin.read()"))
        #expect(found.executable?.contains("python") == true)
        #expect(found.key.kind != .exe)
    }

    @Test(arguments: [true, false])
    func `a program that replaced itself after the connection is the program that it runs now`(hasHandles: Bool)
        throws
    {
        let found = try caller(
            python(
                """
                os.set_inheritable(s.fileno(), True); os.set_inheritable(1, True)
                os.execv("/bin/cat", ["cat", "/proc/self/stat", "-"])
                """), hasHandles: hasHandles)
        #expect(found.executable?.hasSuffix("/cat") == true)
    }

    @Test(arguments: [true, false])
    func `a program that has ended is unknown`(hasHandles: Bool) throws {
        // A child keeps the connection open, and prints after its parent has ended.
        let found = try caller(
            python(
                """
                r, w = os.pipe()
                if os.fork() == 0:
                    os.close(w); os.read(r, 1); print(1, flush=True); sys.stdin.read()
                os._exit(0)
                """), hasHandles: hasHandles
        ) { try $0.status() }
        #expect(found == .unknown(uid: geteuid(), pid: found.pid))
        #expect(found.key == CallerKey(kind: .uid, value: String(geteuid())))
    }

    @Test func `a program that is not dumpable has a start and a user`() throws {
        let found = try caller(
            python(
                """
                import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
                print(1, flush=True); sys.stdin.read()
                """))
        #expect(found.uid == geteuid())
        #expect(found.start != nil)
    }
}
