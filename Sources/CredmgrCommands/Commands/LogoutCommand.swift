import CredentialCore
import OAuth

/// `credmgr logout`.
struct LogoutCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let targets = try targets(session)
        let stores = session.stores()
        var failures: [CredentialError] = []
        for (group, account) in targets {
            do throws(CredentialError) {
                try forget(account, in: group, session, stores)
            } catch {
                // Whoever dismissed a question is not asked the next one.
                if targets.count == 1 || error.code == .cancelled || error.code == .interrupted { throw error }
                failures.append(
                    CredentialError(
                        error.code,
                        "\(account.id) (\(ForeignText.shown(account.shownName))) was not forgotten: \(error.message)",
                        hint: error.hint, details: error.details))
            }
        }
        guard let last = failures.popLast() else { return }
        for failure in failures { session.notices.warning(failure.message) }
        throw last
    }

    private func forget(
        _ account: Account, in group: KeychainGroup, _ session: Session, _ stores: any SecretStores
    ) throws(CredentialError) {
        let context = session.adapterContext(stores)
        let type = try definition(of: account, session)
        let policy = try type.flatMap { (type) throws(CredentialError) -> String? in
            guard let name = arguments.string("policy") else { return nil }
            return try session.context.adapters.adapter(of: type).policy(name, of: type)
        }
        if let policy, arguments.flag("all"), !account.policies.contains(policy) { return }
        var endSession: [WebAddress] = []
        try session.signOutService(stores).forget(account, policy: policy, in: group) {
            (grants) throws(CredentialError) in
            for (policy, grant) in grants.sorted(by: { $0.key < $1.key }) {
                guard let type else { continue }
                if arguments.flag("revoke") { try revoke(grant, type, account, context, session) }
                guard arguments.flag("browser") else { continue }
                let adapter = try session.context.adapters.adapter(of: type)
                if let address = try adapter.endSessionAddress(grant, policy: policy, of: type, in: context) {
                    endSession.append(address)
                } else {
                    session.notices.warning("the provider of \(type.name) has no sign-out page")
                }
            }
        }
        session.notices.note(
            "forgot \(account.id) (\(ForeignText.shown(account.shownName)))"
                + (policy.map { ", policy \($0)" } ?? ""))
        for address in endSession { openInBrowser(address, session) }
    }

    private func targets(_ session: Session) throws(CredentialError) -> [(KeychainGroup, Account)] {
        if arguments.flag("all") {
            guard arguments.flag("yes") else {
                throw CredentialError(.usage, "--all forgets every account; it needs --yes")
            }
            return try all(session)
        }
        if let type = arguments.string("type") {
            let resolver = TargetResolver(session)
            let target = try resolver.target(
                ofType: try resolver.type(named: type),
                TargetOptions(type: type, account: arguments.string("account")))
            return [(target.group, target.account)]
        }
        guard let account = arguments.string("account") else {
            throw CredentialError(.usage, "name what to forget with --account, --type, or --all --yes")
        }
        let found = try AccountFinder(session).account(account, type: nil)
        return [(found.group, found.account)]
    }

    /// Every account; with `--type` those that the type sees, with `--policy` those signed in for it.
    private func all(_ session: Session) throws(CredentialError) -> [(KeychainGroup, Account)] {
        let resolver = TargetResolver(session)
        let type = try arguments.string("type").map { (name) throws(CredentialError) in
            try resolver.type(named: name)
        }
        let registration = try type.map { (type) throws(CredentialError) in try resolver.registration(of: type) }
        var all: [(KeychainGroup, Account)] = []
        let groups = if let type { [resolver.group(of: type)] } else { try session.groups() }
        for group in groups {
            all += try session.context.registry.read(group).accounts
                .filter { registration == nil || $0.registration == registration }.map { (group, $0) }
        }
        return all
    }

    /// The type of an account; what needs it is left out, and said, when nothing defines it any more.
    private func definition(of account: Account, _ session: Session) throws(CredentialError) -> AccountType? {
        do throws(CredentialError) {
            return try TargetResolver(session).type(named: account.type)
        } catch {
            guard !arguments.flag("revoke"), !arguments.flag("browser"), arguments.string("policy") == nil else {
                throw error
            }
            return nil
        }
    }

    private func revoke(
        _ grant: Grant, _ type: AccountType, _ account: Account, _ context: AdapterContext, _ session: Session
    ) throws(CredentialError) {
        do throws(CredentialError) {
            try session.context.adapters.adapter(of: type).revoke(grant, of: type, in: context)
            session.notices.note("the provider has revoked the tokens of \(account.id)")
        } catch {
            guard error.code == .unsupported else { throw error }
            session.notices.warning("the tokens of \(account.id) were not revoked: \(error.message)")
        }
    }

    private func openInBrowser(_ address: WebAddress, _ session: Session) {
        // Without the id token: whoever reads the terminal need not have it. The provider may then ask who is meant.
        let fields = (FormCoding.decode(address.query ?? "") ?? []).filter { $0.name != "id_token_hint" }
        let shown = address.replacing(path: address.path, query: FormCoding.encode(fields))
        session.notices.say("Open this address to end the session in the browser:")
        session.notices.say("  \(shown)")
        Browser.open(address, session)
    }
}
