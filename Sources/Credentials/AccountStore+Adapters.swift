public import CredentialCore
import PluginHost

/// The result of one check of the conformance suite.
public struct AdapterCheck: Sendable, Hashable {
    /// How a check went.
    public enum Outcome: Sendable, Hashable {
        /// It holds.
        case passed
        /// It does not, for this reason.
        case failed(String)
        /// It could not be tried, for this reason.
        case skipped(String)
    }

    /// The check's name, one word.
    public let name: String
    /// The condition that must hold, in one sentence without a full stop.
    public let title: String
    /// How it went.
    public let outcome: Outcome
}

extension AccountStore {
    /// Tries the duties of every adapter on the adapter of a type: one of ``Options/adapters``, a built-in one or a
    /// plugin. It is the suite that the built-in adapters pass, and that `credmgr adapters test` runs.
    ///
    /// The provider need not answer: checks that need it are skipped then. No user is asked for anything.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/configuration`` if the type's adapter is not there.
    public func conformance(of type: AccountType) async throws(CredentialError) -> [AdapterCheck] {
        try await blocking { [self] () throws(CredentialError) in
            let adapter = try parts.machine.adapters.adapter(of: type)
            return AdapterConformance(adapter, type: type, context: parts.accounts.adapterContext(of: type)).run()
                .map {
                    AdapterCheck(name: $0.name, title: $0.title, outcome: .init($0.verdict))
                }
        }
    }
}

extension AdapterCheck.Outcome {
    fileprivate init(_ verdict: ConformanceResult.Verdict) {
        self =
            switch verdict {
            case .passed: .passed
            case .failed(let reason): .failed(reason)
            case .skipped(let reason): .skipped(reason)
            }
    }
}
