import Foundation
import Synchronization

/// A server of `Tests/Servers` that a script starts on a free port of the loopback, with data of its own.
///
/// It ends with ``stop()``, with the last reference, and with the test process.
final class ServerScript: Sendable {
    /// The folder of the scripts.
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Servers")

    /// The line of JSON that the script printed when its server was ready.
    let facts: Data
    private let folder: TemporaryFolder
    private let process: RunningProcess

    /// Starts a server and waits until it is ready.
    ///
    /// - Parameters:
    ///   - name: the script.
    ///   - environment: its whole environment, in addition to a `PATH`.
    /// - Throws: ``ServerFailure`` with its output; when it is not installed, with the words "run scripts/setup
    ///   test".
    convenience init(_ name: String, environment: [String: String]) throws {
        // Another program may take the free port before the server does.
        do { try self.init(name, environment, port: try freePort()) } catch {
            try self.init(name, environment, port: try freePort())
        }
    }

    private init(_ name: String, _ environment: [String: String], port: UInt16) throws {
        let folder = try TemporaryFolder()
        let process = try ChildProcess(
            Self.folder.appendingPathComponent(name).path, [String(port), folder.path + "/server"],
            environment: environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }
        ).start(input: .pipe)
        guard let line = try process.line(within: 240), !line.isEmpty else {
            process.closeInput()
            throw ServerFailure(description: try process.outcome(within: 60).standardError)
        }
        facts = Data(line.utf8)
        self.folder = folder
        self.process = process
    }

    deinit { stop() }

    /// Ends the server; a second call has no effect.
    func stop() {
        // Its script ends the server, by process id, when its input ends.
        process.closeInput()
        // One that does not end is killed with its group.
        if (try? process.status(within: 60)) == nil { process.kill() }
    }
}

/// The reason why a server, or a sign-in to it, did not work.
public struct ServerFailure: Error, CustomStringConvertible {
    /// The printed output, or the remedy.
    public let description: String
}

/// A TCP port of 127.0.0.1 that no process listens on, and that no other test of this process is given.
///
/// The kernel does not give it out by itself, to servers that ask for any port or to outgoing connections: one of
/// those might have it before the caller does.
public func freePort() throws -> UInt16 {
    for _ in 0..<1_000 {
        let port = nextPort.withLock { next in
            next = next >= 29_999 ? 12_000 : next + 1
            return next
        }
        if try isFree(port) { return port }
    }
    throw ServerFailure(description: "no free port")
}

/// The last port that was given out; each process begins at another one.
private let nextPort = Mutex(UInt16.random(in: 12_000..<30_000))

private func isFree(_ port: UInt16) throws -> Bool {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { throw ServerFailure(description: "no socket") }
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
