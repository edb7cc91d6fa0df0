import CredentialCore
import Foundation
import Platform
import Synchronization
import Testing

/// The terminal, as far as the line goes.
private final class Screen: Sendable {
    private let text = Mutex("")
    private let written = DispatchSemaphore(value: 0)

    var shown: String { text.withLock { $0 } }

    func write(_ piece: String) {
        text.withLock { $0 += piece }
        written.signal()
    }

    /// Waits for something to be written.
    func waitForMore() -> Bool { written.wait(timeout: .now() + 60) == .success }

    func line(repaints: Bool = true, width: Int = 80) -> ProgressLine {
        ProgressLine(
            repaints: repaints, width: { width }, translations: NoTranslations(), write: { self.write($0) })
    }
}

@Suite struct `The line that says what is waited for` {
    @Test func `It comes when something takes long, and goes with its end`() {
        let screen = Screen(), line = screen.line()
        let notice = line.begin { "login.example.com" }
        #expect(screen.waitForMore())
        notice.end()
        notice.end()
        let shown = screen.shown
        #expect(shown.hasPrefix("\r\u{1B}[K| Waiting for login.example.com, "))
        #expect(shown.hasSuffix("\r\u{1B}[K"))
        // The end is the end: the next one begins with a silence of its own.
        line.begin { "nothing" }.end()
        #expect(screen.shown == shown)
    }

    @Test func `On output without repainting, it is written once`() {
        let screen = Screen()
        let notice = screen.line(repaints: false).begin { "login.example.com" }
        #expect(screen.waitForMore())
        notice.end()
        #expect(screen.shown == "Waiting for login.example.com\n")
    }

    @Test func `It is never wider than the terminal`() {
        let screen = Screen()
        let notice = screen.line(width: 20).begin { "a-rather-long-name.login.example.com" }
        #expect(screen.waitForMore())
        notice.end()
        let longest = screen.shown.components(separatedBy: "\r\u{1B}[K").map(\.count).max()
        #expect(longest == 19)
    }

    @Test func `Of two things at once the first is told`() {
        let screen = Screen(), line = screen.line(repaints: false)
        let first = line.begin { "the first" }
        line.begin { "the second" }.end()
        #expect(screen.waitForMore())
        first.end()
        #expect(screen.shown == "Waiting for the first\n")
    }

    @Test func `Other output is written above it`() {
        let screen = Screen(), line = screen.line()
        let notice = line.begin { "it" }
        #expect(screen.waitForMore())
        line.interrupt { screen.write("a warning\n") }
        notice.end()
        #expect(screen.shown.contains("\r\u{1B}[Ka warning\n"))
    }

    @Test func `A terminal that is another program's is left alone`() {
        let screen = Screen(), line = screen.line()
        line.retire()
        line.begin { "it" }.end()
        #expect(screen.shown.isEmpty)
    }

    @Test func `During a call that fails it ends, too`() throws {
        let screen = Screen(), line = screen.line()
        #expect(throws: CredentialError.self) {
            try line.during({ "it" }) { () throws(CredentialError) in
                _ = screen.waitForMore()
                throw CredentialError(.temporary, "no")
            }
        }
        #expect(screen.shown.hasSuffix("\r\u{1B}[K"))
    }
}
