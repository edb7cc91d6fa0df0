import CredentialCore

/// Renews what is about to expire of an account: per sign-in the token that its type asks for, and every other token
/// that has not ended yet.
struct AccountRenewal {
    private let session: Session
    private let freshness: Freshness
    private let service: TokenService
    private let repository: TokenSetRepository

    init(_ session: Session, freshness: Freshness) {
        self.session = session
        self.freshness = freshness
        let stores = session.stores(mayPrompt: false)
        service = session.tokenService(stores)
        repository = session.repository(stores)
    }

    /// Renews, tells what was done, and gives back what failed; one failure does not keep it from the next token.
    func run(_ account: Account, in group: KeychainGroup) -> [CredentialError] {
        var failures: [CredentialError] = []
        do throws(CredentialError) {
            if case .needsLogin(let reason) = account.status { throw signInRequired(account, reason) }
            guard let set = try repository.read(account, in: group, isLocked: false) else {
                throw signInRequired(account, "its secrets are gone from the \(account.store.shownName)")
            }
            for request in try requests(for: account, set, in: group) {
                do throws(CredentialError) { try renew(request) } catch {
                    failures.append(Self.named(error, account, type: request.type.name))
                }
            }
        } catch {
            failures.append(Self.named(error, account, type: account.type))
        }
        return failures
    }

    /// The error with what it is about in front: it may be told among those of many accounts.
    private static func named(_ error: CredentialError, _ account: Account, type: String) -> CredentialError {
        let name = shown(account)
        let message = error.message.hasPrefix(name) ? error.message : "\(name): \(error.message)"
        return CredentialError(
            error.code, "account type \(type), \(message)", hint: error.hint, details: error.details)
    }

    private static func shown(_ account: Account) -> String {
        "\(ForeignText.shown(account.shownName)) (\(account.id))"
    }

    private func renew(_ request: TokenService.Request) throws(CredentialError) {
        let answer = try service.token(request)
        if let failure = answer.failure { throw failure }
        let name = "\(request.account.id) (\(ForeignText.shown(request.account.shownName)))"
        for warning in answer.warnings { session.notices.warning("\(name): \(warning)") }
        if answer.refreshed { session.notices.note("renewed \(name)") }
    }

    /// What to ask for.
    private func requests(
        for account: Account, _ set: TokenSet, in group: KeychainGroup
    ) throws(CredentialError) -> [TokenService.Request] {
        let types = try self.types(of: account, in: group)
        let now = session.context.clock.now
        var wanted: [(type: AccountType, key: TokenRequestKey, scope: [String])] = []
        if let own = types.first {
            let adapter = try session.context.adapters.adapter(of: own)
            let scope = adapter.effectiveScope(own.scope, of: own)
            for policy in set.grants.keys.sorted() {
                let key = TokenRequestKey(
                    policy: policy, scope: scope, resource: own.resource, audience: own.audience,
                    parameters: own.tokenParameters, bearer: own.bearer)
                wanted.append((own, key, scope))
            }
        }
        for token in set.accessTokens
        where token.expiresAt > now && !wanted.contains(where: { $0.key == token.key }) {
            // What no type would ask for today is left to end.
            guard
                let type = types.first(where: {
                    $0.tokenParameters == token.key.parameters && $0.bearer == token.key.bearer
                })
            else { continue }
            wanted.append((type, token.key, token.key.scope))
        }
        return wanted.map {
            TokenService.Request(
                group: group, account: account, type: $0.type, key: $0.key, scope: $0.scope, freshness: freshness)
        }
    }

    /// The type the account was signed in under, then the others of its group that see it.
    private func types(of account: Account, in group: KeychainGroup) throws(CredentialError) -> [AccountType] {
        let resolver = TargetResolver(session)
        var types = [try resolver.type(named: account.type)]
        for entry in try session.catalog.entries() where entry.name != account.type {
            guard let type = try? resolver.type(named: entry.name), resolver.group(of: type) == group,
                let registration = try? resolver.registration(of: type), registration == account.registration
            else { continue }
            types.append(type)
        }
        return types
    }

    private func signInRequired(_ account: Account, _ reason: String) -> CredentialError {
        CredentialError(
            .signInRequired,
            "\(Self.shown(account)) has to sign in again: \(reason)",
            hint: "credmgr login --type \(account.type)")
    }
}
