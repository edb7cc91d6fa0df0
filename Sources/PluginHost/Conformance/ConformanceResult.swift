import CredentialCore

/// The result of one check of the conformance suite.
package struct ConformanceResult: Sendable {
    /// How a check went.
    package enum Verdict: Sendable, Hashable {
        /// It holds.
        case passed
        /// It does not, for this reason.
        case failed(String)
        /// It could not be tried, for this reason.
        case skipped(String)
    }

    /// The check's name, one word.
    package let name: String
    /// The rule that must hold, in one sentence without a full stop.
    package let title: String
    /// How it went.
    package let verdict: Verdict
}

/// One check: its name, the rule that must hold, and how that is tried.
package struct ConformanceCheck<Subject>: Sendable {
    /// One word.
    package let name: String
    /// One sentence without a full stop.
    package let title: String
    private let body: @Sendable (Subject) throws(CredentialError) -> ConformanceResult.Verdict

    /// Makes a check; an error thrown by `body` is a failure.
    init(
        _ name: String, _ title: String,
        _ body: @escaping @Sendable (Subject) throws(CredentialError) -> ConformanceResult.Verdict
    ) {
        self.name = name
        self.title = title
        self.body = body
    }

    /// Tries it.
    package func run(_ subject: Subject) -> ConformanceResult {
        do throws(CredentialError) {
            return ConformanceResult(name: name, title: title, verdict: try body(subject))
        } catch {
            return ConformanceResult(name: name, title: title, verdict: .failed(error.message))
        }
    }
}
