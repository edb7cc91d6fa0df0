import CredentialCore

/// Refreshes what is about to expire of an account: per sign-in the token that its type asks for, and every other token
/// that has not ended yet.
struct AccountRefresh {
    private let session: Session
    private let freshness: Freshness
    private let service: TokenService
    private let repository: TokenSetRepository
    private let services: AccountServices

    init(_ session: Session, freshness: Freshness) {
        self.session = session
        self.freshness = freshness
        let stores = session.stores(mayPrompt: false)
        services = session.services(stores)
        service = services.tokens
        repository = services.repository
    }

    /// Refreshes, tells what was done, and gives back what failed; one failure does not keep it from the next token.
    func run(_ account: Account, in group: KeychainGroup) -> [CredentialError] {
        var failures: [CredentialError] = []
        do throws(CredentialError) { try services.tellEnding(of: account.id, in: group) } catch {
            failures.append(Self.named(error, account, type: account.type))
        }
        do throws(CredentialError) {
            if case .needsLogin(let reason) = account.status { throw signInRequired(account, group, reason) }
            guard let set = try repository.read(account, in: group, isLocked: false) else {
                throw signInRequired(account, group, "its secrets are gone from the \(account.store.shownName)")
            }
            for request in try requests(for: account, set, in: group) {
                do throws(CredentialError) { try refresh(request) } catch {
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

    private func refresh(_ request: TokenService.Request) throws(CredentialError) {
        let answer = try service.token(request)
        if let failure = answer.failure { throw failure }
        let name = "\(request.account.id) (\(ForeignText.shown(request.account.shownName)))"
        for warning in answer.warnings { session.notices.warning("\(name): \(warning)") }
        if answer.refreshed { session.notices.note("refreshed \(name)") }
    }

    /// What to ask for.
    private func requests(
        for account: Account, _ set: TokenSet, in group: KeychainGroup
    ) throws(CredentialError) -> [TokenService.Request] {
        let types = try self.types(of: account, in: group)
        let now = session.context.clock.now
        let demand = TokenDemand(freshness: freshness)
        var requests: [TokenService.Request] = []
        if let own = types.first {
            let adapter = try session.context.adapters.adapter(of: own)
            for policy in set.grants.keys.sorted() {
                requests.append(demand.request(of: account, under: own, in: group, by: adapter, policy: policy))
            }
        }
        for token in set.accessTokens
        where token.expiresAt > now && !requests.contains(where: { $0.key == token.key }) {
            // What no type would ask for today is left to end.
            guard let type = types.first(where: { token.key.isAsked(under: $0) }) else { continue }
            requests.append(
                demand.request(
                    of: account, under: type, in: group, by: try session.context.adapters.adapter(of: type),
                    again: token.key))
        }
        return requests
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

    private func signInRequired(
        _ account: Account, _ group: KeychainGroup, _ reason: String
    ) -> CredentialError {
        CredentialError(
            .signInRequired,
            "\(Self.shown(account)) has to sign in again: \(reason)",
            hint: LoginCommandLine(for: account, in: group).description)
    }
}
