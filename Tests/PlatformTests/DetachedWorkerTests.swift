import CredentialCore
import Foundation
import LocalFiles
import Platform
import TestSupport
import Testing

@Suite struct DetachedWorkerTests {
    private let temporary: TemporaryFolder
    private let lock: any HeldLock

    init() throws {
        temporary = try TemporaryFolder()
        lock = try #require(
            try AccountLockFiles(GroupFolders(dataHome: temporary.path)).tryLock("a1", in: .standard))
    }

    private func worker(_ script: String) -> DetachedWorker {
        DetachedWorker(SpawnConfiguration("/bin/sh", ["-c", script], environment: ["PATH": "/bin:/usr/bin"]))
    }

    @Test func `a worker is given its input and the lock, and is gone when its answer is there`() throws {
        let answer = try worker("cat; readlink /proc/self/fd/3; echo $$; exec >&-; sleep 0.2")
            .run(Array("job\n".utf8), holding: lock, seconds: 60)
        let lines = String(decoding: answer, as: UTF8.self).split(separator: "\n")
        #expect(lines.first == "job")
        #expect(lines.dropFirst().first?.hasSuffix("/locks/a1.lock") == true)
        // A process without its wait would still have its number.
        #expect(kill(try #require(lines.last.flatMap { pid_t($0) }), 0) == -1)
        #expect(lock.descriptor == -1)
    }

    @Test func `a worker that takes too long goes on, and leaves nothing behind when it ends`() throws {
        let (number, gate) = (temporary.path + "/number", temporary.path + "/gate")
        try #require(mkfifo(gate, 0o600) == 0)
        let error = #expect(throws: CredentialError.self) {
            try worker("echo $$ >\(number); read word <\(gate)").run([], holding: lock, seconds: 1)
        }
        #expect(error?.code == .temporary)
        // Opens as soon as the worker opens it, too.
        let opened = try FileHandle(forWritingTo: URL(fileURLWithPath: gate))
        let process = try #require(
            pid_t(try String(contentsOfFile: number, encoding: .utf8).trimmingCharacters(in: .newlines)))
        #expect(kill(process, 0) == 0)
        try opened.close()
        let limit = ContinuousClock.now.advanced(by: .seconds(60))
        while kill(process, 0) == 0, ContinuousClock.now < limit { usleep(2_000) }
        #expect(kill(process, 0) == -1)
    }
}
