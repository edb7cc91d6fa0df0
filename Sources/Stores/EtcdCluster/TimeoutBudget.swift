import Platform
import Synchronization

/// The waiting time that all clusters of a process have cost it: silent nodes are waited for together, however many
/// groups and clusters a command has to ask.
package final class TimeoutBudget: Sendable {
    /// Milliseconds that only grow.
    let elapsed: @Sendable () -> Int64
    private let state = Mutex(State())

    private struct State {
        /// For how long was waited in vain, and when that last was, in milliseconds.
        var lost: Int64 = 0
        var lostAt: Int64 = 0
        /// Why the last call was not answered, node by node; by the names of all that it was for.
        var failures: [[String]: [String]] = [:]

        mutating func forgetOld(_ now: Int64) {
            if now - lostAt > TimeoutBudget.memoryMilliseconds { (lost, failures) = (0, [:]) }
        }
    }

    /// For how long it counts that was waited in vain, in milliseconds.
    private static let memoryMilliseconds: Int64 = 10_000

    /// Begins without lost time.
    ///
    /// - Parameter elapsed: milliseconds that only grow; those since now if it is `nil`.
    package init(elapsed: (@Sendable () -> Int64)? = nil) {
        let watch = Stopwatch()
        self.elapsed = elapsed ?? { watch.elapsed }
    }

    /// One that goes on from here by itself, for those who are waited for side by side.
    func copy() -> TimeoutBudget {
        let other = TimeoutBudget(elapsed: elapsed), now = state.withLock { $0 }
        other.state.withLock { $0 = now }
        return other
    }

    /// For how long was waited in vain just now, in milliseconds.
    var lost: Int64 {
        let now = elapsed()
        return state.withLock { state in
            state.forgetOld(now)
            return state.lost
        }
    }

    /// Why these nodes did not answer the last call, if all were silent and that was just now.
    func failures(of nodes: [String]) -> [String]? {
        let now = elapsed()
        return state.withLock { state in
            state.forgetOld(now)
            return state.failures[nodes]
        }
    }

    /// Counts the time that was waited in vain.
    ///
    /// - Parameter most: up to which sum, if that is not reached yet.
    func lose(_ milliseconds: Int64, upTo most: Int64 = .max) {
        let now = elapsed()
        state.withLock { state in
            state.forgetOld(now)
            state.lost = min(state.lost + milliseconds, max(state.lost, most))
            state.lostAt = now
        }
    }

    /// Remembers that these nodes were all silent.
    func note(_ failures: [String], of nodes: [String]) { state.withLock { $0.failures[nodes] = failures } }
}
