public import CredentialCore
import StrictJSON
import Synchronization

/// Refreshes a grant: by its refresh token (RFC 6749 §6), or by running a flow again that needs no person.
public struct RefreshFlow: Sendable {
    private var client: OAuthClient

    /// Makes the flow for a client.
    public init(_ client: OAuthClient) { self.client = client }

    /// Refreshes.
    ///
    /// The response's ID token is checked as at the sign-in, without nonce (OpenID Connect Core §12.2). A response
    /// without a refresh token keeps the old one. If a response is refused, ``AdapterContext/saveFirst`` still
    /// saves its new refresh token.
    ///
    /// - Parameter scope: the scopes to send.
    /// - Throws: ``ErrorCode/signInRequired`` when the grant is gone or cannot be refreshed;
    ///   ``ErrorCode/temporary``; ``ErrorCode/validationFailed``, and anything else that leaves the grant as it
    ///   was.
    public func run(_ request: RefreshRequest, scope: [String]) throws(CredentialError) -> IssuedTokens {
        let wide = GrantMetadata.widened(scope, by: request.grant.adapterState)
        let sent = scopeToSend(scope, request.grant)
        let issued = try refresh(request, naming: sent, for: wide)
        guard let token = issued.accessToken, request.grant.refreshToken != nil else { return issued }
        guard sent.isEmpty else { return try checked(issued, token, has: sent, request) }
        let isNarrower = !Self.lacking(token.scope, of: request.grant.scope).isEmpty
        return try isNarrower ? restored(issued, request, wide) : issued
    }

    /// The scopes of OpenID Connect: they are no part of an access token, and many providers leave them out.
    private static let ofIdentity: Set<String> = [
        "openid", "profile", "email", "address", "phone", "offline_access",
    ]

    /// The scopes of a sign-in or a request that a response does not grant.
    private static func lacking(_ granted: [String], of wanted: [String]) -> Set<String> {
        Set(wanted).subtracting(granted).subtracting(ofIdentity)
    }

    // MARK: Fewer scopes than before

    /// Asks once more, by the names of the granted scopes, after a response that grants less than the grant had. A
    /// provider takes a missing scope for another one than RFC 6749 §6 says (Microsoft Entra ID).
    ///
    /// A refusal of the second request uses no refresh token: the first response counts then.
    private func restored(
        _ first: IssuedTokens, _ request: RefreshRequest, _ wide: [String]
    ) throws(CredentialError) -> IssuedTokens {
        let context = client.context
        context.note("the provider granted less than before; asking again with the scope named")
        if let token = first.grant.refreshToken, token != request.grant.refreshToken {
            try context.saveFirst(RefreshFinding(refreshToken: token))
        }
        var again = request
        again.grant = first.grant
        let named = Scope.distinct(request.grant.scope + wide.filter(Self.ofIdentity.contains))
        // After a newer refresh token the first response counts no more.
        let hasNewer = Mutex(false)
        var second = self
        second.client.context.saveFirst = { (finding) throws(CredentialError) in
            hasNewer.withLock { $0 = true }
            try context.saveFirst(finding)
        }
        var issued = first
        do throws(CredentialError) {
            issued = try second.refresh(again, naming: named, for: named)
        } catch {
            let isRefusal = [ErrorCode.denied, .configuration, .signInRequired].contains(error.code)
            guard isRefusal, !hasNewer.withLock({ $0 }) else { throw error }
            context.note("the provider refused the scope of the grant: \(error)")
        }
        if let token = issued.accessToken, !Self.lacking(token.scope, of: request.grant.scope).isEmpty {
            issued.warnings.append("the provider grants less than at the sign-in: \(Self.shown(token.scope))")
            issued.grant.scope = token.scope
        }
        return issued
    }

    /// Checks that a response has the scopes that a call asked for, if the sign-in neither asked for them nor got
    /// them: some providers leave out such a scope in place of a refusal. The new refresh token is saved even then.
    ///
    /// A response may name a granted scope in another way than the request, such as `mail` for `mail.read`. The
    /// token counts then, with a warning. Microsoft Entra ID and B2C grant scopes that no sign-in has named, and
    /// name all of them in their own way.
    ///
    /// - Throws: ``ErrorCode/configuration`` with ``CredentialError/refusesScope``.
    private func checked(
        _ issued: IssuedTokens, _ token: AccessToken, has sent: [String], _ request: RefreshRequest
    ) throws(CredentialError) -> IssuedTokens {
        guard !client.dialect.alwaysSendsScope, token.key.bearer == .accessToken else { return issued }
        let known = request.grant.scope + (GrantMetadata.requestedScope(in: request.grant.adapterState) ?? [])
        let missing = Self.lacking(token.scope + known, of: sent)
        guard !missing.isEmpty else { return issued }
        if !Self.lacking(known + sent, of: token.scope).isEmpty {
            var renamed = issued
            let names = sent.filter(missing.contains)
            renamed.warnings.append(
                "the provider granted \(Self.shown(token.scope)) instead of \(Self.shown(names))")
            return renamed
        }
        let newer = issued.grant.refreshToken == request.grant.refreshToken ? nil : issued.grant.refreshToken
        try client.context.saveFirst(RefreshFinding(refreshToken: newer))
        var error = CredentialError(
            .configuration, "the provider refused the scope or resource",
            hint: LoginHint(type: client.type.name).hint,
            details: ["scope: " + Self.shown(token.scope)])
        error.refusesScope = true
        throw error
    }

    /// Scopes of a response for a message: at most 300 characters, without control characters.
    private static func shown(_ scope: [String]) -> String { UntrustedText.shown(Scope.text(scope), limit: 300) }

    // MARK: One refresh

    /// Refreshes with the scopes `sent`; if empty, with those of the grant.
    private func refresh(
        _ request: RefreshRequest, naming sent: [String], for wide: [String]
    ) throws(CredentialError) -> IssuedTokens {
        var request = request
        let tokenGrant = try grant(of: request, scope: wide)
        if request.grant.idToken != nil || request.needsIDToken { try client.prepareKeys() }
        func send(_ scope: [String], _ resource: String?) throws(CredentialError) -> OAuthClient.RawResponse {
            try client.sendTokenRequest(
                TokenRequest(grant: tokenGrant, scope: scope, resource: resource, audience: request.key.audience),
                takesFaultyReply: true)
        }
        let resource = resourceToSend(request)
        var response = try send(sent, resource), named = sent
        if sent.isEmpty, !wide.isEmpty, case .refused(let refusal)? = try? response.reply(), refusal.mayWantScope {
            client.context.note("the provider refused a refresh without scope; asking again with it")
            named = wide
            response = try send(wide, resource)
        }
        if resource != nil, resource == client.type.resource, request.grant.refreshToken != nil,
            case .refused(let refusal)? = try? response.reply(), refusal.mayRefuseResource
        {
            // Without it a refresh is for the resources of the sign-in (RFC 8707 §2.2), which is the type's.
            client.context.note("the provider refused a refresh with resource; asking again without it")
            // The second response is the one that may hold a new refresh token, even if it is a refusal.
            response = try send(named, nil)
            if case .object? = try? response.reply() {
                GrantMetadata.noteRefusedResource(in: &request.grant.adapterState)
            }
        }
        let rotated = rotatedToken(of: response.response, to: request)
        let context = client.context
        let subject = request.grant.adapterState[GrantMetadata.subject]?.string
        if let rotated, rotated.isForeign(subject: subject, issuer: client.metadata.issuer) {
            // No key and no other part of the response changes that.
            try context.saveFirst(RefreshFinding(refreshToken: rotated.token, isForeign: true))
            throw CredentialError(
                .validationFailed, "a response to a refresh named another subject or issuer",
                hint: LoginHint(type: client.type.name).hint)
        }
        // A key that is not known yet is fetched while the new refresh token is here alone.
        let isSaved = Mutex(false)
        var judge = self
        judge.client.context = context.before { () throws(CredentialError) in
            guard let token = rotated?.token, !isSaved.withLock({ $0 }) else { return }
            try context.saveFirst(RefreshFinding(refreshToken: token))
            isSaved.withLock { $0 = true }
        }
        // A response without `scope` grants what was asked for (RFC 6749 §5.1): by no name, all that was granted.
        let isForAll = named.isEmpty && request.grant.refreshToken != nil && !request.grant.scope.isEmpty
        do throws(CredentialError) {
            return try judge.issued(response, request, scope: isForAll ? request.grant.scope : wide)
        } catch {
            guard let rotated else { throw error }
            let finding = RefreshFinding(
                refreshToken: rotated.token,
                refusesIDToken: rotated.idToken != nil && error.code == .validationFailed
                    || rotated.hasSeveralIDTokens)
            let isNew = rotated.token != nil && !isSaved.withLock { $0 } || finding.refusesIDToken
            if isNew { try context.saveFirst(finding) }
            throw error
        }
    }

    /// The new refresh token of a response to a request that sent one.
    private func rotatedToken(of response: HTTPResponse, to request: RefreshRequest) -> RotatedToken? {
        guard let old = request.grant.refreshToken else { return nil }
        let secret = try? client.context.clientSecrets.clientSecret(of: client.type)
        return RotatedToken(response, sent: [old.reveal()] + (secret.flatMap { $0 }.map { [$0.reveal()] } ?? []))
    }

    /// The tokens of a response that holds.
    private func issued(
        _ response: OAuthClient.RawResponse, _ request: RefreshRequest, scope: [String]
    ) throws(CredentialError) -> IssuedTokens {
        let members = try client.members(of: response, request.grant.refreshToken == nil ? .machine : .refresh)
        let received = try receive(members, request, date: response.date)
        if request.needsIDToken, received.claims == nil {
            throw CredentialError(
                .validationFailed,
                "an earlier ID token was rejected, and this response has no valid ID token",
                hint: "credmgr login --type \(client.type.name)")
        }
        var grant = request.grant
        grant.obtainedAt = client.context.clock.now
        if let token = received.reply.refreshToken {
            grant.refreshToken = Secret(token)
            grant.refreshExpiresAt = received.reply.refreshExpiresAt
        } else if let end = received.reply.refreshExpiresAt {
            grant.refreshExpiresAt = end
        }
        if received.claims != nil, let token = received.reply.idToken { grant.idToken = Secret(token) }
        for (name, value) in client.dialect.state(of: received).members { grant.adapterState[name] = value }
        GrantMetadata.keepFields(of: members, in: &grant.adapterState)
        client.prover?.keep(in: &grant.adapterState)
        GrantMetadata.keep(wantsEndpointAudience: client.wantsEndpointAudience, in: &grant.adapterState)
        return IssuedTokens(
            accessToken: try client.bearer(received, key: request.key, scope: scope), grant: grant)
    }

    /// Checks the response. If the keys for its ID token cannot be obtained now, the ID token is dropped and the
    /// old one stays.
    private func receive(
        _ members: JSONObject, _ request: RefreshRequest, date: Timestamp?
    ) throws(CredentialError) -> VerifiedTokenResponse {
        do throws(CredentialError) {
            return try receive(members, request.grant.adapterState, date: date)
        } catch {
            guard error.code == .temporary, request.key.bearer == .accessToken, !request.needsIDToken,
                members["access_token"] != nil
            else { throw error }
            client.context.note("the new id token is dropped: \(error)")
            var rest = members
            rest["id_token"] = nil
            return try client.receive(rest, state: request.grant.adapterState)
        }
    }

    /// Checks the response by this machine's clock, and by the provider's if the two differ by more than the
    /// leeway. An ID token that is valid by either clock is valid, since it is unknown which of them is wrong.
    private func receive(
        _ members: JSONObject, _ state: JSONObject, date: Timestamp?
    ) throws(CredentialError) -> VerifiedTokenResponse {
        do throws(CredentialError) { return try client.receive(members, state: state) } catch {
            guard error.code == .validationFailed, let date else { throw error }
            let difference = client.context.clock.now.seconds(since: date)
            guard abs(difference) > IDTokenValidator.leeway else { throw error }
            client.context.note("this machine's clock differs from the provider's by \(difference) s")
            return try client.receive(members, state: state, date: date)
        }
    }

    private func grant(
        of request: RefreshRequest, scope: [String]
    ) throws(CredentialError) -> TokenRequest.Grant {
        if let token = request.grant.refreshToken { return .refreshToken(token) }
        switch request.grant.flow {
        case .clientCredentials: return .clientCredentials
        case .jwtBearer:
            let subject = request.subject == client.type.clientID ? nil : request.subject
            return .jwtBearer(
                assertion: try client.bearerAssertion(
                    subject: subject, scope: scope, resource: request.key.resource))
        case .code, .device, .password:
            throw CredentialError(
                .signInRequired, "cannot refresh: the provider issued no refresh token",
                hint: "credmgr login --type \(client.type.name)")
        }
    }

    /// The resource to name: not that of the sign-in if the provider has refused it at a refresh.
    private func resourceToSend(_ request: RefreshRequest) -> String? {
        let isKnown = request.key.resource == client.type.resource
        return isKnown && GrantMetadata.refusesResource(request.grant.adapterState) ? nil : request.key.resource
    }

    /// Without `scope` a refresh is for all granted scopes (RFC 6749 §6): right if the provider granted less than
    /// the sign-in requested, and would refuse a request for more.
    private func scopeToSend(_ scope: [String], _ grant: Grant) -> [String] {
        if grant.refreshToken == nil || client.dialect.alwaysSendsScope {
            return GrantMetadata.widened(scope, by: grant.adapterState)
        }
        return GrantMetadata.isScope(scope, of: grant.adapterState) ? [] : scope
    }
}
