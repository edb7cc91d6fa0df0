package import CredentialCore

/// The advice for a protected resource's refusal that no refresh fixes.
package struct StepUpHint: Sendable {
    private let demand: StepUp
    private let place: String

    /// Reads a refusal; `nil` for any other response.
    package init?(_ response: HTTPResponse, from address: URI) {
        guard response.status == 401 || response.status == 403 else { return nil }
        let challenges = AuthenticationChallenge.parse(response.values(of: "www-authenticate"))
        guard let demand = challenges.lazy.compactMap(\.stepUp).first else { return nil }
        self.demand = demand
        place = address.origin
    }

    /// The error to end with: it requires a sign-in that requests more, or, if that was requested already, it
    /// reports that no sign-in will help.
    ///
    /// - Parameters:
    ///   - token: the token that was refused.
    ///   - grant: the grant that the token was obtained with; `nil` if that is not known.
    /// - Returns: ``ErrorCode/signInRequired`` with ``CredentialError/stepUp``, or ``ErrorCode/denied``.
    package func error(
        of account: Account, in group: KeychainGroup, under type: AccountType, token: AccessToken, grant: Grant?,
        now: Timestamp
    ) -> CredentialError {
        let asked = grant.flatMap { GrantMetadata.requestedScope(in: $0.adapterState) } ?? type.scope
        var wanted = demand
        let isScope = demand.parameters.isEmpty
        if isScope {
            let shown = UntrustedText.shown(Scope.text(demand.scope), limit: 300)
            guard !demand.scope.isEmpty else {
                return CredentialError(.denied, "\(place) requires a wider scope but does not name the scope")
            }
            if demand.scope.allSatisfy(token.scope.contains) {
                return CredentialError(
                    .denied,
                    "\(place) requires the scope \(shown), which the token already has: a new sign-in does not "
                        + "help")
            }
            if demand.scope.allSatisfy({ asked.contains($0) || token.scope.contains($0) }) {
                return CredentialError(
                    .denied,
                    "\(place) requires the scope \(shown), but the provider did not grant the scope at sign-in")
            }
        } else if let grant, GrantMetadata.wasAsked(demand, in: grant.adapterState, now: now) {
            return CredentialError(
                .denied, "\(place) requires another authentication, but the sign-in already requested it")
        }
        if demand.scope.isEmpty {
            wanted.scope = Set(asked) == Set(type.scope) ? [] : asked
        } else {
            wanted.scope = Scope.distinct(asked + demand.scope)
        }
        var command = LoginHint(
            for: account, in: group, as: type, policy: token.key.policy, scope: wanted.scope)
        if let grant { command.name(grant.flow, of: type) }
        // Another authentication is shown on the page in the browser, which the other flows have not.
        if !isScope, command.flow != .code { command.flow = nil }
        command.more = wanted.options
        var error = CredentialError(
            .signInRequired,
            "\(place) requires \(isScope ? "a wider scope" : "another authentication") for "
                + "\(UntrustedText.shown(account.shownName)) (\(account.id))",
            hint: command.hint)
        error.stepUp = wanted
        return error
    }
}
