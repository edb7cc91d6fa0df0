package import CredentialCore
import StrictJSON

/// The result of a check of `doctor`.
package struct Diagnostic: Sendable {
    /// The part that was checked: `keyring`, `registry`.
    package let check: String
    /// How it is.
    package let state: State
    /// The finding, and the reason why it matters: lower case, no full stop, no secret.
    package let message: LocalizedMessage
    /// The remedy: a command or a sentence.
    package let remedy: LocalizedMessage?
    /// The repair that `doctor --fix` can make.
    package let repair: Fix?
    /// The key that distinguishes a problem of a group from its other problems, which several checks may report.
    package var cause: [String]?

    /// How a part is.
    package enum State: String, Sendable {
        /// As it should be.
        case ok
        /// Worth knowing, and not wrong.
        case note
        /// Wrong.
        case problem
    }

    /// A repair.
    package struct Fix: Sendable {
        /// The question to ask first, without a question mark: "take them up into the registry".
        package let action: LocalizedMessage
        /// Does it.
        package let run: @Sendable () throws(CredentialError) -> Void

        /// Makes a repair.
        package init(_ action: LocalizedMessage, run: @escaping @Sendable () throws(CredentialError) -> Void) {
            self.action = action
            self.run = run
        }
    }

    /// Reports a finding.
    package init(
        _ check: String, _ state: State, _ message: LocalizedMessage, remedy: LocalizedMessage? = nil,
        repair: Fix? = nil
    ) {
        self.check = check
        self.state = state
        self.message = message
        self.remedy = remedy
        self.repair = repair
    }

    /// A problem that an error describes.
    package init(
        _ check: String, _ error: CredentialError, state: State = .problem, repair: Fix? = nil,
        in group: KeychainGroup? = nil
    ) {
        // The remedy of other commands is to run this command, which would not help here.
        let remedy = error.advice.flatMap { $0.description.contains("credmgr doctor") ? nil : $0 }
        self.init(check, state, error.text, remedy: remedy, repair: repair)
        // Nodes say the same in words of their own.
        cause = group.map { [$0.name, error.code.rawValue, error.hint ?? error.message] }
    }

    /// The element of `doctor --json`.
    var json: JSONValue {
        [
            "check": .string(check), "state": .string(state.rawValue), "message": .string(message.description),
            "remedy": JSONValue(remedy?.description), "repair": JSONValue(repair?.action.description),
        ]
    }
}

/// A check of `doctor`. It never throws: a failed check is a finding.
package protocol DoctorCheck: Sendable {
    /// Looks, and makes no change.
    ///
    /// - Parameter isOnline: whether the network may be asked.
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic]
}
