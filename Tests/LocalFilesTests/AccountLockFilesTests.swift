import CredentialCore
import Foundation
import LocalFiles
import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct AccountLockFilesTests {
    private let temporary: TemporaryFolder
    private let locks: AccountLockFiles
    private let group = KeychainGroup.standard
    private let path: String

    init() throws {
        temporary = try TemporaryFolder()
        locks = AccountLockFiles(GroupFolders(dataHome: temporary.path))
        path = temporary.path + "/credmgr/groups/default/locks/a1.lock"
    }

    /// Another process that has taken the lock and holds it until it is killed.
    private func holder() throws -> RunningProgram {
        var launch = SpawnConfiguration("/usr/bin/flock", ["--no-fork", path, "/bin/cat"], environment: [:])
        launch.standardInput = .pipe
        launch.standardOutput = .pipe
        let program = try launch.start()
        _ = program.input?.write([0x0A])
        var byte: UInt8 = 0
        // `cat` answers once `flock` has the lock.
        #expect(read(FileDescriptor.number(of: program.output), &byte, 1) == 1)
        return program
    }

    /// Waits for at most 30 s.
    private static func wait(for what: String, _ condition: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(30)
        while !condition() {
            try #require(ContinuousClock.now < end, "waited 30 s for \(what)")
            usleep(1_000)
        }
    }

    @Test func `a lock is the current one until its file is removed`() throws {
        let lock = try #require(try locks.tryLock("a1", in: group))
        #expect(locks.isCurrent(lock, of: "a1", in: group) && !locks.isCurrent(lock, of: "a2", in: group))
        try FileManager.default.removeItem(atPath: path)
        #expect(!locks.isCurrent(lock, of: "a1", in: group))
        let other = try #require(try locks.tryLock("a1", in: group))
        #expect(!locks.isCurrent(lock, of: "a1", in: group) && locks.isCurrent(other, of: "a1", in: group))
    }

    @Test func `a lock excludes others until it is released`() throws {
        let lock = try #require(try locks.tryLock("a1", in: group))
        #expect(try locks.tryLock("a1", in: group) == nil)
        #expect(try locks.tryLock("a2", in: group) != nil)
        #expect(try locks.tryLock("a1", in: try KeychainGroup("other")) != nil)
        lock.release()
        lock.release()
        #expect(try locks.tryLock("a1", in: group) != nil)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `a lock with a file that was removed during the wait is that of the new file`() throws {
        _ = try locks.tryLock("a1", in: group)
        let program = try holder()
        // Two wait for the old file. A cleaner removes it, and its holder ends.
        let held = Mutex<Int>(0), highest = Mutex<Int>(0), group = group, locks = locks
        let waiting = (0..<2).map { _ in
            Thread {
                guard let lock = try? locks.lock("a1", in: group, seconds: 20) else { return }
                let now = held.withLock { count in
                    count += 1
                    return count
                }
                highest.withLock { $0 = max($0, now) }
                usleep(20_000)
                held.withLock { $0 -= 1 }
                lock.release()
            }
        }
        for thread in waiting { thread.start() }
        func opened() -> Int {
            let folder = "/proc/self/fd"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.count {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path
            }
        }
        try Self.wait(for: "two threads to open the old file") { opened() == 2 }
        try FileManager.default.removeItem(atPath: path)
        program.send(signal: SIGKILL)
        _ = program.wait()
        try Self.wait(for: "both threads to end") { waiting.allSatisfy(\.isFinished) }
        #expect(highest.withLock { $0 } == 1)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `the lock of another process is waited for and then reported`() throws {
        _ = try locks.tryLock("a1", in: group)
        let program = try holder()
        #expect(try locks.tryLock("a1", in: group) == nil)
        // As every process of ours does that takes a lock.
        try String(program.process).write(toFile: path, atomically: false, encoding: .utf8)
        let start = ContinuousClock.now
        let error = #expect(throws: CredentialError.self) { try locks.lock("a1", in: group, seconds: 1) }
        #expect(error?.code == .lockTimeout)
        // The message names the process, and how long it has held the lock: the hint tells how a stopped process
        // continues.
        #expect(error?.message.contains("process \(program.process) has held the lock of account a1 for ") == true)
        program.send(signal: SIGSTOP)
        for _ in 0..<30_000 where locks.holder(of: "a1", in: group)?.isStopped == false { usleep(1_000) }
        let stopped = #expect(throws: CredentialError.self) { try locks.lock("a1", in: group, seconds: 0) }
        #expect(stopped?.message.contains("process \(program.process), which is stopped, has held") == true)
        #expect(stopped?.hint == "kill -CONT \(program.process)")
        #expect(ContinuousClock.now - start >= .milliseconds(990))
        program.send(signal: SIGKILL)
        _ = program.wait()
    }

    @Test func `killing a holder frees its lock`() throws {
        _ = try locks.tryLock("a1", in: group)
        let program = try holder()
        #expect(try locks.tryLock("a1", in: group) == nil)
        program.send(signal: SIGKILL)
        #expect(program.wait() == .killed(signal: SIGKILL))
        #expect(try locks.tryLock("a1", in: group) != nil)
    }

    @Test func `a child that inherits the descriptor keeps the lock of a released parent`() throws {
        let lock = try locks.lock("a1", in: group, seconds: 1)
        var launch = SpawnConfiguration("/bin/cat", environment: [:])
        launch.standardInput = .pipe
        launch.inherited = [lock.descriptor]
        var child = try launch.start()
        lock.release()
        #expect(try locks.tryLock("a1", in: group) == nil)
        child.input = nil
        #expect(child.wait() == .exited(0))
        #expect(try locks.tryLock("a1", in: group) != nil)
    }

    @Test func `threads that lock in turn never overlap`() throws {
        let shared = Counter()
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<25 {
                guard let lock = try? locks.lock("a1", in: group, seconds: 30) else { continue }
                shared.raceOnPurpose()
                lock.release()
            }
        }
        #expect(shared.value == 200)
    }

    @Test func `if no lock can be made no refresh is allowed`() throws {
        try "".write(toFile: temporary.path + "/credmgr", atomically: false, encoding: .utf8)
        let error = #expect(throws: CredentialError.self) { try locks.tryLock("a1", in: group) }
        #expect(error?.code == .storeUnavailable)
        #expect(error?.message.hasPrefix("locks do not work: ") == true)
    }

    @Test func `a planted link is not locked through`() throws {
        _ = try locks.tryLock("a1", in: group)
        unlink(path)
        symlink(temporary.path + "/elsewhere", path)
        let error = #expect(throws: CredentialError.self) { try locks.tryLock("a1", in: group) }
        #expect(error?.code == .storeUnavailable)
        #expect(!FileManager.default.fileExists(atPath: temporary.path + "/elsewhere"))
    }

    /// A number that only the lock under test protects.
    private final class Counter: @unchecked Sendable {
        private(set) var value = 0

        func raceOnPurpose() {
            let seen = value
            sched_yield()
            value = seen + 1
        }
    }
}
