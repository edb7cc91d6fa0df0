import CredentialCore
import OAuth
import Platform
import Synchronization

/// Hints for the user if no authorization response arrives, printed once: after 15 s, or after 3 s if the
/// authorization endpoint answers 400 or 404. If SIGINT ends the process before, ``InterruptMessage`` prints them.
final class MissingResponseHints: Sendable {
    /// When they are printed, in milliseconds since the page was opened.
    struct Times {
        /// Milliseconds until the reasons are shown, if the authorization endpoint refused the request.
        var early: Int32 = 3_000
        /// Milliseconds until they are shown in any case.
        var late: Int32 = 15_000
    }

    private struct State {
        var isTold = false
        /// Lines for the thread that owns the terminal.
        var queue: [LocalizedMessage] = []
    }

    private let lines: [LocalizedMessage]
    private let state = Mutex(State())
    private let ended = OneShot<Void, Never>()
    private let notices: Notices
    /// Whether another thread paints the terminal, and shows them itself.
    private let isQueued: Bool

    /// Begins to wait.
    ///
    /// - Parameters:
    ///   - probe: asks the authorization endpoint.
    ///   - isQueued: whether they are taken by ``queued()`` instead of written.
    init(
        _ lines: [LocalizedMessage], probe: AuthorizationProbe?, _ notices: Notices, isQueued: Bool,
        times: Times = Times()
    ) throws(CredentialError) {
        (self.lines, self.notices, self.isQueued) = (lines, notices, isQueued)
        try DeadlineThread.start { [self] in
            let early = Deadline(milliseconds: times.early), late = Deadline(milliseconds: times.late)
            if probe?.isRefused() == true, ended.take(until: early) == nil { tell() }
            if ended.take(until: late) == nil { tell() }
        }
    }

    /// The reasons for a sign-in of a plan.
    ///
    /// - Parameter isDefined: whether the type is saved.
    static func lines(_ plan: SignInPlan, isDefined: Bool = true) -> [LocalizedMessage] {
        let type = plan.request.type
        let client = UntrustedText.shown(type.clientID)
        let register: LocalizedMessage =
            "Does the page show an error? Register \(UntrustedText.shown(plan.request.redirectURI)) for client \(client) at the provider."
        guard isDefined else { return [register] }
        return [register, "To see the definition: credmgr types show \(ShellQuoting.word(type.name))"]
    }

    private func tell() {
        let isFirst = state.withLock { state in
            defer { state.isTold = true }
            if !state.isTold, isQueued { state.queue = lines }
            return !state.isTold
        }
        guard isFirst else { return }
        InterruptMessage.drop()
        if !isQueued { for line in lines { notices.say(line) } }
    }

    /// Takes the lines that the thread that owns the terminal has to show.
    func queued() -> [LocalizedMessage] {
        state.withLock { state in
            defer { state.queue = [] }
            return state.queue
        }
    }

    /// Ends the wait.
    func end() { ended.put(.success(())) }

    /// The reasons as one text, for the moment at which SIGINT ends the process.
    static func text(_ plan: SignInPlan, isDefined: Bool, in translations: any Translations) -> String {
        lines(plan, isDefined: isDefined).map { $0.text(in: translations) + "\n" }.joined()
    }
}
