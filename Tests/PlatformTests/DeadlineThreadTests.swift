import CredentialCore
import Foundation
import Platform
import Testing

@Suite struct DeadlineThreadTests {
    @Test func `the result or error of a call reaches its caller`() throws {
        let deadline = Deadline(milliseconds: 10_000)
        guard case .finished(let value) = try DeadlineThread.run(until: deadline, { "done" }) else {
            Issue.record("given up")
            return
        }
        #expect(value == "done")
        #expect(throws: CredentialError(.denied, "no")) {
            try DeadlineThread.run(until: deadline) { () throws(CredentialError) -> Int in
                throw CredentialError(.denied, "no")
            }
        }
    }

    @Test func `a call that does not return is left behind at the deadline`() throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let clock = ContinuousClock()
        let start = clock.now
        let outcome = try DeadlineThread.run(until: Deadline(milliseconds: 100)) { gate.wait() }
        guard case .abandoned = outcome else {
            Issue.record("not given up")
            return
        }
        #expect(start.duration(to: clock.now) >= .milliseconds(100))
    }

    @Test func `the process ends without waiting for a thread left behind`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            _ = try DeadlineThread.run(until: Deadline(milliseconds: 10)) { DispatchSemaphore(value: 0).wait() }
            exit(7)
        }
    }

    @Test func `the thread takes no signals`() throws {
        let outcome = try DeadlineThread.run(until: Deadline(milliseconds: 10_000)) {
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            return sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1
        }
        guard case .finished(true) = outcome else {
            Issue.record("signals are not held off")
            return
        }
    }

    @Test func `a deadline counts down and stops at nothing`() {
        #expect(Deadline(milliseconds: -5).hasPassed)
        #expect(Deadline(milliseconds: 0).remainingMilliseconds == 0)
        let later = Deadline(milliseconds: 60_000)
        #expect(!later.hasPassed)
        #expect((59_000...60_000).contains(later.remainingMilliseconds))
        #expect(later.earlier(milliseconds: 60_000).hasPassed)
    }
}
