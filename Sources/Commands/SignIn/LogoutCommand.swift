import CommandLine
import CredentialCore
import OAuth

/// `credmgr logout`.
struct LogoutCommand: Command {
    static let spec = CommandSpec(
        ["logout"], "forget an account's tokens",
        details: """
            Forgets accounts on this machine. With --revoke, credmgr first asks the provider to revoke their \
            tokens. It keeps an account whose tokens cannot be revoked, unless you add --force. With --browser, \
            credmgr also ends the session in the browser.

            --account with --policy forgets the grant of one policy, --account the whole account, --type with \
            --all every account of a type, --group with --all every account of a group.
            """,
        options: [SharedOption.account, SharedOption.type, all, yes, SharedOption.policy, revoke, force, browser],
        examples: [
            .init("sign one account out", "credmgr logout --account ann@example.com"),
            .init("forget all accounts", "credmgr logout --all --yes"),
        ],
        exitStatuses: [3, 5, 6, 7])

    private static let all = Option.flag(
        "all", "every account, or every account of --type; asks first, or requires --yes")
    private static let yes = Option.flag("yes", "do not ask for confirmation of --all")
    private static let revoke = Option.flag("revoke", "revoke the tokens at the provider")
    private static let force = Option.flag("force", "with --revoke, also forget accounts that cannot be revoked")
    private static let browser = Option.flag("browser", "end the provider's session in the browser")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        var failures: [CredentialError] = []
        let targets = try targets(session, &failures)
        let stores = session.stores()
        for (group, account) in targets {
            do throws(CredentialError) {
                try forget(account, in: group, session, stores)
            } catch {
                // A user who dismissed a prompt does not get the next one.
                if targets.count == 1 || error.code == .cancelled || error.code == .interrupted { throw error }
                failures.append(
                    CredentialError(
                        error.code,
                        "\(account.id) (\(UntrustedText.shown(account.shownName))) was not forgotten: \(error)",
                        hint: error.advice, details: error.details))
            }
        }
        try session.fail(with: failures)
    }

    private func forget(
        _ account: Account, in group: KeychainGroup, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) {
        let type = try definition(of: account, in: group, session)
        let opensPage = try type.map { (type) throws(CredentialError) in
            try mayOpenPage(of: type, account, session)
        }
        let policy = try policy(of: account, by: type, session)
        if let policy, arguments[Self.all], !account.policies.contains(policy) { return }
        var endSession: [URI] = []
        do throws(CredentialError) {
            try session.services(stores).signOut.forget(account, policy: policy, in: group) {
                (grants) throws(CredentialError) in
                guard let type else { return }
                if opensPage == true { endSession = try pages(grants, type, account, session, stores) }
                if arguments[Self.revoke] {
                    for (_, grant) in grants { try revoke(grant, type, account, group, session, stores) }
                }
            }
        } catch {
            for address in endSession { openInBrowser(address, session) }
            throw error
        }
        session.notices.note(
            policy.map { "forgot \(account.id) (\(UntrustedText.shown(account.shownName))), policy \($0)" }
                ?? "forgot \(account.id) (\(UntrustedText.shown(account.shownName)))")
        for address in endSession { openInBrowser(address, session) }
    }

    /// Has the user confirm `--all`, by `--yes` or on a terminal.
    ///
    /// - Throws: ``ErrorCode/usage`` if no user can be asked; ``ErrorCode/cancelled`` for a no.
    private func confirm(_ count: Int, of type: AccountType?, _ session: CommandSession) throws(CredentialError) {
        guard !arguments[Self.yes], count > 0 || !session.mayAsk else { return }
        guard session.mayAsk else {
            throw CredentialError(
                .usage, "--all forgets every account; it needs --yes",
                hint: LocalizedMessage(
                    verbatim: arguments.commandLine(adding: [Self.yes.spec.written], quoting: ShellQuoting.word)))
        }
        let accounts: LocalizedMessage = "\(count, one: "\(count) account", other: "\(count) accounts")"
        let answer = try session.context.console.ask(
            type.map { "Forget \(accounts) of \($0.name)? [y/N] " } ?? "Forget \(accounts)? [y/N] ", isSecret: false
        ).reveal()
        guard ["y", "Y", "yes"].contains(answer) else {
            throw CredentialError(.cancelled, "no account was forgotten")
        }
    }

    private func targets(
        _ session: CommandSession, _ failures: inout [CredentialError]
    ) throws(CredentialError) -> [(group: KeychainGroup, account: Account)] {
        let resolver = TargetResolver(session)
        if arguments[Self.all] {
            // A user who names an account does not mean all.
            guard arguments[SharedOption.account] == nil else {
                throw CredentialError(.usage, "--all and --account cannot go together")
            }
            let type = try arguments[SharedOption.type].map { (name) throws(CredentialError) in
                try resolver.type(named: name)
            }
            let accounts = try session.accounts(of: type) { failures.append($1) }
            try confirm(accounts.count, of: type, session)
            return accounts
        }
        if let type = arguments[SharedOption.type] {
            let target = try resolver.target(
                ofType: try resolver.type(named: type),
                TargetOptions(type: type, account: arguments[SharedOption.account]))
            return [(target.group, target.account)]
        }
        guard let account = arguments[SharedOption.account] else {
            throw CredentialError(
                .usage, "name what to forget with --account, --type, or --all --yes", hint: "credmgr accounts")
        }
        let found = try AccountFinder(session).account(account, type: nil)
        return [(found.group, found.account)]
    }

    /// The type of an account. If no definition has the type any more, the account can still be forgotten here. A
    /// definition of that name for another client or provider is none of the account: it receives no token.
    private func definition(
        of account: Account, in group: KeychainGroup, _ session: CommandSession
    ) throws(CredentialError) -> AccountType? {
        do throws(CredentialError) {
            let resolver = TargetResolver(session), type = try resolver.type(named: account.type)
            if arguments[Self.revoke] || arguments[Self.browser] {
                try account.check(seenBy: type, try resolver.registration(of: type), in: group)
            }
            return type
        } catch {
            let isNeeded =
                arguments[Self.revoke] || arguments[Self.browser] || arguments[SharedOption.policy] != nil
            if !isNeeded { return nil }
            guard arguments[Self.force] else {
                // For a definition that is not confirmed, the hint to confirm it is the better one.
                throw arguments[Self.revoke] && error.code != .denied
                    ? kept(account, in: group, because: error) : error
            }
            session.notices.warning("the tokens of \(account.id) were not revoked: \(error)")
            return nil
        }
    }

    /// Whether the provider's sign-out page opens. The page gets the ID token, so a page of a definition needs a
    /// definition that is confirmed. `--force` goes on without the page.
    private func mayOpenPage(
        of type: AccountType, _ account: Account, _ session: CommandSession
    ) throws(CredentialError) -> Bool {
        guard arguments[Self.browser] else { return false }
        guard let page = type.endpoints[.endSession] else { return true }
        do throws(CredentialError) {
            try session.context.machine.trust.check(account, by: type.name, for: page)
            return true
        } catch {
            guard arguments[Self.force] else { throw error }
            session.notices.warning(error)
            return false
        }
    }

    /// The policy that is to be forgotten. Without a definition of its own, the account has the full names of its
    /// policies, and the definition in its place may have their aliases.
    private func policy(
        of account: Account, by type: AccountType?, _ session: CommandSession
    ) throws(CredentialError) -> String? {
        guard let name = arguments[SharedOption.policy] else { return nil }
        let adapters = session.context.adapters
        if let type { return try adapters.adapter(of: type).policy(name, of: type) }
        if let own = account.policies.first(where: { $0.lowercased() == name.lowercased() }) { return own }
        guard let other = try? TargetResolver(session).type(named: account.type) else { return name }
        return (try? adapters.adapter(of: other).policy(name, of: other)) ?? name
    }

    /// The pages that end the provider's session in the browser.
    private func pages(
        _ grants: [(policy: String, grant: RevocationRequest)], _ type: AccountType, _ account: Account,
        _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) -> [URI] {
        let adapter = try session.context.adapters.adapter(of: type)
        var pages: [URI] = []
        // One page ends the browser's session, however many sign-ins of a policy there were.
        for (policy, grant) in Dictionary(grants.map { ($0.policy, $0.grant) }, uniquingKeysWith: { $1 })
            .sorted(by: { $0.key < $1.key })
        {
            if let page = try adapter.endSessionAddress(
                grant.grant, policy: policy, of: type, in: session.services(stores).adapterContext(of: type))
            {
                pages.append(page)
            } else {
                session.notices.warning("the provider of \(type.name) has no sign-out page")
            }
        }
        return pages
    }

    /// Revokes a grant. One that cannot be revoked is kept, because it is the only copy of a grant that the
    /// provider still honours; `--force` forgets it regardless.
    private func revoke(
        _ grant: RevocationRequest, _ type: AccountType, _ account: Account, _ group: KeychainGroup,
        _ session: CommandSession,
        _ stores: any SecretStores
    ) throws(CredentialError) {
        do throws(CredentialError) {
            try session.context.adapters.adapter(of: type).revoke(
                grant, of: type, in: session.services(stores).adapterContext(of: type))
            session.notices.note("the provider has revoked the tokens of \(account.id)")
        } catch {
            if arguments[Self.force] {
                session.notices.warning("the tokens of \(account.id) were not revoked: \(error)")
                return
            }
            throw kept(account, in: group, because: error)
        }
    }

    private func kept(
        _ account: Account, in group: KeychainGroup, because error: CredentialError
    ) -> CredentialError {
        CredentialError(
            error.code, "the tokens of \(account.id) were not revoked, so the account is kept: \(error)",
            hint: forcing(account, in: group), details: error.details)
    }

    /// The command that forgets an account even if its provider refuses.
    private func forcing(_ account: Account, in group: KeychainGroup) -> LocalizedMessage {
        var words = ["credmgr", "logout", "--account", account.id, "--group", group.name]
        if let policy = arguments[SharedOption.policy] { words += ["--policy", policy] }
        words.append("--revoke")
        if arguments[Self.browser] { words.append("--browser") }
        words.append("--force")
        return LocalizedMessage(verbatim: ShellQuoting.line(words))
    }

    private func openInBrowser(_ address: URI, _ session: CommandSession) {
        // Without the ID token: a reader of the terminal need not have it. The provider may then ask who is meant.
        let fields = (FormURLEncoding.decode(address.query ?? "") ?? []).filter { $0.name != "id_token_hint" }
        let shown = address.replacing(path: address.path, query: FormURLEncoding.encode(fields))
        session.notices.say("Open this address to end the session in the browser:")
        session.notices.say("  \(shown)")
        // The browser may take its time: the rest of the file goes with the next one.
        _ = Browser.open(address, session)
    }
}
