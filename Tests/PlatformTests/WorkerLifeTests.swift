import Foundation
import Testing

@testable import Platform

@Suite struct WorkerLifeTests {
    @Test func `a request may use all of a life except the reserve for the work around it`() {
        let life = WorkerLife(limit: 20)
        #expect(life.remaining == 10)
        for _ in 0..<10 { life.tick() }
        #expect(life.remaining == 0 && !life.isOver)
        for _ in 0..<10 { life.tick() }
        #expect(life.remaining == 0 && life.isOver)
    }

    @Test func `nothing ends a worker between a response and its write`() {
        let life = WorkerLife(limit: 20)
        for _ in 0..<19 { life.tick() }
        life.responseArrived()
        for _ in 0..<100 { life.tick() }
        #expect(!life.isOver)
        life.answerIsSaved()
        #expect(!life.isOver)
        for _ in 0..<10 { life.tick() }
        #expect(life.isOver)
    }

    @Test func `a life ends by an alarm, whatever the worker does`() async {
        await #expect(processExitsWith: .signal(SIGALRM)) {
            try WorkerLife(limit: 1).start()
            alarm(0)
            while true { pause() }
        }
    }

    @Test func `the time for which a worker is stopped is not counted`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            let life = WorkerLife(limit: 5)
            try life.start()
            // The shell continues this process after longer than the life.
            var id = pid_t()
            let words = ["sh", "-c", "sleep 7; kill -CONT $PPID"]
            var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
            guard posix_spawn(&id, "/bin/sh", nil, nil, &arguments, environ) == 0 else { exit(1) }
            raise(SIGSTOP)
            // A second of the life may end now; an alarm of real time would have ended the process.
            SystemTime.pause(milliseconds: 1_500)
            exit(life.isOver ? 2 : 3)
        }
    }
}
