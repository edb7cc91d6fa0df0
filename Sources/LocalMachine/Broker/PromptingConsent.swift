package import Broker
package import CredentialCore
import Platform
import Synchronization

/// Decides by grants, and prompts the user if no grant applies. A caller has one open prompt at a time.
package final class PromptingConsent: ConsentDecider {
    /// The parts that a decision needs.
    package struct Parts: Sendable {
        /// The name of the broker.
        package var broker: String
        /// The prompts in the order in which they are tried.
        package var prompts: [any ConsentPrompt]
        /// Remembered consents.
        package var grants: any ConsentGrants
        /// The audit log, for the lines `ask` and `answer`.
        package var audit: any AuditWriter
        /// The life of a grant in seconds.
        package var remember: Int64 = 8 * 3_600
        /// The life of a prompt in milliseconds.
        package var timeout: Int32 = 60_000
        /// The clock that the ends of grants are measured by.
        package var clock: any WallClock = SystemClock()
        /// Milliseconds on a clock that cannot be set.
        package var uptime: @Sendable () -> Int64 = { SystemTime.sinceBoot }
        /// The user's language.
        package var text: @Sendable (LocalizedMessage) -> String = { $0.description }
        /// Receives failures that do not affect the decision: a grant that could not be stored, a line that could
        /// not be written.
        package var warn: @Sendable (CredentialError) -> Void = { _ in }

        /// Makes parts.
        package init(
            broker: String, prompts: [any ConsentPrompt], grants: any ConsentGrants, audit: any AuditWriter
        ) {
            self.broker = broker
            self.prompts = prompts
            self.grants = grants
            self.audit = audit
        }
    }

    /// The requests that share an answer.
    private struct Share: Sendable, Equatable {
        let entry: String
        let account: String
        let type: String
        let scope: Set<String>
        let origin: String?
        let resource: String?
        let audience: String?
        let wantsIDToken: Bool
        let always: Bool
    }

    private final class OpenPrompt: Sendable {
        let share: Share
        let answer = OneShot<ConsentAnswer, Never>()

        init(_ share: Share) { self.share = share }
    }

    private struct State {
        var open: [CallerKey: OpenPrompt] = [:]
        var refusals = ConsentRefusals()
    }

    private enum Step {
        case blocked
        case join(OpenPrompt)
        case wait(OpenPrompt)
        case ask(OpenPrompt)
    }

    private let parts: Parts
    private let state = Mutex(State())

    /// Makes a decider without refusals.
    package init(_ parts: Parts) { self.parts = parts }

    package func decide(_ question: ConsentQuestion) -> ConsentAnswer {
        let deadline = Deadline(milliseconds: parts.timeout)
        let share = Share(
            entry: question.entry, account: question.accountID ?? question.account, type: question.type,
            scope: Set(question.scope), origin: question.origin, resource: question.resource,
            audience: question.audience, wantsIDToken: question.wantsIDToken, always: question.always)
        while true {
            if isGranted(question) { return .granted }
            switch step(question, share) {
            case .blocked: return .refusedForNow
            case .join(let prompt): return prompt.answer.take(until: deadline).map(\.value) ?? .refused
            case .wait(let prompt):
                // Another entry of the same caller: its own prompt follows.
                guard prompt.answer.take(until: deadline) != nil, !deadline.hasPassed else { return .refused }
            case .ask(let prompt):
                let answer = ask(question, deadline)
                state.withLock { $0.open[question.caller.key] = nil }
                prompt.answer.put(.success(answer))
                return answer
            }
        }
    }

    private func step(_ question: ConsentQuestion, _ share: Share) -> Step {
        let now = parts.uptime()
        return state.withLock { state in
            if state.refusals.blocks(question.caller.key, at: now) { return .blocked }
            if let open = state.open[question.caller.key] { return open.share == share ? .join(open) : .wait(open) }
            let prompt = OpenPrompt(share)
            state.open[question.caller.key] = prompt
            return .ask(prompt)
        }
    }

    private func isGranted(_ question: ConsentQuestion) -> Bool {
        guard !question.always else { return false }
        let now = parts.clock.now
        do throws(CredentialError) {
            return try parts.grants.grants(of: parts.broker).contains { $0.covers(question, at: now) }
        } catch {
            // Without the grants the user is prompted again.
            parts.warn(error)
            return false
        }
    }

    private func ask(_ question: ConsentQuestion, _ deadline: Deadline) -> ConsentAnswer {
        let text = ConsentText(question, in: parts.text)
        write(.ask, question, nil)
        var choice: ConsentChoice?
        for prompt in parts.prompts where choice == nil {
            choice = prompt.ask(text, milliseconds: deadline.remainingMilliseconds)
        }
        write(.answer, question, choice?.rawValue ?? "no_prompt")
        switch choice {
        case .once: return .granted
        case .remember:
            if !question.always { remember(question) }
            return .granted
        case .no, .timeout, .close:
            let now = parts.uptime()
            state.withLock { $0.refusals.add(question.caller.key, at: now) }
            return choice == .close ? .closeBroker : .refused
        case nil: return .noPrompt
        }
    }

    private func remember(_ question: ConsentQuestion) {
        let now = parts.clock.now
        let grant = ConsentGrant(question, created: now, until: now.adding(parts.remember))
        do throws(CredentialError) { try parts.grants.add(grant, to: parts.broker) } catch { parts.warn(error) }
    }

    private func write(_ what: AuditEvent.What, _ question: ConsentQuestion, _ reason: String?) {
        let event = AuditEvent(
            what, entry: question.entry, account: question.accountID, origin: question.origin,
            caller: question.caller, reason: reason)
        do throws(CredentialError) { try parts.audit.write(event.bounded) } catch { parts.warn(error) }
    }
}

extension Result where Failure == Never {
    fileprivate var value: Success {
        switch self {
        case .success(let value): value
        }
    }
}
