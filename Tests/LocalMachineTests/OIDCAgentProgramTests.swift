import Broker
import CredentialCore
import Foundation
import Glibc
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import LocalMachine

/// The language of oidc-agent with its real clients.
@Suite(.serialized) struct OIDCAgentProgramTests {
    private static let program = "/usr/bin/oidc-token"
    private static let installed = Need(
        "oidc-token", isThere: FileManager.default.isExecutableFile(atPath: program))
    private static let python = NSHomeDirectory() + "/.cache/credmgr-tests/clients/bin/python3"
    private static let library = Need(
        "liboidcagent of PyPI",
        isThere: (try? ChildProcess(python, ["-c", "import liboidcagent"]).run(seconds: 60))?.exitStatus == 0)

    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    /// Serves connections on a socket while a program runs.
    private func run(_ words: [String]) throws -> (output: String, errors: String, status: Int32, asks: [TokenAsk])
    {
        let path = temporary.path + "/sock"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(listener >= 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(listener, 8) == 0)
        defer {
            close(listener)
            unlink(path)
        }
        let machine = try LocalMachine(
            environment: ["HOME": temporary.path], userAgent: "test", supervisor: nil)
        let releaser = OneTokenReleaser(), boxes = LocalBrokerRecords(machine).boxes
        Thread.detachNewThread {
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                let connection = SocketConnection(socket)
                if let first = try? connection.read(atMost: 1 << 14, deadlineMilliseconds: 5_000) {
                    OIDCAgentConversation(releaser, boxes: boxes, clock: TestBootClock()) { _, _ in }
                        .serve(connection, first: first, caller: .unknown(uid: 0, pid: 0))
                }
                close(socket)
            }
        }
        let outcome = try ChildProcess(
            words[0], Array(words.dropFirst()),
            environment: ["OIDC_SOCK": path, "HOME": temporary.path, "PATH": "/usr/bin:/bin"]
        ).run(seconds: 60)
        return (
            outcome.standardOutput, outcome.standardError, outcome.exitStatus, releaser.asks.withLock { $0 }
        )
    }

    @Test(.needs(installed))
    func `oidc-token prints the token of an entry`() throws {
        let result = try run([Self.program, "--time=60", "--scope=read write", "work"])
        #expect(result.output.contains("T0KEN"), "\(result.errors)")
        #expect(result.status == 0)
        #expect(result.asks.last?.entry == "work")
        #expect(result.asks.last?.scope == ["read", "write"])
        #expect(result.asks.last?.minValid == 60)
    }

    @Test(.needs(installed))
    func `oidc-token prints the token of an issuer`() throws {
        let result = try run([Self.program, "https://login.example.com"])
        #expect(result.output.contains("T0KEN"), "\(result.errors)")
    }

    @Test(.needs(installed))
    func `oidc-token prints the error of the broker`() throws {
        let result = try run([Self.program, "other"])
        #expect(result.status != 0)
        #expect((result.errors + result.output).contains("denied: not_in_broker"), "\(result)")
    }

    @Test(.needs(library))
    func `liboidcagent returns the token of an entry and of an issuer`() throws {
        let script = """
            import liboidcagent as agent
            print(agent.get_access_token("work"))
            print(agent.get_token_response_by_issuer_url("https://login.example.com", 60)[2])
            """
        let result = try run([Self.python, "-c", script])
        #expect(result.output.contains("T0KEN"), "\(result.errors)")
        #expect(result.output.contains("1795700000"), "\(result.errors)")
    }
}

private struct TestBootClock: BootClock {
    var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000
    }
}

private final class OneTokenReleaser: TokenReleaser {
    let asks = Mutex<[TokenAsk]>([])

    func release(_ ask: TokenAsk, to caller: Caller) throws(BrokerFailure) -> ReleasedToken {
        asks.withLock { $0.append(ask) }
        guard ask.entry == "work" || ask.issuer?.hasPrefix("https://login.example.com") == true else {
            throw .denied(.notInBroker)
        }
        return ReleasedToken(
            accessToken: Secret("T0KEN"), expiresOn: 1_795_700_000, issuer: "https://login.example.com/",
            accountID: "a", accountType: "Work")
    }

    func entries() -> [BrokerEntry] { [BrokerEntry(name: "work", type: "Work")] }
    func issuer(of entry: BrokerEntry) -> String? { "https://login.example.com/" }
    func helper(
        _ helper: BrokerHelper, input: JSONObject, entry: String?, to caller: Caller
    ) throws(BrokerFailure) -> JSONObject { throw BrokerFailure(.failed) }
}

private final class SocketConnection: BrokerConnection {
    private let socket: Int32

    init(_ socket: Int32) { self.socket = socket }

    func read(atMost limit: Int, deadlineMilliseconds milliseconds: Int) throws(CredentialError) -> [UInt8] {
        var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&polled, 1, Int32(clamping: milliseconds)) > 0 else { throw CredentialError(.temporary, "late") }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = recv(socket, &bytes, limit, 0)
        guard count >= 0 else { throw CredentialError(.inputOutput, "closed") }
        return Array(bytes[..<count])
    }

    func write(_ bytes: [UInt8]) throws(CredentialError) {
        guard send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw CredentialError(.inputOutput, "closed")
        }
    }
}
