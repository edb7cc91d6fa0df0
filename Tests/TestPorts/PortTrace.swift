import CredentialCore
import Synchronization

/// The calls that one process in memory makes at its ports, one by one; a test can end the process there, or let
/// others act.
///
/// A process that was ended does no more work: its calls throw, and have no effect. Its locks are free, as the
/// kernel leaves them.
package final class PortTrace: Sendable {
    /// The moment at a call when an event happens.
    package enum Moment: Sendable, CaseIterable {
        /// Before the call has any effect.
        case before
        /// When it has had its effect, and its caller does not know yet.
        case after
    }

    private struct State {
        var calls: [String] = []
        var isEnded = false
        var actions: [(number: Int, moment: Moment, action: @Sendable () -> Void)] = []
        var nextActions: [String: @Sendable () -> Void] = [:]
        var failures: [(name: String, error: CredentialError)] = []
        var whenEnded: [@Sendable () -> Void] = []
        var lockSeconds: Int?
    }

    private let state = Mutex(State())

    /// The action at each call of a simulated process.
    private let step: (@Sendable (Moment) -> Void)?
    /// How often a lock that another process holds is tried again.
    package let patience: Int

    /// Makes a trace of a process that runs undisturbed.
    ///
    /// - Parameters:
    ///   - patience: how often a lock that another process holds is tried again, each time as a call of its own.
    ///   - step: receives each call, before and after its effect, and may end the process or let others go on.
    package init(patience: Int = 0, step: (@Sendable (Moment) -> Void)? = nil) {
        self.patience = patience
        self.step = step
    }

    /// The calls so far, by port and operation: `records.write`.
    package var calls: [String] { state.withLock(\.calls) }

    /// For how many seconds the last lock that it waited for may take; `nil` if it has waited for no lock.
    package internal(set) var lockSeconds: Int? {
        get { state.withLock(\.lockSeconds) }
        set { state.withLock { $0.lockSeconds = newValue } }
    }

    /// Whether the process was ended.
    package var isEnded: Bool { state.withLock(\.isEnded) }

    /// Ends the process at the call with this number, counted from 1.
    package func end(at number: Int, _ moment: Moment) {
        act(at: number, moment) { [unowned self] in self.end() }
    }

    /// Ends the process now.
    package func end() {
        let ending = state.withLock { state in
            state.isEnded = true
            return state.whenEnded
        }
        for action in ending { action() }
    }

    /// Runs an action at the call with this number: another process acts just then.
    package func act(at number: Int, _ moment: Moment, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.actions.append((number, moment, action)) }
    }

    /// Has something happen before the next call of an operation.
    package func act(before name: String, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.nextActions[name] = action }
    }

    /// Makes every call of an operation fail.
    package func fail(_ name: String, with error: CredentialError) {
        state.withLock { $0.failures.append((name, error)) }
    }

    /// Makes no call fail any more.
    package func heal() { state.withLock { $0.failures = [] } }

    func whenEnded(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.whenEnded.append(action) } }

    /// A call of a port.
    package func call<Result>(
        _ name: String, _ body: () throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        let number = state.withLock { state in
            state.calls.append(name)
            return state.calls.count
        }
        state.withLock { $0.nextActions.removeValue(forKey: name) }?()
        happen(number, .before)
        try checkAlive()
        if let failure = state.withLock({ state in state.failures.first { $0.name == name }?.error }) {
            throw failure
        }
        let result = try body()
        happen(number, .after)
        try checkAlive()
        return result
    }

    /// A call of a port that cannot fail; in a process that was ended it has no effect.
    package func quietCall<Result>(_ name: String, otherwise: Result, _ body: () -> Result) -> Result {
        do throws(CredentialError) {
            return try call(name) { () throws(CredentialError) in body() }
        } catch { return otherwise }
    }

    private func happen(_ number: Int, _ moment: Moment) {
        step?(moment)
        let due = state.withLock { state in
            state.isEnded ? [] : state.actions.filter { $0.number == number && $0.moment == moment }
        }
        for action in due { action.action() }
    }

    private func checkAlive() throws(CredentialError) {
        if isEnded { throw CredentialError(.internalFault, "this process was ended") }
    }
}
