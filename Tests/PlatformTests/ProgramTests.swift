import CredentialCore
import Foundation
import Platform
import TestSupport
import Testing

@Suite struct ProgramTests {
    init() { signal(SIGPIPE, SIG_IGN) }

    private func shell(
        _ script: String, environment: [String: String] = [:], input: [UInt8] = [], limit: Int = 1 << 20,
        seconds: Int = 30, _ change: (inout SpawnConfiguration) -> Void = { _ in }
    ) throws -> ChildProgram.Outcome {
        var launch = SpawnConfiguration("/bin/sh", ["-c", script], environment: environment)
        change(&launch)
        return try ChildProgram(launch, limit: limit, seconds: seconds).run(input: input)
    }

    @Test func `output, errors and exit status come back`() throws {
        let outcome = try shell("echo out; echo err >&2; exit 7")
        #expect(outcome.output == Array("out\n".utf8))
        #expect(outcome.errorOutput == Array("err\n".utf8))
        #expect(outcome.ending == .ended(.exited(7)))
    }

    /// Waits until no process has the other end of a pipe any more.
    private func isClosed(_ reading: Int32) -> Bool {
        var polled = pollfd(fd: reading, events: 0, revents: 0)
        return poll(&polled, 1, 30_000) == 1 && polled.revents & Int16(POLLHUP) != 0
    }

    @Test(arguments: [("echo secret", 30), ("echo secret; exec sleep 1000", 1)])
    func `a program that leads a group takes its children along, by itself or by its time`(
        script: String, seconds: Int
    ) throws {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let outcome = try shell(
            "sleep 1000 & " + script, environment: ["PATH": "/bin:/usr/bin"], seconds: seconds
        ) {
            $0.endsItsGroup = true
            $0.inherited = [ends[1]]
        }
        close(ends[1])
        defer { close(ends[0]) }
        #expect(outcome.output == Array("secret\n".utf8))
        // The child had that end, too.
        #expect(isClosed(ends[0]))
    }

    @Test func `input and output beyond the size of a pipe pass at the same time`() throws {
        let input = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
        let outcome = try shell("tee /dev/stderr", environment: ["PATH": "/bin:/usr/bin"], input: input)
        #expect(outcome.output == input)
        #expect(outcome.errorOutput == input)
    }

    @Test func `a program that does not read its input is no failure`() throws {
        let outcome = try shell("echo done", input: [UInt8](repeating: 0, count: 1_000_000))
        #expect(outcome.ending == .ended(.exited(0)))
        #expect(outcome.output == Array("done\n".utf8))
    }

    @Test func `the environment, the folder and the arguments are exactly those given`() throws {
        let folder = try TemporaryFolder()
        var launch = SpawnConfiguration("/usr/bin/env", environment: ["A": "b=c", "D": ""])
        let printed = try ChildProgram(launch, seconds: 30).run().output
        #expect(Set(String(decoding: printed, as: UTF8.self).split(separator: "\n")) == ["A=b=c", "D="])
        launch = SpawnConfiguration("/bin/pwd", ["-P"], environment: [:])
        launch.directory = folder.path
        let place = try ChildProgram(launch, seconds: 30).run().output
        #expect(String(decoding: place, as: UTF8.self) == folder.path + "\n")
    }

    @Test func `no descriptor gets through but those named, in their order`() throws {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        defer { ends.forEach { close($0) } }
        // Without close-on-exec, as a library might open it.
        let stray = dup(ends[0])
        defer { close(stray) }
        let none = try shell("ls /proc/self/fd", environment: ["PATH": "/bin"])
        #expect(String(decoding: none.output, as: UTF8.self) == "0\n1\n2\n3\n")
        let outcome = try shell("echo to-four >&4; readlink /proc/self/fd/3", environment: ["PATH": "/bin"]) {
            $0.inherited = [stray, ends[1]]
        }
        #expect(String(decoding: outcome.output, as: UTF8.self).hasPrefix("pipe:"))
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(read(ends[0], &buffer, 16) == 8)
    }

    @Test func `signals are at their defaults and none is blocked`() throws {
        let outcome = try shell("grep -E 'Sig(Blk|Ign)' /proc/self/status", environment: ["PATH": "/bin"])
        let lines = String(decoding: outcome.output, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2)
        for line in lines {
            let set = try #require(UInt64(line.suffix(16), radix: 16))
            // Signals 32 and 33 are the C library's own; every program sets them up itself.
            #expect(set & ~0x1_8000_0000 == 0)
        }
    }

    @Test func `a program in a session of its own leads it`() throws {
        let outcome = try shell("cut -d' ' -f1,6 /proc/$$/stat", environment: ["PATH": "/usr/bin"]) {
            $0.startsSession = true
        }
        let numbers = String(decoding: outcome.output, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        #expect(numbers.count == 2 && numbers[0] == numbers[1])
    }

    @Test func `a program that takes too long is killed with its children, even if it resists`() throws {
        let start = ContinuousClock.now
        let outcome = try shell(
            "trap '' TERM; echo $$; sleep 120 & wait; sleep 120", environment: ["PATH": "/bin"], seconds: 3
        ) {
            $0.startsSession = true
        }
        #expect(outcome.ending == .timedOut)
        #expect(ContinuousClock.now - start < .seconds(60))
        let session = try #require(pid_t(String(decoding: outcome.output, as: UTF8.self).dropLast()))
        #expect(kill(-session, 0) == -1 || FileManager.default.fileExists(atPath: "/proc/\(session)") == false)
    }

    @Test func `endless output is cut and ends the program`() throws {
        let outcome = try shell("yes", environment: ["PATH": "/usr/bin"], limit: 100_000)
        #expect(outcome.ending == .outputTooLarge)
        #expect(outcome.output.count == 100_000)
        let errors = try shell("head -c 300000 /dev/zero >&2", environment: ["PATH": "/usr/bin"], limit: 100_000)
        #expect(errors.ending == .ended(.exited(0)))
        #expect(errors.errorOutput.count == 100_000)
    }

    @Test func `a grandchild that keeps the pipes open does not hold up the end`() throws {
        let start = ContinuousClock.now
        let outcome = try shell("sleep 120 & echo $!", environment: ["PATH": "/bin"])
        #expect(outcome.ending == .ended(.exited(0)))
        #expect(ContinuousClock.now - start < .seconds(60))
        let left = try #require(pid_t(String(decoding: outcome.output, as: UTF8.self).dropLast()))
        kill(left, SIGKILL)
    }

    @Test func `a death by signal is told`() throws {
        let outcome = try shell("kill -USR1 $$")
        #expect(outcome.ending == .ended(.killed(signal: SIGUSR1)))
        #expect(TerminationStatus.killed(signal: SIGUSR1).exitStatus == 128 + SIGUSR1)
    }

    @Test func `a name is found in absolute folders only, and only if it can be run`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/tool"
        try "#!/bin/sh\n".write(toFile: path, atomically: false, encoding: .utf8)
        func find(_ word: String, _ searchPath: String) -> String? {
            ExecutablePath.find(word, environment: ["PATH": searchPath])
        }
        #expect(find("tool", folder.path) == nil)
        #expect(find(path, "") == nil)
        chmod(path, 0o700)
        #expect(find("tool", "/none:.:\(folder.path)") == path)
        #expect(find("sh", "usr/bin:.:") == nil)
        #expect(find(path, "") == path)
        #expect(find("..", "/usr/bin") == nil)
    }

    @Test func `a program that is not there is named with the reason`() throws {
        let error = #expect(throws: CredentialError.self) {
            _ = try SpawnConfiguration("/no/such/program", environment: [:]).start()
        }
        #expect(error?.message == "cannot start /no/such/program: No such file or directory")
        #expect(throws: CredentialError.self) {
            _ = try SpawnConfiguration("/bin/sh", ["a\0b"], environment: [:]).start()
        }
    }
}
