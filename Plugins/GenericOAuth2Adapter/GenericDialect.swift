import CredentialCore
import OAuth
import StrictJSON

/// OAuth as the RFCs have it.
struct GenericDialect: ProviderDialect {
    let type: AccountType
    let authorizeParameters: [String: String] = [:]
    let tokenParameters: [String: String] = [:]
    let headers: [(name: String, value: String)] = []
    let secretMethod = ClientAuthentication.Method.secretBasic
    var alwaysSendsScope: Bool { KnownProvider(of: type)?.refreshNamesScope ?? false }
    let requestFacts: [String] = []

    func error(for refusal: OAuthError, in operation: ProviderOperation) -> CredentialError {
        OAuthErrorMapping.error(refusal, in: operation, type: type.name, clientKeys: type.clientKeys)
    }

    func check(_ claims: IDTokenClaims, against state: JSONObject) throws(CredentialError) {}

    func state(of received: VerifiedTokenResponse) -> JSONObject { JSONObject() }

    /// Identifies the user: by the ID token, else by the UserInfo endpoint, else by the user's input.
    ///
    /// A provider without OpenID Connect does not tell who signed in. Then `--username` or `--login-hint` names the
    /// account, so that several can be kept apart; without either there is one account, `default`.
    func identity(
        of received: VerifiedTokenResponse, for request: SignInRequest, by client: OAuthClient
    ) throws(CredentialError) -> Identity {
        switch request.flow {
        case .clientCredentials:
            return Identity(issuer: client.metadata.issuer, subject: client.type.clientID)
        case .jwtBearer where received.claims == nil:
            return Identity(
                issuer: client.metadata.issuer, subject: request.username ?? client.type.clientID,
                username: request.username)
        case .code, .device, .password, .jwtBearer: break
        }
        let named = request.username ?? request.loginHint
        if let claims = received.claims {
            var identity = Self.identity(of: claims.members, issuer: claims.issuer, subject: claims.subject)
            if identity.username == nil,
                let person = try person(received, subject: claims.subject, isNeeded: false, client)
            {
                identity.username = person.username
                identity.displayName = identity.displayName ?? person.displayName
            }
            identity.username = identity.username ?? named
            return identity
        }
        if var person = try person(received, subject: nil, isNeeded: named == nil, client) {
            person.username = person.username ?? named
            return person
        }
        return Identity(issuer: client.metadata.issuer, subject: named ?? "default", username: named)
    }

    /// Asks the UserInfo endpoint. A failure of the endpoint does not discard the sign-in of a known user; a
    /// response about a different user does (OpenID Connect Core §5.3.2).
    ///
    /// - Parameter isNeeded: whether only this endpoint identifies the user. A refusal only means that the token is
    ///   not for this endpoint; after anything else two people could end up in one account.
    private func person(
        _ received: VerifiedTokenResponse, subject: String?, isNeeded: Bool, _ client: OAuthClient
    ) throws(CredentialError) -> Identity? {
        let members: JSONObject, told: String
        do throws(CredentialError) {
            guard let found = try UserInfo(client).members(of: received.reply) else { return nil }
            guard let subject = Self.subject(of: found), !subject.isEmpty, subject.utf8.count <= 255 else {
                throw CredentialError(.malformedReply, "the userinfo has no valid 'sub'")
            }
            (members, told) = (found, subject)
        } catch {
            if isNeeded, error.code != .denied {
                throw CredentialError(
                    error.code, "the provider did not identify the user: \(error)",
                    hint: error.advice ?? "name the account with --login-hint NAME", details: error.details)
            }
            client.context.note("the provider did not identify the user: \(error)")
            return nil
        }
        if let subject, !ConstantTime.equal(told, subject) {
            throw CredentialError(
                .validationFailed, "the provider's userinfo and the ID token name different users")
        }
        return Self.identity(of: members, issuer: client.metadata.issuer, subject: told)
    }

    /// `sub`, or the number or name that providers without OpenID Connect call `id`.
    private static func subject(of members: JSONObject) -> String? {
        members["sub"]?.string ?? members["id"]?.string ?? members["id"]?.integer.map { String($0) }
    }

    private static func identity(of members: JSONObject, issuer: String?, subject: String) -> Identity {
        func text(_ names: String...) -> String? {
            names.lazy.compactMap { members[$0]?.string }.first { !$0.isEmpty && $0.utf8.count <= 320 }
        }
        return Identity(
            issuer: issuer, subject: subject, username: text("preferred_username", "email", "upn", "login"),
            displayName: text("name", "given_name", "nickname"))
    }
}
