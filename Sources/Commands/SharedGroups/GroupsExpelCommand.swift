import CommandLine
import CredentialCore

/// `credmgr groups expel`: takes a host out of a shared group.
struct GroupsExpelCommand: Command {
    static let spec = CommandSpec(
        ["groups", "expel"], "take a host out of a shared group",
        details: """
            Makes a new key that the host does not get, encrypts every account anew under it, and refreshes every account, \
            since the host knows the tokens. It says for which accounts that does not help, because the provider did not \
            replace the refresh token: there sign out with --revoke, and in again. Where a refresh could not be done yet it names \
            the command that finishes it. A passphrase of the group counts no more. Where the cluster was put back to a time \
            before a host was expelled, the same command expels it again.
            """,
        parameters: [ClusterOption.group, ClusterOption.host], exitStatuses: [3, 5, 6, 7])

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let name = arguments[ClusterOption.host]
        let failures = try session.context.machine.sharing.membership.expel(name, from: group)
        session.notices.note("\(name) does not belong to the group \(group) any more")
        var worst = failures.first?.error
        for (id, error) in failures {
            session.notices.warning("\(id) is not sealed anew: \(error)")
        }
        let repository = session.services(session.stores(mayPrompt: false)).repository
        let demand = TokenDemand(freshness: Freshness(), forceRefresh: true)
        var plan = try RefreshPlan(session, demand)
        let refresh = AccountRefresh(session, demand)
        for account in try session.context.records.registry(of: group).accounts {
            let before = try repository.read(account, in: group, isLocked: false)
            for error in plan.jobs([(group, account)]).flatMap({ refresh.run($0, waits: true)?.failures ?? [] }) {
                let again =
                    ShellQuote.line([
                        "credmgr", "token", "--type", account.type, "--account", account.id, "--group", group.name,
                        "--force-refresh",
                    ]) + " >/dev/null"
                var told = CredentialError(
                    error.code, "\(error); \(name) still has its tokens, and a refresh of its own under way",
                    hint: error.advice ?? "to finish it later: \(again)", details: error.details)
                if error.isTransient { told.advice = "to finish it in half a minute: \(again)" }
                session.notices.warning(told)
                worst = worst ?? error
            }
            let after = try repository.read(account, in: group, isLocked: false)
            for (policy, grant) in after?.grants ?? [:] {
                guard let token = grant.refreshToken, token == before?.grants[policy]?.refreshToken else {
                    continue
                }
                session.notices.warning(
                    "the provider did not replace the refresh token of \(ForeignText.shown(account.shownName)) "
                        + "(\(account.id)), which \(name) knows: sign out with --revoke, and in again")
            }
        }
        if let worst { throw worst }
    }
}
