import CredentialCore
import Platform
import TestCommands
import Testing

@testable import Commands

/// When the user sees why no response may come back from the browser.
@Suite struct MissingResponseHintsTests {
    private let console = MemoryConsole()
    private var notices: Notices {
        Notices(console: console, environment: [:], isQuiet: false, isVerbose: false)
    }
    private let lines: [LocalizedMessage] = ["perhaps this", "perhaps that"]

    private func reasons(isQueued: Bool = false, late: Int32) throws -> MissingResponseHints {
        try MissingResponseHints(
            lines, probe: nil, notices, isQueued: isQueued, times: MissingResponseHints.Times(early: 1, late: late))
    }

    /// Waits until something is there, 30 s at most.
    private func wait(for isThere: () -> Bool) {
        let deadline = Deadline(milliseconds: 30_000)
        while !isThere(), deadline.remainingMilliseconds > 0 { SystemTime.pause(milliseconds: 5) }
    }

    @Test func `they are told once, after their time`() throws {
        let reasons = try reasons(late: 10)
        wait { console.notices.contains("that") }
        reasons.end()
        #expect(console.notices == "perhaps this\nperhaps that\n")
    }

    @Test func `they are not told once the wait is over`() throws {
        let over = try reasons(late: 200)
        over.end()
        // One that goes on has told them by the time at which the other would have.
        let other = MemoryConsole()
        let going = try MissingResponseHints(
            lines, probe: nil, Notices(console: other, environment: [:], isQuiet: false, isVerbose: false),
            isQueued: false, times: MissingResponseHints.Times(early: 1, late: 200))
        wait { other.notices.contains("that") }
        going.end()
        #expect(console.notices.isEmpty)
    }

    @Test func `the thread that owns the terminal gets each hint once`() throws {
        let reasons = try reasons(isQueued: true, late: 10)
        var taken: [String] = []
        wait {
            taken += reasons.queued().map(\.description)
            return !taken.isEmpty
        }
        #expect(taken == ["perhaps this", "perhaps that"])
        reasons.end()
        #expect(reasons.queued().isEmpty && console.notices.isEmpty)
    }
}
