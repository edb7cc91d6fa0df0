import CredentialCore
import OAuth
import StrictJSON

/// The content of a `done` reply to `begin`, `continue` or `refresh`, each member checked.
struct IssuedTokensReader {
    /// The user that signed in, as the plugin reports it.
    let identity: Identity?
    /// The access token.
    let accessToken: String?
    /// Its type as it goes into the header.
    let tokenType: String
    /// When the access token ends.
    let expiresAt: Timestamp
    /// Whether the plugin named no end, so that ``expiresAt`` is a guess.
    let isEndGuessed: Bool
    /// The scopes granted, if the reply names them.
    let scope: [String]?
    /// The refresh token.
    let refreshToken: Secret?
    /// When the refresh token ends, if the reply gives it.
    let refreshExpiresAt: Timestamp?
    /// The id token, not validated.
    let idToken: String?
    /// The nonce that the id token must have.
    let nonce: String?
    /// The state that the plugin wants back at the next operation on the grant.
    let state: JSONObject?
    private let reader: FieldReader

    private static let tokenLimit = 1 << 16

    init(_ reply: PluginReply, now: Timestamp) throws(CredentialError) {
        reader = reply.reader
        identity = try reader.reader("identity").map(Self.identity)
        state = try reader.object("state", limit: PluginProtocol.opaqueLimit)
        guard let tokens = try reader.reader("tokens") else { throw reader.fault("tokens", "is missing") }
        accessToken = try tokens.text("access_token", limit: Self.tokenLimit, .visible)
        idToken = try tokens.text("id_token", limit: Self.tokenLimit, .visible)
        guard accessToken != nil || idToken != nil else { throw tokens.fault("access_token", "is missing") }
        let word = try tokens.text("token_type", limit: 32) ?? "Bearer"
        guard word.lowercased() == "bearer" else { throw tokens.fault("token_type", "is not 'Bearer'") }
        tokenType = "Bearer"
        let lifetimes = 1...PluginProtocol.longestLifetime
        let lifetime = try tokens.integer("expires_in", in: lifetimes)
        expiresAt = now.adding(lifetime ?? PluginProtocol.defaultLifetime)
        isEndGuessed = lifetime == nil
        refreshToken = try tokens.text("refresh_token", limit: Self.tokenLimit, .visible).map(Secret.init)
        refreshExpiresAt = try tokens.integer("refresh_expires_in", in: lifetimes).map { now.adding($0) }
        scope = try tokens.texts("scope", limit: 1_024, .scope)
        nonce = try tokens.text("nonce", limit: 256, .visible)
    }

    private static func identity(_ reader: FieldReader) throws(CredentialError) -> Identity {
        Identity(
            issuer: try reader.text("issuer", limit: 2_048, .visible),
            subject: try reader.requiredText("subject", limit: 255),
            username: try reader.text("username", limit: 320), displayName: try reader.text("name", limit: 320))
    }

    // MARK: Results

    /// The finished sign-in.
    ///
    /// - Parameters:
    ///   - scope: the scopes that were asked for.
    ///   - claims: those of the id token, validated.
    /// - Throws: ``ErrorCode/malformedReply`` when the reply names no user or the bearer token is missing;
    ///   ``ErrorCode/validationFailed`` when the ID token names another subject than the plugin.
    func signIn(
        _ request: SignInRequest, scope asked: [String], claims: IDTokenClaims?, now: Timestamp
    ) throws(CredentialError) -> SignInResult {
        guard var identity else { throw reader.fault("identity", "is missing") }
        // An issuer is a claim: only an id token that holds can make it.
        identity.issuer = claims?.issuer
        if let claims, !ConstantTime.equal(claims.subject, identity.subject) {
            throw CredentialError(
                .validationFailed, "the ID token names another subject than \(reader.place)")
        }
        let key = TokenRequestKey(
            under: request.type, policy: request.policy, scope: asked, resource: request.resource,
            audience: request.audience)
        var grant = Grant(flow: request.flow, obtainedAt: now)
        grant.scope = scope ?? asked
        grant.refreshToken = refreshToken
        grant.refreshExpiresAt = refreshExpiresAt
        grant.idToken = claims == nil ? nil : idToken.map(Secret.init)
        grant.adapterState = state ?? JSONObject()
        return SignInResult(
            identity: identity,
            tokens: IssuedTokens(accessToken: try bearer(key, asked, claims, now: now), grant: grant))
    }

    /// The refreshed grant: values that the reply leaves out stay as they were.
    ///
    /// - Throws: as ``signIn(_:scope:claims:now:)``.
    func refreshing(
        _ request: RefreshRequest, scope asked: [String], idToken claims: IDTokenClaims?, now: Timestamp
    ) throws(CredentialError) -> IssuedTokens {
        var grant = request.grant
        grant.obtainedAt = now
        if let refreshToken {
            grant.refreshToken = refreshToken
            grant.refreshExpiresAt = refreshExpiresAt
        } else if let refreshExpiresAt {
            grant.refreshExpiresAt = refreshExpiresAt
        }
        if claims != nil { grant.idToken = idToken.map(Secret.init) }
        if let state { grant.adapterState = state }
        return IssuedTokens(accessToken: try bearer(request.key, asked, claims, now: now), grant: grant)
    }

    private func bearer(
        _ key: TokenRequestKey, _ asked: [String], _ claims: IDTokenClaims?, now: Timestamp
    ) throws(CredentialError) -> AccessToken {
        let isIDToken = key.bearer == .idToken
        let token = isIDToken ? (claims == nil ? nil : idToken) : accessToken
        guard let token else {
            throw CredentialError(
                .malformedReply,
                "\(reader.place) has no \(isIDToken ? "valid ID token" : "access_token")")
        }
        let end = isIDToken ? claims?.expiresAt ?? expiresAt : expiresAt
        var issued = AccessToken(
            key: key, token: Secret(token), tokenType: tokenType, issuedAt: now,
            expiresAt: min(end, now.adding(PluginProtocol.longestLifetime)), scope: scope ?? asked)
        issued.isEndGuessed = !isIDToken && isEndGuessed
        return issued
    }
}
