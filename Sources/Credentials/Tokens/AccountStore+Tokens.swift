public import CredentialCore
import OAuth
public import StrictJSON

extension AccountStore {
    /// Whether a person may be asked for a token.
    public enum TokenInteraction: Sendable, Hashable {
        /// Never asks the user: the token comes from the store, else from a refresh.
        case never
        /// Only if there is no other way: ADAL's `AD_PROMPT_AUTO`.
        case ifNeeded
        /// In any case: ADAL's `AD_PROMPT_ALWAYS`.
        case always
    }

    /// A valid access token of an account: the stored one while it is fresh, else refreshed, exactly once however
    /// many programs ask.
    ///
    /// - Parameters:
    ///   - account: whose.
    ///   - name: the account type it is asked for under; the account's own for `nil`. Types of one registration
    ///     share their accounts.
    ///   - policy: by alias or name, if the provider has policies.
    ///   - scope: in place of the type's own.
    ///   - resource: the resource indicator (RFC 8707) in place of the type's own.
    ///   - audience: in place of the type's own.
    ///   - minimumValidity: how long it must still be valid, in seconds; `nil` for the smaller of 60 s and a fifth
    ///     of its lifetime.
    ///   - forceRefresh: whether a token from before this call will not do.
    ///   - takesOver: whether this host settles a refresh that another host of a shared group began and whose end
    ///     is unknown. The caller asserts that no host still works on it.
    ///   - interaction: whether the account's person may be asked to sign in; the page is opened as the options
    ///     say.
    /// - Throws: ``CredentialCore/ErrorCode/signInRequired``, ``CredentialCore/ErrorCode/temporary``,
    ///   ``CredentialCore/ErrorCode/lockTimeout``, the errors of the store; ``CredentialCore/ErrorCode/usage`` for
    ///   an invalid resource.
    public func token(
        of account: Account, ofType name: String? = nil, policy: String? = nil, scope: [String]? = nil,
        resource: String? = nil, audience: String? = nil, minimumValidity: Int64? = nil, forceRefresh: Bool = false,
        takesOver: Bool = false, interaction: TokenInteraction = .never
    ) async throws(CredentialError) -> AccessToken {
        var demand = TokenDemand(
            policy: policy, scope: scope ?? [], resource: try Self.checked(resource), audience: audience,
            freshness: Freshness(demanded: minimumValidity, configured: parts.configuration.minimumValidity),
            forceRefresh: forceRefresh)
        demand.takesOver = takesOver
        func give(
            _ demand: TokenDemand
        ) async throws(CredentialError) -> (token: AccessToken, failure: CredentialError?) {
            try await blocking { [self] () throws(CredentialError) in
                let access = try access(to: account, ofType: name, demand)
                return (access.token, access.failure)
            }
        }
        if interaction != .always {
            do throws(CredentialError) {
                let (token, failure) = try await give(demand)
                // A token that ends in a moment, and that only a sign-in replaces.
                guard interaction == .ifNeeded, failure?.code == .signInRequired else { return token }
            } catch {
                guard interaction == .ifNeeded, error.code == .signInRequired else { throw error }
            }
        }
        let type = try type(name, of: account)
        let further = (scope ?? []).filter { !type.scope.contains($0) }
        _ = try await signIn(
            toType: type.name, as: account, policy: policy, scope: further.isEmpty ? [] : type.scope + further,
            prompt: interaction == .always ? .always : .auto)
        // The sign-in's tokens are from after the call.
        (demand.forceRefresh, demand.takesOver) = (false, false)
        return try await give(demand).token
    }

    /// A resource indicator (RFC 8707 §2), before anything is done for it.
    private static func checked(_ resource: String?) throws(CredentialError) -> String? {
        if let problem = resource.flatMap(DefinitionValidation.resource) {
            throw CredentialError(.usage, "the resource \(problem)")
        }
        return resource
    }

    // MARK: What is known of a token

    /// Returns the provider's introspection response for an account's token (RFC 7662), including `active`.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/unsupported`` if the provider has no introspection; as
    ///   ``token(of:ofType:policy:scope:resource:audience:minimumValidity:forceRefresh:takesOver:interaction:)``.
    public func introspectToken(
        of account: Account, ofType name: String? = nil, policy: String? = nil, scope: [String]? = nil,
        resource: String? = nil, audience: String? = nil
    ) async throws(CredentialError) -> JSONObject {
        try await issued(
            to: account, name, policy, scope, resource, audience
        ) { (adapter, token, grant, type, context) throws(CredentialError) in
            try adapter.introspect(token, grant: grant, of: type, in: context)
        }
    }

    /// The claims of an account's access token, once all that RFC 9068 demands of it holds.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/unsupported`` for a token that only its API can read;
    ///   ``CredentialCore/ErrorCode/validationFailed``; as
    ///   ``token(of:ofType:policy:scope:resource:audience:minimumValidity:forceRefresh:takesOver:interaction:)``.
    public func accessTokenClaims(
        of account: Account, ofType name: String? = nil, policy: String? = nil, scope: [String]? = nil,
        resource: String? = nil, audience: String? = nil
    ) async throws(CredentialError) -> JSONObject {
        try await issued(
            to: account, name, policy, scope, resource, audience
        ) { (adapter, token, grant, type, context) throws(CredentialError) in
            try adapter.accessTokenClaims(token, grant: grant, of: type, in: context)
        }
    }

    private func issued(
        to account: Account, _ name: String?, _ policy: String?, _ scope: [String]?, _ resource: String?,
        _ audience: String?,
        _ ask:
            @escaping @Sendable (any CredentialAdapter, AccessToken, Grant, AccountType, AdapterContext)
            throws(CredentialError) -> JSONObject
    ) async throws(CredentialError) -> JSONObject {
        let demand = TokenDemand(
            policy: policy, scope: scope ?? [], resource: try Self.checked(resource), audience: audience,
            freshness: Freshness(demanded: nil, configured: parts.configuration.minimumValidity))
        return try await blocking { [self] () throws(CredentialError) in
            let type = try type(name, of: account)
            let access = try access(to: account, ofType: name, demand)
            guard let grant = try access.grant() else {
                throw CredentialError(
                    .signInRequired, "account \(account.id) no longer has a grant",
                    hint: LoginHint(
                        for: account, in: try group(of: account, under: type), as: type
                    ).hint)
            }
            return try ask(
                try parts.machine.adapters.adapter(of: type), access.token, grant, type,
                parts.accounts.adapterContext(of: type))
        }
    }

    /// A token, and how to get the grant that it is of.
    func access(
        to account: Account, ofType name: String?, _ demand: TokenDemand
    ) throws(CredentialError) -> ResourceCall.Access {
        let type = try type(name, of: account)
        let adapter = try parts.machine.adapters.adapter(of: type)
        let group = try group(of: account, under: type)
        guard let known = try parts.machine.records.account(account.id, in: group) else {
            throw CredentialError(.noSuchAccount, "account \(account.id) has been removed")
        }
        let request = try demand.request(of: known, under: type, in: group, by: adapter)
        let accounts = try parts.accounts(refreshing: known, under: type)
        let token: AccessToken
        var failure: CredentialError?
        if !demand.bypassesCache, let kept = accounts.cache.token(for: request.key, of: known.id, in: group),
            request.freshness.allows(kept, now: parts.machine.clock.now)
        {
            token = kept
        } else {
            let answer = try accounts.tokens.token(request)
            failure = answer.failure
            for warning in answer.warnings {
                let hint = failure?.forPrograms.hint
                options.warn(hint.map { "\(warning); \($0)" } ?? warning.description)
            }
            token = answer.token
        }
        return ResourceCall.Access(token: token, failure: failure) { () throws(CredentialError) in
            try accounts.repository.read(known, in: group, isLocked: false)?.grant(of: token)
        }
    }
}
