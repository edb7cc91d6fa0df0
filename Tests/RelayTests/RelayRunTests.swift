import CredentialCore
import Foundation
import Platform
import Relay
import Synchronization
import TestSupport
import Testing

/// A relay at the socket of a broker that replies with the same token to each request.
@Suite(.serialized) struct RelayRunTests {
    private let temporary: TemporaryFolder
    private var socket: String { temporary.path + "/sock" }

    init() throws { temporary = try TemporaryFolder() }

    /// The time limit of a wait, in seconds.
    private static let limit = 20.0

    /// Serves so many connections, each with one request.
    private func serve(_ count: Int) throws -> DispatchSemaphore {
        #expect(chmod(temporary.path, 0o700) == 0)
        let listener = try UnixSocket.listen(at: socket, mode: 0o600), done = DispatchSemaphore(value: 0)
        let number = dup(listener.number)
        Thread.detachNewThread {
            for _ in 0..<count {
                let accepted = accept(number, nil, nil)
                if accepted < 0 { break }
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let size = read(accepted, &bytes, bytes.count)
                let isHello = String(decoding: bytes[..<max(0, size)], as: UTF8.self).contains("hello")
                // Other threads take the signal of the command's end here: the relay sees the end when the token
                // ends, after 5 s.
                let text =
                    isHello
                    ? #"{"ok":true,"clouds":[],"speak":["credmgr"],"netns":null}"#
                    : #"{"ok":true,"access_token":"at-1","expires_on":1}"#
                let reply = Array(text.utf8) + [0x0A]
                _ = write(accepted, reply, reply.count)
                close(accepted)
            }
            close(number)
            done.signal()
        }
        return done
    }

    private func run(_ files: [String], _ command: [String]) -> Result<TerminationStatus, CredentialError> {
        let arguments = RelayArguments(
            socket: socket, files: files.map { .init(entry: "work", path: $0) }, command: command)
        let result = OneShot<TerminationStatus, CredentialError>()
        // The relay keeps the signals of its thread.
        Thread.detachNewThread {
            do throws(CredentialError) {
                let relay = Relay(arguments, environment: ["PATH": "/usr/bin:/bin"]) { _ in }
                result.put(.success(try relay.run(caller: nil)))
            } catch { result.put(.failure(error)) }
        }
        return result.take(until: Deadline(milliseconds: Int32(Self.limit * 1_000)))
            ?? .failure(CredentialError(.temporary, "the relay has not ended"))
    }

    private func content(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    @Test func `Relay leaves a file that was there, and removes its own when it refuses`() throws {
        let done = try serve(3), own = temporary.path + "/own", theirs = temporary.path + "/theirs"
        try "mine".write(toFile: theirs, atomically: true, encoding: .utf8)
        guard case .failure(let error) = run([own, theirs], ["true"]) else {
            Issue.record("the relay has written the file")
            return
        }
        #expect(error.code == .usage && error.message.contains("already exists"))
        #expect(content(theirs) == "mine" && content(own) == nil)
        #expect(done.wait(timeout: .now() + Self.limit) == .success)
    }

    @Test func `Relay removes its file, and keeps one that the command put in its place`() throws {
        let done = try serve(3), own = temporary.path + "/own", changed = temporary.path + "/changed"
        let script = """
            cat '\(own)' >'\(temporary.path)/seen'
            echo new >'\(changed).x' && mv '\(changed).x' '\(changed)'
            """
        let result = run([own, changed], ["sh", "-c", script])
        guard case .success(let ending) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(ending == .exited(0) && content(temporary.path + "/seen") == "at-1")
        #expect(content(own) == nil && content(changed) == "new\n")
        #expect(done.wait(timeout: .now() + Self.limit) == .success)
    }

    @Test func `RelayFile writes anew only the file that it wrote`() throws {
        let path = temporary.path + "/token", file = try RelayFile(path, Array("a".utf8))
        try file.replace(Array("b".utf8))
        #expect(content(path) == "b")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try FileManager.default.removeItem(atPath: path)
        try file.replace(Array("c".utf8))
        #expect(content(path) == "c")
        try "mine".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: CredentialError.self) { try file.replace(Array("d".utf8)) }
        try file.remove()
        #expect(content(path) == "mine")
        #expect(throws: CredentialError.self) { try RelayFile(path, []) }
    }

    @Test func `HeldSignals keeps a signal until the release`() {
        let pendingWhileHeld = OneShot<Bool, Never>()
        Thread.detachNewThread {
            // The threads of a test have signals blocked.
            var own = sigset_t()
            sigemptyset(&own)
            sigaddset(&own, SIGUSR1)
            pthread_sigmask(SIG_UNBLOCK, &own, nil)
            let held = HeldSignals()
            pthread_kill(pthread_self(), SIGUSR1)
            var pending = sigset_t()
            sigpending(&pending)
            let isPending = sigismember(&pending, SIGUSR1) == 1
            var taken = sigset_t(), limit = timespec(tv_sec: 5, tv_nsec: 0)
            sigemptyset(&taken)
            sigaddset(&taken, SIGUSR1)
            let number = sigtimedwait(&taken, nil, &limit)
            held.release()
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            pendingWhileHeld.put(
                .success(isPending && number == SIGUSR1 && sigismember(&mask, SIGUSR1) == 0))
        }
        let result = pendingWhileHeld.take(until: Deadline(milliseconds: Int32(Self.limit * 1_000)))
        #expect(result == .success(true))
    }

    @Test func `UnixSocket does not wait when the queue of a server is full`() throws {
        let listener = try UnixSocket.listen(at: socket, mode: 0o600)
        var connections: [UnixConnection] = [], failure: CredentialError?
        let watch = Stopwatch()
        while failure == nil, connections.count < 1_000 {
            do throws(CredentialError) {
                connections.append(try UnixSocket.connect(to: socket, milliseconds: 5))
            } catch { failure = error }
        }
        #expect(failure?.code == .temporary && watch.elapsed < 10_000)
        #expect(UnixSocket.isServed(socket))
        #expect(listener.number >= 0)
    }
}
