package import CredentialCore
import Synchronization

/// A line on a terminal that names the event that credmgr waits for, from the first second on, and is removed when
/// it has come.
///
/// A thread of its own repaints it. If the line must not be painted over other text, it is written once and stays.
package final class ProgressLine: ProgressDisplay {
    /// How long the line stays empty, and how often it is repainted, in milliseconds.
    private static let silence: Int32 = 1_000, turn: Int32 = 200
    private static let wheel = ["|", "/", "-", "\\"]

    private let repaints: Bool
    private let width: @Sendable () -> Int
    private let translations: any Translations
    private let write: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        var notice: Notice?
        var isPainted = false
        var isRetired = false
    }

    /// Makes a line that is not shown yet.
    ///
    /// - Parameters:
    ///   - repaints: whether the terminal may be painted over.
    ///   - width: the terminal's columns now.
    ///   - translations: the person's language.
    ///   - write: writes to the terminal; failures are ignored.
    package init(
        repaints: Bool, width: @escaping @Sendable () -> Int, translations: any Translations,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.translations = translations
        self.repaints = repaints
        self.width = width
        self.write = write
    }

    package func begin(_ what: @escaping @Sendable () -> LocalizedMessage) -> any ProgressItem {
        let notice = Notice(self)
        let isFirst = state.withLock { state in
            guard state.notice == nil, !state.isRetired else { return false }
            state.notice = notice
            return true
        }
        guard isFirst else { return NoWaitingNotice.standard }
        // If the system gives no thread, no line is shown; the call itself continues.
        try? DeadlineThread.start { [self] in show(what, notice) }
        return notice
    }

    package func retire() {
        state.withLock { state in
            erase(&state)
            state.isRetired = true
        }
    }

    /// Writes something else to the terminal: above the line.
    package func interrupt(_ work: () -> Void) {
        state.withLock { state in
            erase(&state)
            work()
        }
    }

    private func show(_ what: () -> LocalizedMessage, _ notice: Notice) {
        let watch = Stopwatch()
        guard !notice.hasEnded(within: Self.silence) else { return }
        var turns = 0
        repeat {
            let seconds = watch.elapsed / 1_000
            let words: LocalizedMessage = repaints ? "Waiting for \(what()), \(seconds) s" : "Waiting for \(what())"
            let told = words.text(in: translations)
            let text = repaints ? "\(Self.wheel[turns % 4]) \(told)" : told + "\n"
            turns += 1
            state.withLock { state in
                guard state.notice === notice, !state.isRetired else { return }
                guard repaints else { return write(text) }
                // The last column stays free, or some terminals go to the next line.
                write("\r\u{1B}[K" + String(text.prefix(max(1, width() - 1))))
                state.isPainted = true
            }
        } while repaints && !notice.hasEnded(within: Self.turn)
    }

    private func end(_ notice: Notice) {
        state.withLock { state in
            guard state.notice === notice else { return }
            erase(&state)
            state.notice = nil
        }
    }

    private func erase(_ state: inout State) {
        guard state.isPainted else { return }
        write("\r\u{1B}[K")
        state.isPainted = false
    }

    private final class Notice: ProgressItem {
        private let line: ProgressLine
        private let ended = OneShot<Bool, Never>()

        init(_ line: ProgressLine) { self.line = line }

        func end() {
            line.end(self)
            ended.put(.success(true))
        }

        func hasEnded(within milliseconds: Int32) -> Bool {
            ended.take(until: Deadline(milliseconds: milliseconds)) != nil
        }
    }
}
