import CredentialCore
import Foundation
import LocalFiles
import Platform
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
        var launch = ProgramLaunch("/usr/bin/flock", ["--no-fork", path, "/bin/cat"], environment: [:])
        launch.standardInput = .pipe
        launch.standardOutput = .pipe
        let program = try launch.start()
        _ = program.input?.write([0x0A])
        var byte: UInt8 = 0
        // `cat` answers once `flock` has the lock.
        #expect(read(FileDescriptor.number(of: program.output), &byte, 1) == 1)
        return program
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

    @Test func `the lock of another process is waited for and then reported`() throws {
        _ = try locks.tryLock("a1", in: group)
        let program = try holder()
        #expect(try locks.tryLock("a1", in: group) == nil)
        // As every process of ours does that takes a lock.
        try String(program.process).write(toFile: path, atomically: false, encoding: .utf8)
        let start = ContinuousClock.now
        let error = #expect(throws: CredentialError.self) { try locks.lock("a1", in: group, seconds: 1) }
        #expect(error?.code == .lockTimeout)
        // Who it is, and for how long: a stopped one goes on by the hint.
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
        var launch = ProgramLaunch("/bin/cat", environment: [:])
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

    @Test func `where no lock can be made nothing may be refreshed`() throws {
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
