import CredentialCore
import LoopbackHTTP
import Platform
import StrictJSON
import Synchronization

/// The token endpoint: codes, refresh tokens, passwords and client credentials become tokens.
struct TokenEndpoint: Sendable {
    /// The context that the endpoints share.
    let context: DemoContext

    /// Answers a token request at a policy.
    ///
    /// - Parameter host: the name the provider was called by, with the port.
    func answer(_ request: ServerRequest, _ policy: DemoPolicy, host: String) -> ServerResponse {
        let fields = FormFields(decoding: request.body)
        let switches = context.switches
        count(fields["grant_type"])
        if let verifier = fields["code_verifier"] { context.state.withLock { _ = $0.verifiers.insert(verifier) } }
        if let failure = nextFailure() { return failure }
        let correlationID = context.correlationID(request)
        var response: ServerResponse
        do throws(B2CError) {
            guard request.method == "POST", request.mediaType == "application/x-www-form-urlencoded" else {
                throw .missing("grant_type")
            }
            if switches.refusesPolicyInBody, fields["p"] != nil {
                throw B2CError(
                    error: "invalid_request", number: 90083, text: "The request contains invalid parameter: p.")
            }
            let reply = try grant(fields, request, policy, host)
            response = .json(200, .object(reply))
            if !switches.tokenReply.isEmpty { response.body = Array(switches.tokenReply.utf8) }
            if switches.truncatesReplies { response.body.removeLast(response.body.count / 2) }
        } catch {
            response = error.reply(correlationID: correlationID, at: context.now)
        }
        response.headers.append(("client-request-id", correlationID))
        response.trickleMilliseconds = Int(clamping: switches.replyMilliseconds)
        // Each connection has a thread of its own, so no other connection waits.
        _ = context.state.withLock { $0.holdReply() }?.take(until: Deadline(milliseconds: .max))
        return response
    }

    private func count(_ grantType: String?) {
        let known = ["authorization_code", "refresh_token", "password", "client_credentials"]
        let name = grantType.flatMap { known.contains($0) ? $0 : nil } ?? "other"
        context.state.withLock { state in
            state.counters.tokenRequests += 1
            state.counters.grants[name, default: 0] += 1
        }
    }

    private func nextFailure() -> ServerResponse? {
        let switches: DemoSwitches? = context.state.withLock { state in
            guard state.switches.failures != 0 else { return nil }
            if state.switches.failures > 0 { state.switches.failures -= 1 }
            return state.switches
        }
        guard let switches else { return nil }
        var response = B2CError(
            error: "temporarily_unavailable", number: switches.failureStatus == 429 ? 90244 : 90035,
            text: switches.failureStatus == 429
                ? "There are too many requests at this moment. Please wait for some time and try again."
                : "The service is temporarily unavailable. Please retry after a few minutes.",
            status: Int(clamping: switches.failureStatus)
        ).reply(correlationID: context.guid(), at: context.now)
        if switches.retryAfter >= 0 { response.headers.append(("Retry-After", String(switches.retryAfter))) }
        return response
    }

    private func grant(
        _ fields: FormFields, _ request: ServerRequest, _ policy: DemoPolicy, _ host: String
    ) throws(B2CError) -> JSONObject {
        let (client, secret) = try client(fields, request)
        try checkSecret(secret, of: client)
        let issuer = TokenIssuer(context: context, host: host)
        switch fields["grant_type"] {
        case "authorization_code": return try redeem(fields, client, policy, issuer)
        case "refresh_token": return try refresh(fields, client, policy, issuer)
        case "password": return try password(fields, client, policy, issuer)
        case "client_credentials": return try clientCredentials(fields, client, policy, issuer)
        case nil: throw .missing("grant_type")
        case let other?:
            throw B2CError(
                error: "unsupported_grant_type", number: 90086,
                text: "The supplied grant_type [\(other)] is not supported.")
        }
    }

    // MARK: - The client

    private func client(
        _ fields: FormFields, _ request: ServerRequest
    ) throws(B2CError) -> (client: DemoClient, secret: String?) {
        var id = fields["client_id"], secret = fields["client_secret"]
        if let header = request.value(of: "authorization"), header.lowercased().hasPrefix("basic "),
            let bytes = Base64URL.decodeOrdinary(String(header.dropFirst(6)))
        {
            // Both halves are form-encoded (RFC 6749 §2.3.1).
            let halves = bytes.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = halves.map { FormFields(decoding: "v=".utf8 + $0)["v"] ?? "" }
            id = decoded.first ?? id
            secret = decoded.count > 1 ? decoded[1] : secret
        }
        guard let id else {
            throw B2CError(
                error: "invalid_request", number: 90008, text: "The request does not contain a client id parameter."
            )
        }
        guard let client = context.client(id) else {
            throw B2CError(
                error: "invalid_client", number: 90018,
                text: "The client id '\(id)' specified in the request is not registered in tenant "
                    + "'\(context.configuration.tenant)'.")
        }
        return (client, secret)
    }

    private func checkSecret(_ secret: String?, of client: DemoClient) throws(B2CError) {
        guard let expected = client.secret else {
            guard let secret, !secret.isEmpty || context.switches.refusesEmptySecret else { return }
            throw B2CError(
                error: "invalid_request", number: 90084,
                text: "Public clients should not send a client_secret when redeeming a publicly acquired grant.")
        }
        guard let secret else {
            throw B2CError(
                error: "invalid_client", number: 90079,
                text: "Clients must send a client_secret when redeeming a confidential grant.")
        }
        guard expected == Secret(secret) else {
            throw B2CError(
                error: "invalid_client", number: 90081,
                text:
                    "The specified client_secret does not match the expected value for this client. Please correct "
                    + "the client_secret and try again.")
        }
    }

    // MARK: - The grants

    private func redeem(
        _ fields: FormFields, _ client: DemoClient, _ policy: DemoPolicy, _ issuer: TokenIssuer
    ) throws(B2CError) -> JSONObject {
        guard let text = fields["code"], !text.isEmpty else { throw .missing("code") }
        guard let code = context.state.withLock({ $0.codes[text] }) else { throw GrantRules.unreadable }
        let switches = context.switches, now = context.now
        let isReuse = context.state.withLock { state in
            let isUsed = state.codes[text]?.isUsed ?? false
            if isUsed { state.counters.codeReuses += 1 }
            return isUsed
        }
        guard now.seconds(since: code.issuedAt) < switches.codeLifetime, !(isReuse && switches.codesAreSingleUse)
        else { throw GrantRules.expired(code.grant, now: now, switches) }
        try GrantRules.check(code.grant, client: client, policy: policy)
        guard ConstantTime.equal(fields["redirect_uri"] ?? "", code.redirectURI) else {
            throw B2CError(
                error: "redirect_uri_mismatch", number: 90006,
                text:
                    "The redirect URI '\(fields["redirect_uri"] ?? "")' provided in the request is not registered "
                    + "for the client id '\(client.id)'.")
        }
        try GrantRules.check(fields["code_verifier"], against: code.challenge, context.cryptography)
        // Of two requests with the same code one wins.
        let wins = context.state.withLock { state in
            defer { state.codes[text]?.isUsed = true }
            return state.codes[text]?.isUsed == isReuse
        }
        guard wins else { throw GrantRules.expired(code.grant, now: now, switches) }
        let scopes = try scopes(fields, of: code.grant, client)
        let isOffline = scopes.wantsRefreshToken && code.grant.scopes.contains("offline_access")
        return try reply(
            code.grant, scopes, issuer, givesRefreshToken: isOffline && policy.kind != .resetPassword)
    }

    private func refresh(
        _ fields: FormFields, _ client: DemoClient, _ policy: DemoPolicy, _ issuer: TokenIssuer
    ) throws(B2CError) -> JSONObject {
        guard let text = fields["refresh_token"], !text.isEmpty else { throw .missing("refresh_token") }
        guard let token = context.state.withLock({ $0.refreshTokens[text] }) else { throw GrantRules.unreadable }
        let switches = context.switches, now = context.now
        try GrantRules.check(token.grant, client: client, policy: policy)
        guard now.seconds(since: token.issuedAt) < switches.refreshTokenLifetime,
            now.seconds(since: token.grant.signedInAt) < switches.slidingWindow
        else { throw GrantRules.expired(token.grant, now: now, switches) }
        let scopes = try scopes(fields, of: token.grant, client)
        let isValid = context.state.withLock { state in
            if state.refreshTokens[text]?.isReplaced ?? true {
                state.counters.reusesDetected += 1
                if switches.rotation == .revokesOld { state.revokedFamilies.insert(token.grant.family) }
            }
            guard !state.revokedFamilies.contains(token.grant.family) else { return false }
            if switches.rotation != .none { state.refreshTokens[text]?.isReplaced = true }
            return true
        }
        guard isValid else { throw GrantRules.revoked }
        let reply = try reply(token.grant, scopes, issuer, givesRefreshToken: switches.rotation != .none)
        context.count(\.refreshes)
        return reply
    }

    private func password(
        _ fields: FormFields, _ client: DemoClient, _ policy: DemoPolicy, _ issuer: TokenIssuer
    ) throws(B2CError) -> JSONObject {
        guard policy.kind == .password else {
            throw B2CError(
                error: "unauthorized_client", number: 90224,
                text: "Resource owner flow has not been enabled for the application.")
        }
        guard let email = fields["username"] else { throw .missing("username") }
        guard let password = fields["password"] else { throw .missing("password") }
        guard let user = context.state.withLock({ $0.user(email: email, password: password) }) else {
            throw B2CError(
                error: "access_denied", number: 90225,
                text: "The username or password provided in the request are invalid.")
        }
        let scopes = try DemoScopes(
            DemoScopes.split(fields["scope"]), client: client, api: context.configuration.api)
        let grant = context.state.withLock { state in
            state.lastFamily += 1
            return DemoGrant(
                family: state.lastFamily, clientID: client.id, policy: policy, objectID: user.objectID,
                scopes: scopes.requested, nonce: nil, signedInAt: context.now)
        }
        return try reply(grant, scopes, issuer, givesRefreshToken: scopes.wantsRefreshToken)
    }

    private func clientCredentials(
        _ fields: FormFields, _ client: DemoClient, _ policy: DemoPolicy, _ issuer: TokenIssuer
    ) throws(B2CError) -> JSONObject {
        guard client.secret != nil else {
            throw B2CError(
                error: "invalid_client", number: 90079,
                text: "Clients must send a client_secret when redeeming a confidential grant.")
        }
        guard fields["scope"] == context.configuration.api.identifier + "/.default" else {
            throw B2CError(
                error: "invalid_scope", number: 99068,
                text:
                    "The scope '\(fields["scope"] ?? "")' is not valid for client credentials: it must be the App ID "
                    + "URI of one API and '/.default'.")
        }
        do {
            return try issuer.clientReply(client, policy: policy)
        } catch {
            throw .internalFault
        }
    }

    private func scopes(
        _ fields: FormFields, of grant: DemoGrant, _ client: DemoClient
    ) throws(B2CError) -> DemoScopes {
        let asked = DemoScopes.split(fields["scope"])
        return try DemoScopes(asked.isEmpty ? grant.scopes : asked, client: client, api: context.configuration.api)
    }

    private func reply(
        _ grant: DemoGrant, _ scopes: DemoScopes, _ issuer: TokenIssuer, givesRefreshToken: Bool
    ) throws(B2CError) -> JSONObject {
        guard let user = context.state.withLock({ $0.user(objectID: grant.objectID) }) else {
            throw GrantRules.accountGone
        }
        do {
            return try issuer.reply(grant, user: user, scopes: scopes, givesRefreshToken: givesRefreshToken)
        } catch {
            throw .internalFault
        }
    }
}
