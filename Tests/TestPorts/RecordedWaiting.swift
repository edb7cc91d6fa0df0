import CredentialCore
import Synchronization

/// A double of the terminal's line: keeps its waits, in order, from the first moment on.
package final class RecordedWaiting: ProgressDisplay {
    private let begun = Mutex<[@Sendable () -> LocalizedMessage]>([])
    private let open = Mutex(0)

    /// Has seen nothing.
    package init() {}

    /// The subjects that were waited for.
    package var subjects: [String] { begun.withLock { $0 }.map { $0().description } }
    /// How much is waited for now.
    package var isWaiting: Bool { open.withLock { $0 > 0 } }

    package func begin(_ what: @escaping @Sendable () -> LocalizedMessage) -> any ProgressItem {
        begun.withLock { $0.append(what) }
        open.withLock { $0 += 1 }
        return Notice(self)
    }

    package func retire() {}

    private final class Notice: ProgressItem {
        private let owner: RecordedWaiting
        private let hasEnded = Mutex(false)

        init(_ owner: RecordedWaiting) { self.owner = owner }

        func end() {
            let isFirst = hasEnded.withLock { ended in
                defer { ended = true }
                return !ended
            }
            if isFirst { owner.open.withLock { $0 -= 1 } }
        }
    }
}
