import CredentialCore
import OAuth

/// The summary of a stored sign-in: user, store, lifetime and the next command.
struct SignedIn {
    private let account: Account
    private let result: SignInResult
    private let plan: SignInPlan

    init(_ outcome: SignInService.Outcome, _ result: SignInResult, _ plan: SignInPlan) {
        account = outcome.account
        (self.result, self.plan) = (result, plan)
    }

    /// Says it.
    ///
    /// - Parameter isDefault: whether a command without a name takes this account.
    func tell(_ session: CommandSession, isDefault: Bool) {
        let now = session.context.clock.now
        let user = UntrustedText.shown(account.username ?? account.shownName)
        session.notices.outcome(
            "Signed in as \(user) to \(plan.request.type.name); stored in the \(account.store.shownName); \(duration(now))"
        )
        session.notices.outcome("Next: \(next(isDefault))")
        warn(session.notices, now)
    }

    /// How long the sign-in lasts, as far as that is known.
    private func duration(_ now: Timestamp) -> LocalizedMessage {
        let grant = result.tokens.grant
        if grant.isRefreshable {
            guard let end = grant.refreshExpiresAt else { return "renewed automatically" }
            return "it renews itself until it ends \(RelativeTime.until(end, now: now))"
        }
        guard let token = result.tokens.accessToken, token.hasKnownEnd else { return "it has no known end" }
        return "it ends \(RelativeTime.until(token.expiresAt, now: now))"
    }

    /// The command that prints a token of this account.
    private func next(_ isDefault: Bool) -> LocalizedMessage {
        let type = plan.request.type
        var words = isDefault ? ["--type", type.name] : ["--account", account.id]
        if !isDefault, account.type != type.name { words += ["--type", type.name] }
        if !isOfDefaultPolicy { words += ["--policy", plan.request.policy] }
        if plan.group != type.keychainGroup { words += ["--group", plan.group.name] }
        return "credmgr token \(ShellQuoting.line(words))"
    }

    /// Whether a command without a policy means that of this sign-in.
    private var isOfDefaultPolicy: Bool {
        plan.request.policy.isEmpty
            || plan.request.policy == (try? plan.adapter.policy(nil, of: plan.request.type))
    }

    /// Warns if there is no refresh token, as the sign-in then ends with its token, and another like it ends as
    /// soon.
    private func warn(_ notices: Notices, _ now: Timestamp) {
        // A policy that resets a password does not give one, and another policy's sign-in goes on.
        guard result.tokens.endWithToken, isOfDefaultPolicy || account.endsWithToken else { return }
        let type = plan.request.type
        let advice = RefreshTokenAdvice(
            type, scope: plan.adapter.effectiveScope(type.scope, of: type),
            asked: plan.adapter.effectiveScope(plan.request.scope, of: type))
        let end = result.tokens.accessToken.map { RelativeTime.until($0.expiresAt, now: now) }
        let login = LoginHint(for: account, in: plan.group, as: type, policy: plan.request.policy)
        notices.warning(
            CredentialError(
                .signInRequired,
                end.map { "the sign-in ends \($0), because the provider issued no refresh token: \(advice.cause)" }
                    ?? "the provider issued no refresh token: \(advice.cause)",
                hint: advice.hint(login)))
    }
}
