import CredentialCore
import Foundation
import TestSupport
import Testing

@testable import Platform

/// Locks and control sockets of brokers.
@Suite struct BrokerPlacesTests {
    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    private var places: BrokerPlaces { BrokerPlaces(runtime: temporary.path) }

    @Test func `stop fails when a starting server makes no control socket in time`() throws {
        let lock = try places.lock("b")
        let error = #expect(throws: CredentialError.self) { try places.stop("b", milliseconds: 100) }
        #expect(error?.code == .temporary)
        lock.release()
        #expect(try !places.stop("b", milliseconds: 100))
    }

    @Test(.timeLimit(.minutes(1)))
    func `stop fails and names the file when an unknown process has the lock`() throws {
        let lock = try places.lock("b"), file = temporary.path + "/credmgr/brokers/b.lock"
        // Other programs write no process ID into the file.
        #expect(truncate(file, 0) == 0)
        let error = #expect(throws: CredentialError.self) { try places.stop("b", milliseconds: 100) }
        #expect(error?.code == .temporary)
        #expect(error?.message == "broker b has not ended: an unknown process has locked \(file)")
        #expect(error?.hint?.contains(file) == true)
        lock.release()
    }

    @Test func `stop names the process when a server does not end in time`() throws {
        let lock = try places.lock("b"), control = try places.control("b"), number = control.number
        #expect(number >= 0)
        let error = #expect(throws: CredentialError.self) { try places.stop("b", milliseconds: 100) }
        #expect(error?.code == .temporary)
        #expect(error?.message.contains("process \(getpid()) has locked ") == true)
        lock.release()
    }

    @Test func `stop waits for the control socket when a server has just taken the lock`() throws {
        let lock = try places.lock("b"), places = places
        let isDone = DispatchSemaphore(value: 0)
        Thread {
            // The server ends at once: it closes its control socket with the connections in its queue.
            if let control = try? places.control("b") {
                close(accept(control.number, nil, nil))
            }
            isDone.signal()
        }.start()
        #expect(try places.stop("b", milliseconds: 20_000))
        #expect(isDone.wait(timeout: .now() + 20) == .success)
        lock.release()
    }

    @Test func `stop removes the socket of a broker without a server`() throws {
        try places.makeDirectory(of: "b")
        let path = places.socket(of: "b")
        // systemd listens like this until a connection comes.
        let kept = try UnixSocket.listen(at: path, mode: 0o600), number = kept.number
        #expect(number >= 0)
        #expect(try !places.stop("b", milliseconds: 100))
        #expect(!exists(path))
    }

    @Test func `a socket at another path is shown as long as its server has the lock`() throws {
        let usual = places.socket(of: "b"), path = temporary.path + "/own/sock"
        try makeOwnFolder()
        let lock = try places.lock("b")
        let listener = try places.listen(at: path, group: nil), number = listener.number
        #expect(number >= 0)
        #expect(places.socket(of: "b") == path)
        #expect(places.socket(of: "c") != path)
        lock.release()
        #expect(places.socket(of: "b") == usual)
        let next = try places.lock("b")
        #expect(places.socket(of: "b") == path)
        places.removeSocket(path)
        #expect(places.socket(of: "b") == usual)
        next.release()
    }

    // MARK: The end of a server

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func makeOwnFolder() throws {
        try FileManager.default.createDirectory(
            atPath: temporary.path + "/own", withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
    }

    private func server(
        at path: String, isPassed: Bool = false, remaining: @escaping @Sendable (Int, Int64) -> Int64?
    ) throws -> UnixServer {
        try UnixServer(
            listener: try UnixSocket.listen(at: path, mode: 0o600), control: try places.control("b"),
            rules: UnixServer.Rules(connections: { 8 }, remaining: remaining), isPassed: isPassed)
    }

    @Test func `a server that is asked to end removes its path and closes waiting connections`() throws {
        let path = temporary.path + "/sock", server = try server(at: path) { _, _ in nil }
        let waiting = try UnixSocket.connect(to: path)
        server.end()
        let ending = try server.run(signals: false) { _ in Issue.record("a connection is served") }
        #expect(ending == .request)
        #expect(!exists(path))
        #expect(try waiting.read(atMost: 16, deadlineMilliseconds: 10_000).isEmpty)
    }

    @Test func `a server that ends by its rules leaves its path`() throws {
        let path = temporary.path + "/sock", server = try server(at: path) { _, _ in 0 }
        let ending = try server.run(signals: false) { _ in }
        #expect(ending == .rules)
        #expect(exists(path))
    }

    @Test(arguments: [true, false]) func `a server whose path is gone serves no connection`(isPassed: Bool) throws {
        let path = temporary.path + "/sock", server = try server(at: path, isPassed: isPassed) { _, _ in 0 }
        let waiting = try UnixSocket.connect(to: path)
        try FileManager.default.removeItem(atPath: path)
        let ending = try server.run(signals: false) { _ in Issue.record("a connection is served") }
        #expect(ending == .request)
        #expect(try waiting.read(atMost: 16, deadlineMilliseconds: 10_000).isEmpty)
    }
}
