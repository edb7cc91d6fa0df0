import CredentialCore
import OAuth
import StrictJSON

/// A sign-in with `--new`: of another user than those who have signed in.
struct AnotherPerson {
    private let plan: SignInPlan

    init(_ plan: SignInPlan) { self.plan = plan }

    /// Says if the provider cannot be asked to let the person choose: then its session in the browser decides who
    /// comes back.
    func tellWhatIsSent(_ pending: JSONObject, at page: URI, _ notices: Notices) {
        guard plan.request.wantsAnother, plan.request.prompt == nil, pending[CodeFlow.ownPrompt] == nil else {
            return
        }
        notices.note(
            "the provider cannot offer another user: to sign in as a different user, sign out at \(page.origin) in "
                + "the browser first")
    }

    /// Says if the same user has come back, whose account was renewed.
    func tell(_ outcome: SignInService.Outcome, _ notices: Notices) {
        guard plan.wantsAnother, !plan.forceNew, !outcome.isNew else { return }
        let user = UntrustedText.shown(outcome.account.username ?? outcome.account.shownName)
        notices.warning(
            CredentialError(
                .denied, "\(user) is already signed in to \(plan.request.type.name)",
                hint: plan.commandForAnother.hint))
    }
}
