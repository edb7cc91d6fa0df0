import Broker
import CommandLine
import CredentialCore
import FastToken
import OAuth
import StrictJSON

/// The tokens of a broker, by the code of `credmgr token`.
struct SessionIssuer: TokenIssuer {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// A call of its own for each request, which reads `config.json` as it is now.
    private var now: CommandSession {
        CommandSession(context: session.context, options: session.options, notices: session.notices)
    }

    func account(of entry: BrokerEntry) throws(CredentialError) -> any EntryAccount {
        let session = now
        if let fault = session.configurationFault { throw fault }
        let resolver = TargetResolver(session)
        let target = try resolver.target(
            ofType: try resolver.type(named: entry.type),
            TargetOptions(type: entry.type, account: entry.account))
        return TargetAccount(
            session: session, target: target, adapter: try session.context.adapters.adapter(of: target.type))
    }

    func defaults(ofType name: String) -> TypeDefaults {
        guard let type = try? session.catalog.definition(of: name).type else { return TypeDefaults() }
        return TypeDefaults(scope: type.scope, resource: type.resource, audience: type.audience)
    }

    func permission(
        for entry: BrokerEntry, at place: HelperDestination
    ) throws(CredentialError) -> HelperPermission? {
        guard
            let destination = Destination(scheme: place.scheme, authority: place.authority, path: place.path)
        else { return nil }
        let session = now, helper = CredentialHelper(session)
        let query = CredentialHelper.Query(destination: destination, username: place.username)
        guard
            case .account(let target) = try helper.find(
                query, TargetOptions(type: entry.type, account: entry.account)),
            // The user name in the request may mean another account of the type than the entry.
            target.account.id == (try account(of: entry).id)
        else { return nil }
        return HelperPermission(
            origin: BrokerOrigin(destination).description,
            username: helper.username(query, target))
    }
}

/// An account that `credmgr token` would choose.
private struct TargetAccount: EntryAccount {
    let session: CommandSession
    let target: Target
    let adapter: any CredentialAdapter

    var id: String { target.account.id }
    var username: String? { target.account.username }
    var shownName: String { target.account.shownName }
    var issuer: String? { target.type.issuer ?? target.account.issuer }
    var ownScope: [String] { target.type.scope }
    var ownResource: String? { target.type.resource }
    var ownAudience: String? { target.type.audience }

    func isCalled(_ name: String) -> Bool { AccountSelection.fits(name, target.account) }

    func isSamePolicy(_ left: String?, _ right: String?) -> Bool {
        guard let left = try? adapter.policy(left, of: target.type),
            let right = try? adapter.policy(right, of: target.type)
        else { return false }
        return left == right
    }

    func effectiveScope(_ scope: [String]) -> [String] { adapter.effectiveScope(scope, of: target.type) }

    func token(_ order: TokenOrder) throws(CredentialError) -> IssuedToken {
        var query = TokenQuery()
        query.policy = order.policy
        query.scope = order.scope
        query.resource = order.resource
        query.audience = order.audience
        query.freshness = Freshness(
            demanded: order.minValid, configured: session.configuration.minimumValidity)
        query.wantsIDToken = order.wantsIDToken
        query.forceRefresh = order.forceRefresh
        query.owner = order.owner
        let answer = try TokenAcquirer(session).token(query, target)
        let end: Timestamp? =
            if let idToken = answer.idToken { (try? StoredIDToken(idToken))?.expiresAt } else { nil }
        return IssuedToken(
            answer.token, idToken: order.wantsIDToken ? answer.idToken : nil, idTokenExpiresAt: end,
            wasRefreshed: answer.refreshed)
    }

    // The metadata of an issuer are not requested here: the adapter reports at the end that they have no endpoint.
    func checkRevocation() throws(CredentialError) {
        try adapter.checkRevocation()
        let type = target.type
        // A plugin revokes whole sign-ins only, and an ID token cannot be revoked.
        guard adapter.sendsThroughContext, type.bearer == .accessToken,
            type.issuer != nil || type.endpoints[.revocation] != nil
        else {
            throw CredentialError(.unsupported, "the provider has no \(AccountType.Endpoint.revocation.rawValue)")
        }
        // The sign-in would end with the first token.
        guard KnownProvider(of: type)?.revokesWholeGrant != true else {
            throw CredentialError(.unsupported, "the provider does not revoke \("access") tokens")
        }
    }

    /// How long to wait for another process at the account, and for each reply of the provider, in seconds;
    /// ``EndRevocation/limit`` bounds all of it.
    private static let revocationPatience = 4

    func revoke(_ tokens: [AccessToken], revoked: (AccessToken) -> Void) throws(CredentialError) {
        try checkRevocation()
        let account = target.account, group = target.group
        var options = session.options
        options.timeout = min(options.timeout ?? Self.revocationPatience, Self.revocationPatience)
        let limited = CommandSession(context: session.context, options: options, notices: session.notices)
        let services = limited.services(limited.stores(mayPrompt: false))
        let lock = try session.context.locks.lock(account.id, in: group, seconds: Self.revocationPatience)
        defer { lock.release() }
        let isGone = CredentialError(.signInRequired, "account \(account.id) no longer has a grant")
        guard var set = try services.repository.read(account, in: group, isLocked: true) else { throw isGone }
        let context = services.adapterContext(of: target.type)
        var gone: Set<Secret> = [], failure: CredentialError?
        for token in tokens {
            guard var grant = set.grant(of: token) else {
                failure = isGone
                continue
            }
            // A request with a refresh token ends the sign-in.
            grant.refreshToken = nil
            grant.pending = nil
            do throws(CredentialError) {
                try adapter.revoke(
                    RevocationRequest(grant: grant, accessTokens: [token]), of: target.type, in: context)
                gone.insert(token.token)
                revoked(token)
            } catch {
                failure = error
                // Each further request may wait for as long.
                if error.isTransient { break }
            }
        }
        // The next start of the broker gets other tokens.
        set.accessTokens.removeAll { gone.contains($0.token) }
        if !gone.isEmpty, case .overtaken = try services.repository.save(&set, in: group) {
            throw CredentialError(
                .temporary, "another process has changed \(account.id)", hint: "try again")
        }
        services.cache.drop(account.id, in: group)
        if let failure { throw failure }
    }

    func proof(
        for issued: IssuedToken, method: String, url: String, nonce: String?
    ) throws(CredentialError) -> String? {
        guard let address = URI(url), address.isWeb else {
            throw CredentialError(.usage, "'\(UntrustedText.shown(url, limit: 200))' is not a URL")
        }
        let answer = TokenService.Answer(token: issued.token, idToken: nil, refreshed: false)
        guard let key = try TokenAcquirer(session).prover(of: answer, target) else { return nil }
        if let nonce {
            _ = key.shouldRepeat(
                after: HTTPResponse(status: 401, headers: [("dpop-nonce", nonce)]), from: address)
        }
        let context = session.services(session.stores(mayPrompt: false)).adapterContext(of: target.type)
        return try key.proof(method: method, address: address, accessToken: issued.token.token, in: context)
    }

    func roleCredentials(_ role: String, by token: IssuedToken) throws(CredentialError) -> JSONObject {
        guard let idToken = token.idToken else {
            throw CredentialError(.denied, "the role's credentials need an ID token, and none was issued")
        }
        let words = AWSCommand.spec.path + ["--role-arn", role]
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            throw CredentialError(.internalFault, "the role's credentials cannot be requested")
        }
        // The token of the entry, which has the entry's policy, scope, resource, audience and owner.
        let text = try AWSCommand(arguments: arguments).credentials(of: role, by: idToken, target, session)
        guard let object = (try? JSONValue.parse(text))?.object else {
            throw CredentialError(.internalFault, "the role's credentials cannot be read")
        }
        return object
    }
}
