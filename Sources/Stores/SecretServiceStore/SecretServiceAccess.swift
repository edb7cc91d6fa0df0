import CredentialCore
import Glibc
import Platform
import Synchronization

/// The time that a call may take; a person's time to answer does not count.
struct TimeBudget {
    private let milliseconds: Int32
    /// When it ends.
    private(set) var deadline: Deadline

    init(milliseconds: Int32) {
        self.milliseconds = milliseconds
        deadline = Deadline(milliseconds: milliseconds)
    }

    /// Starts again.
    mutating func renew() { deadline = Deadline(milliseconds: milliseconds) }
}

/// The progress of a step on the Secret Service.
enum StepState<Value: Sendable>: Sendable {
    /// It is through.
    case done(Value)
    /// These objects must be unlocked before it can be tried again.
    case locked([String])
    /// It cannot be done.
    case failed(CredentialError)
}

/// Runs steps on a session of the Secret Service within their deadlines: opens it at first use and again after the
/// service or the bus was restarted, and unlocks collections that a step finds locked.
final class SecretServiceAccess: Sendable {
    private enum State {
        case closed
        case open(SecretServiceSession)
        /// A call did not return. GLib may hold locks now, so that further calls would only hang, too.
        case abandoned
    }

    /// Whether there is a person who can answer the keyring's questions.
    let canPrompt: Bool
    private let promptSeconds: Int
    private let busAddress: String?
    private let staleVariable: CredentialError?
    private let state = Mutex(State.closed)
    /// The first session, which may be begun before it is asked for. The first caller takes it: no answer is left
    /// over for the time after a restart of the bus.
    private enum First {
        case notBegun
        case begun(ThreadTask<SecretServiceSession, SecretServiceError>)
        case taken
    }
    private let first = Mutex(First.notBegun)
    private let whileWaiting: @Sendable () -> Void
    private let waiting: any ProgressDisplay

    init(
        busAddress: String?, staleVariable: CredentialError?, canPrompt: Bool, promptSeconds: Int,
        whileWaiting: @escaping @Sendable () -> Void,
        waiting: any ProgressDisplay
    ) {
        self.whileWaiting = whileWaiting
        self.waiting = waiting
        self.promptSeconds = promptSeconds
        self.busAddress = busAddress
        self.staleVariable = staleVariable
        self.canPrompt = canPrompt
    }

    /// Runs `step`, unlocking the objects that it finds locked, until it is through.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when a locked object needs the user, who cannot be asked,
    ///   ``ErrorCode/cancelled`` when the user dismissed the question, else the error of the step.
    func settled<Value: Sendable>(
        _ time: inout TimeBudget,
        _ step: @escaping @Sendable (SecretServiceSession, Deadline) throws(SecretServiceError) -> StepState<Value>
    ) throws(CredentialError) -> Value {
        // The collection first, then perhaps an item of its own.
        for _ in 0..<3 {
            switch try run(until: time.deadline, step) {
            case .done(let value): return value
            case .failed(let error): throw error
            case .locked(let objects): try unlock(objects, &time)
            }
        }
        throw SecretServiceError.locked
    }

    /// Lets the keyring ask a question and waits: for a person as long as was said, and without one for the time
    /// left, as some keyrings have questions that answer themselves.
    func ask(_ question: String, _ time: inout TimeBudget) throws(CredentialError) {
        let limit = canPrompt ? Deadline(milliseconds: Int32(clamping: promptSeconds * 1_000)) : time.deadline
        let notice = waiting.begin { "the keyring's password prompt in its own window" }
        defer { notice.end() }
        let outcome = try run(until: limit, isRepeatable: false) { session, deadline throws(SecretServiceError) in
            .done(try session.ask(question, until: deadline))
        }
        if canPrompt { time.renew() }
        switch outcome {
        case .done(.answered): return
        case .done(.dismissed): throw CredentialError(.cancelled, "the keyring's prompt was dismissed")
        case .done(.expired) where canPrompt:
            throw CredentialError(
                .storeLocked, "the keyring's prompt timed out after \(promptSeconds) s",
                hint: "respond in the keyring's window, then try again")
        case .done(.expired), .locked: throw SecretServiceError.locked
        case .failed(let error): throw error
        }
    }

    private func unlock(_ objects: [String], _ time: inout TimeBudget) throws(CredentialError) {
        let outcome = try run(until: time.deadline) { session, deadline throws(SecretServiceError) in
            .done(try session.unlock(objects, until: deadline))
        }
        switch outcome {
        case .done(nil): return
        case .done(let question?):
            guard canPrompt else { throw SecretServiceError.locked }
            try ask(question, &time)
        case .locked: throw SecretServiceError.locked
        case .failed(let error): throw error
        }
    }

    /// Runs `step` once on a thread of its own; after a restart of the service a second time.
    private func run<Value: Sendable>(
        until deadline: Deadline, isRepeatable: Bool = true,
        _ step: @escaping @Sendable (SecretServiceSession, Deadline) throws(SecretServiceError) -> StepState<Value>
    ) throws(CredentialError) -> StepState<Value> {
        guard let busAddress else { throw SecretServiceError.noBusAddress }
        let isAbandoned = state.withLock { if case .abandoned = $0 { true } else { false } }
        guard !isAbandoned else { throw SecretServiceError.silent }
        let outcome = try DeadlineThread.run(until: deadline) { [self] () throws(CredentialError) in
            // The calls end a little earlier than their thread is given up: then no call is left behind.
            let limit = deadline.earlier(milliseconds: Self.marginMilliseconds)
            var isLastTry = !isRepeatable
            while true {
                do throws(SecretServiceError) {
                    let session = try session(at: busAddress, until: limit)
                    let result = try step(session, limit)
                    try session.establish(until: limit)
                    return result
                } catch {
                    if error.kind == .locked, let object = error.object { return .locked([object]) }
                    forgetSession(until: limit)
                    let isWorthAnother = error.kind == .disconnected || error.kind == .noSuchObject
                    if isLastTry || !isWorthAnother { throw told(error) }
                    isLastTry = true
                }
            }
        }
        switch outcome {
        case .finished(let result): return result
        case .abandoned:
            state.withLock { $0 = .abandoned }
            throw SecretServiceError.silent
        }
    }

    /// A fault as users see it: for a bus that does not answer, the error shows the variable that names it.
    private func told(_ fault: SecretServiceError) -> CredentialError {
        let error = fault.credentialError
        guard fault.kind == .noBus, var named = staleVariable?.withoutBus else { return error }
        named.details = error.details
        return named
    }

    /// Begins to open a session in the background, for a step that is soon to come. That step reports a failure.
    ///
    /// - Parameter milliseconds: how long that may take.
    func begin(milliseconds: Int32) {
        guard let busAddress else { return }
        first.withLock { first in
            guard case .notBegun = first else { return }
            Self.use(busAddress)
            // Before a step gives it up that begins as late.
            let deadline = Deadline(milliseconds: milliseconds - 2 * Self.marginMilliseconds)
            let call = try? ThreadTask { [whileWaiting] () throws(SecretServiceError) in
                try SecretServiceSession(library: try LibSecret(), whileWaiting: whileWaiting, until: deadline)
            }
            // Without a thread the step does it itself.
            if let call { first = .begun(call) }
        }
    }

    private func session(at busAddress: String, until deadline: Deadline) throws(SecretServiceError)
        -> SecretServiceSession
    {
        if let open = state.withLock({ if case .open(let session) = $0 { session } else { nil } }) { return open }
        let session: SecretServiceSession
        if let begun = takeFirst() {
            guard let result = begun.result(until: deadline) else {
                // It has a deadline of its own, which it has missed.
                state.withLock { $0 = .abandoned }
                throw SecretServiceError(.timedOut, "the key agreement with the keyring timed out")
            }
            session = try result.get()
        } else {
            Self.use(busAddress)
            session = try SecretServiceSession(
                library: try LibSecret(), whileWaiting: whileWaiting, until: deadline)
        }
        state.withLock { if case .closed = $0 { $0 = .open(session) } }
        return session
    }

    /// The session that was begun, for the first who asks.
    private func takeFirst() -> ThreadTask<SecretServiceSession, SecretServiceError>? {
        first.withLock { first in
            defer { first = .taken }
            if case .begun(let call) = first { return call }
            return nil
        }
    }

    /// GIO takes the address from the environment, and would start a bus of its own without one.
    private static func use(_ busAddress: String) {
        if unsafe getenv(busVariable).map({ unsafe String(cString: $0) }) != busAddress {
            unsafe setenv(busVariable, busAddress, 1)
        }
    }

    /// Makes sure that the next session has a connection of its own.
    private func forgetSession(until deadline: Deadline) {
        guard let session = state.withLock({ if case .open(let session) = $0 { session } else { nil } }) else {
            return
        }
        let isSettled = session.settle(until: deadline)
        state.withLock { $0 = isSettled ? .closed : .abandoned }
    }

    private static let busVariable = "DBUS_SESSION_BUS_ADDRESS"
    private static let marginMilliseconds: Int32 = 150
}

/// The Secret Service as `store status` and `doctor` show it.
package struct SecretServiceDescription: Sendable {
    /// The process that provides it; 0 when the bus does not say.
    package let process: UInt64
    /// The default collection's label, made safe to show.
    package let collection: String
    /// Whether the default collection is locked.
    package let isLocked: Bool
}
