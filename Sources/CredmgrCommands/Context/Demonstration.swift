package import CredentialCore

/// `credmgr demo`, which brings a provider of its own and therefore lives outside the commands.
package protocol Demonstration: Sendable {
    /// Runs the walkthrough to its end.
    ///
    /// - Throws: what failed in it.
    func run(_ arguments: ParsedArguments, _ session: Session) throws(CredentialError)
}
