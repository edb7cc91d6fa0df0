import CommandLine
import CredentialCore

/// `credmgr groups expel`: takes a host out of a shared group.
struct GroupsExpelCommand: Command {
    static let spec = CommandSpec(
        ["groups", "expel"], "remove a host from a shared group",
        details: """
            Makes a new key that the host does not get, encrypts every account with the new key, and refreshes \
            every account, because the host knows the tokens. credmgr reports the accounts whose old refresh token \
            still works or may still work. Sign out of these accounts with --revoke, and sign in again. credmgr \
            prints the command that takes the role from the host's user in the cluster, and the command that \
            finishes an incomplete refresh. A passphrase of the group is no longer valid. If the cluster was \
            restored from an earlier time, run the same command again. Then --fingerprint selects the host with \
            that key, and no other machine with the same name.
            """,
        parameters: [ClusterOption.group, ClusterOption.host], options: [fingerprint],
        exitStatuses: [3, 5, 6, 7])

    private static let fingerprint = Option.value(
        "fingerprint", .any("FINGERPRINT"), "the fingerprint of the host's key, from 'groups hosts' or a message")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let group = try KeychainGroup(arguments[ClusterOption.group])
        let name = arguments[ClusterOption.host]
        let sharing = session.context.machine.sharing
        let expulsion = try sharing.membership.expel(name, fingerprint: arguments[Self.fingerprint], from: group)
        try tell(expulsion, group, session)
        if let error = expulsion.interruption {
            throw CredentialError(
                error.code,
                "\(error); the accounts are not encrypted with the new key yet, and \(name) has their tokens",
                hint: "to finish the removal: credmgr refresh --all --group \(group) --min-valid 365d",
                details: error.details)
        }
        var worst = expulsion.unsealed.first?.error
        for (id, error) in expulsion.unsealed {
            session.notices.warning("cannot encrypt \(id) with the new key: \(error)")
        }
        let repository = session.services(session.stores(mayPrompt: false)).repository
        let demand = TokenDemand(freshness: Freshness(), forceRefresh: true)
        var plan = try RefreshPlan(session, demand)
        let refresh = AccountRefresh(session, demand)
        var unknown: [(account: Account, revokes: Bool)] = []
        var unread: [(id: String, error: CredentialError)] = []
        let registry = try session.context.records.registry(of: group) { unread.append(($0, $1)) }
        for account in registry.accounts {
            let jobs = plan.jobs([(group, account)])
            let before: TokenSet?, after: TokenSet?, outcomes: [AccountRefresh.Outcome]
            do throws(CredentialError) {
                before = try repository.read(account, in: group, isLocked: false)
                outcomes = jobs.compactMap { refresh.run($0, waits: true) }
                after = try repository.read(account, in: group, isLocked: false)
            } catch {
                // Its error does not stop the refresh of the others.
                unread.removeAll { $0.id == account.id }
                unread.append((account.id, error))
                continue
            }
            for error in outcomes.flatMap(\.failures) {
                let again = Self.again(account.id, type: account.type, group)
                var told = CredentialError(
                    error.code,
                    "\(error); \(name) still has the account's tokens, and a refresh of that host is running",
                    hint: error.advice ?? "to finish the refresh later: \(again)", details: error.details)
                if error.isTransient { told.advice = "to finish the refresh in half a minute: \(again)" }
                session.notices.warning(told)
                worst = worst ?? error
            }
            let checked = (try? jobs.first?.types.get())?.first
            let revokes = checked.map { Self.revokes($0.adapter) } ?? true
            switch Self.helps(before, after, Set(outcomes.flatMap(\.refreshed)), checked?.type.refreshReuse) {
            case .yes: break
            case .no:
                session.notices.warning(
                    useless(
                        "the provider did not replace the refresh token of \(shown(account)), which \(name) knows",
                        account, group, revokes))
            case .notAlone:
                session.notices.warning(
                    useless(
                        "the provider also accepts a replaced refresh token, and \(name) knows the old token of "
                            + "\(shown(account))",
                        account, group, revokes))
            case .unknown: unknown.append((account, revokes))
            }
        }
        for (id, error) in unread {
            session.notices.warning(
                CredentialError(
                    error.code, "\(error); \(name) still has the account's tokens",
                    hint: "credmgr doctor --fix; \(Self.again(id, type: nil, group))", details: error.details))
            worst = worst ?? error
        }
        if let first = unknown.first {
            let names = unknown.map { shown($0.account) }.joined(separator: ", ")
            session.notices.warning(
                CredentialError(
                    .problemsFound,
                    "a provider may still accept the replaced refresh token that \(name) knows; refresh_reuse of "
                        + "the type does not exclude this for: \(names)",
                    hint: first.revokes
                        ? "to revoke the grant and sign in again: \(Self.anew(first.account, group, revokes: true))"
                        : Self.anew(first.account, group, revokes: false)))
        }
        if let worst { throw worst }
    }

    /// Says who belongs to the group no more, and how they are kept from writing there.
    private func tell(
        _ expulsion: RemovalResult, _ group: KeychainGroup, _ session: CommandSession
    ) throws(CredentialError) {
        let prefix =
            try session.context.machine.sharing.backend(of: group)?.prefix ?? ClusterConfiguration.standardPrefix
        var named: Set<String> = []
        for host in expulsion.hosts where named.insert(host.name).inserted {
            session.notices.note(
                "\(UntrustedText.shown(host.name, limit: 80)) no longer belongs to the group \(group)")
        }
        var revoked: Set<String> = []
        // The user did not ask for the hosts that go with it; any host may have written that they were expelled.
        for host in expulsion.hosts
        where host.name == arguments[ClusterOption.host] && revoked.insert(host.user ?? host.name).inserted {
            let name = UntrustedText.shown(host.name, limit: 80)
            let revoke = EtcdCommands(group: group, prefix: prefix, hosts: [host.user ?? host.name]).revoke
            if let other = host.sharesUserWith {
                session.notices.warning(
                    CredentialError(
                        .problemsFound,
                        "\(name) can still write in the cluster: it was the same user there as "
                            + "\(UntrustedText.shown(other, limit: 80)), which stays",
                        hint: "after that host has a certificate with another common name: \(revoke)"))
            } else if host.user == nil {
                session.notices.note(
                    "cannot determine the etcd user of \(name); to take the group's role (access to ciphertext "
                        + "only) from a user with this name: \(revoke)")
            } else {
                session.notices.note(
                    "the user of \(name) still has the group's role in the cluster (access to ciphertext only); to "
                        + "remove the role: \(revoke)")
            }
        }
        if let error = expulsion.staleKeyringCopy {
            session.notices.warning("cannot remove obsolete keys from the cluster: \(error)")
        }
    }

    /// The effect of a new refresh token against a host that knows the old one.
    enum Help: Hashable {
        /// The old one is invalid, or the check was not possible, which was reported as a failure.
        case yes
        /// The provider answered, and the token is the one that the host knows.
        case no
        /// The type says that the provider takes the old one, too.
        case notAlone
        /// The token was replaced, and the state of the old one is unknown.
        case unknown
    }

    static func helps(
        _ before: TokenSet?, _ after: TokenSet?, _ refreshed: Set<String>, _ reuse: AccountType.RefreshReuse?
    ) -> Help {
        var isReplaced = false
        for (policy, grant) in after?.grants ?? [:] {
            guard let old = before?.grants[policy]?.refreshToken, let token = grant.refreshToken else { continue }
            if token != old { isReplaced = true } else if refreshed.contains(policy) { return .no }
        }
        switch reuse {
        case _ where !isReplaced: return .yes
        case .revokes: return .yes
        case .tolerated: return .notAlone
        case nil: return .unknown
        }
    }

    /// The command that refreshes an account later.
    private static func again(_ id: String, type: String?, _ group: KeychainGroup) -> String {
        ShellQuoting.line(
            ["credmgr", "token"] + (type.map { ["--type", $0] } ?? [])
                + ["--account", id, "--group", group.name, "--force-refresh"]) + " >/dev/null"
    }

    private func useless(
        _ text: LocalizedMessage, _ account: Account, _ group: KeychainGroup, _ revokes: Bool
    ) -> CredentialError {
        CredentialError(.problemsFound, text, hint: Self.anew(account, group, revokes: revokes))
    }

    /// Whether a provider may have revocation.
    private static func revokes(_ adapter: any CredentialAdapter) -> Bool {
        do throws(CredentialError) {
            try adapter.checkRevocation()
            return true
        } catch { return false }
    }

    private func shown(_ account: Account) -> String { "\(UntrustedText.shown(account.shownName)) (\(account.id))" }

    /// Ends a sign-in at the provider, if that supports it, and begins it again.
    static func anew(_ account: Account, _ group: KeychainGroup, revokes: Bool) -> LocalizedMessage {
        let type = ShellQuoting.word(account.type)
        guard revokes else {
            return
                "the provider has no revocation, but its administrator may end all sessions of a user; to sign in "
                + "again: "
                + "credmgr logout --account \(account.id) --group \(group) && credmgr login --type \(type) --group \(group)"
        }
        return
            "credmgr logout --account \(account.id) --group \(group) --revoke && credmgr login --type \(type) --group \(group)"
    }
}
