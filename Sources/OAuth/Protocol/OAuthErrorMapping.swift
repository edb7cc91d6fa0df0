public import CredentialCore

/// The operation that the provider refused.
public enum ProviderOperation: Sendable, Hashable {
    /// The authorization endpoint, by way of the browser.
    case authorize
    /// Exchanging a code.
    case exchangeCode
    /// Refreshing a grant.
    case refresh
    /// The password grant.
    case password
    /// Beginning the device flow.
    case deviceAuthorization
    /// Asking whether a device was approved.
    case devicePoll
    /// Client credentials, or an assertion in their place.
    case machine
    /// Exchanging a token for another one.
    case exchangeToken
    /// Pushing an authorization request.
    case pushRequest
    /// Revoking a token.
    case revoke
    /// Asking about a token.
    case introspect
    /// Registering a client, or ending its registration.
    case register
}

/// The meaning of a refusal of the provider (RFC 6749 §4.1.2.1, §5.2, RFC 8628 §3.5, OpenID Connect Core §3.1.2.6)
/// for credmgr.
///
/// A grant is lost by `invalid_grant`, in upper or lower case, in response to a refresh with a status of 400, 401
/// or 403, and by a 400 without any body (glewlwyd). The codes of other providers are in ``DeadGrantWords``.
/// Anything else leaves the grant.
public enum OAuthErrorMapping {
    /// The error for a refusal.
    ///
    /// - Parameters:
    ///   - refusal: the refusal as it came.
    ///   - operation: the requested operation.
    ///   - type: the name of the account type, for hints.
    ///   - clientKeys: the keys of the type by which its client is known, for hints.
    public static func error(
        _ refusal: OAuthError, in operation: ProviderOperation, type: String,
        clientKeys: [String] = ["client_id"]
    ) -> CredentialError {
        // A challenge is for an access token, and a gateway may have sent it: it ends no grant.
        let isDead = DeadGrantWords.contain(refusal)
        let refusal = refusal.withChallenge
        let isUnknown = refusal.isWithoutCode
        let shown = isUnknown ? "" : UntrustedText.shown(refusal.code, limit: 60)
        let reason = refusal.description.map { UntrustedText.shown($0) } ?? ""
        var said = [shown, reason].filter { !$0.isEmpty }.joined(separator: ": ")
        if isUnknown || operation == .refresh, let status = refusal.status {
            said += (said.isEmpty ? "" : ", ") + "HTTP status \(status)"
        }
        let details = details(of: refusal)
        let login = LoginHint(type: type).hint
        let client = checkClient(clientKeys, of: type)

        func make(_ code: ErrorCode, _ message: LocalizedMessage, hint: LocalizedMessage? = nil) -> CredentialError
        {
            CredentialError(
                code, said.isEmpty ? message : "\(message) (\(said))", hint: hint, details: details)
        }

        if operation == .refresh {
            if refusal.concernsOneRequest {
                // A wider scope may want consent while the grant itself stays good: a refresh never loses it for
                // this.
                return make(.denied, "the provider requires a new sign-in", hint: login)
            }
            if isDead {
                var error = make(.signInRequired, "the provider no longer accepts the refresh token", hint: login)
                error.keepsGrant = true
                return error
            }
        }
        switch refusal.code.lowercased() {
        case "invalid_grant", "bad_refresh_token":
            return invalidGrant(refusal, in: operation, login: login, make)
        case "access_denied", "authorization_declined":
            return make(.denied, "the sign-in was refused", hint: operation == .refresh ? login : nil)
        case "login_required", "interaction_required", "consent_required", "account_selection_required":
            return make(.signInRequired, "the provider requires a new sign-in", hint: login)
        case "temporarily_unavailable", "server_error":
            return make(.temporary, "the provider is temporarily unavailable", hint: "try again later")
        case "expired_token" where operation == .devicePoll || operation == .authorize:
            // The provider has not refused: a sign-in that was not finished may be begun again.
            return make(
                operation == .devicePoll ? .temporary : .denied, "the code was not entered in time", hint: login)
        case "invalid_client", "deleted_client", "disabled_client", "incorrect_client_credentials":
            var error = make(.configuration, "the provider refused the client", hint: client)
            if clientKeys == ["client_id"], operation != .register {
                error.additionalHints = [
                    "if the client has a secret: credmgr types set \(ShellQuoting.word(type)) --client-secret-file -"
                ]
            }
            return error
        case "unauthorized_client":
            return make(
                .configuration, "the provider does not allow this request for the client",
                hint: "enable the flow in the client's registration; \(client)")
        case "unsupported_grant_type", "unsupported_response_type", "device_flow_disabled":
            return make(
                .configuration, "the provider does not allow this flow for the client",
                hint: "enable the flow in the client's registration, or choose another flow with --flow")
        case "invalid_scope", "invalid_target", "invalid_resource", "unauthorized_scope_error":
            var error = make(
                .configuration, "the provider refused the scope or resource",
                hint:
                    "check scope, resource and audience of account type '\(type)': credmgr types show \(ShellQuoting.word(type))"
            )
            error.refusesScope = operation == .refresh
            return error
        case "invalid_redirect_uri" where operation != .register, "redirect_uri_mismatch":
            return make(
                .configuration, "the redirect URI is not registered for the client",
                hint: "check redirect_uri of account type '\(type)': credmgr types show \(ShellQuoting.word(type))")
        case "invalid_client_metadata" where operation != .register,
            "unapproved_software_statement" where operation != .register:
            return make(.configuration, "the provider refused the client", hint: client)
        case "invalid_redirect_uri", "invalid_client_metadata", "unapproved_software_statement":
            return make(.configuration, "the provider refused to register the client")
        case "invalid_dpop_proof", "use_dpop_nonce":
            return make(.denied, "the provider refused the DPoP proof", hint: "check this machine's clock")
        case "invalid_request", "request_not_supported", "request_uri_not_supported", "registration_not_supported":
            return make(
                .configuration, "the provider rejected the request", hint: operation == .refresh ? login : nil)
        case EndpointResponse.noReason:
            return withoutReason(refusal, in: operation, client: client, login: login, make)
        default:
            return make(.denied, "the provider refused", hint: operation == .refresh ? login : nil)
        }
    }

    private static func invalidGrant(
        _ refusal: OAuthError, in operation: ProviderOperation, login: LocalizedMessage,
        _ make: (ErrorCode, LocalizedMessage, LocalizedMessage?) -> CredentialError
    ) -> CredentialError {
        switch operation {
        case .refresh:
            [400, 401, 403].contains(refusal.effectiveStatus)
                ? make(.signInRequired, "the provider no longer accepts the refresh token", login)
                : make(.denied, "the provider refused the refresh", login)
        case .password: make(.denied, "the provider refused the username or the password", nil)
        case .machine: make(.denied, "the provider refused the client's assertion", nil)
        case .exchangeToken: make(.denied, "the provider refused the token exchange", nil)
        case .revoke, .introspect: make(.denied, "the provider does not know the token", nil)
        default: make(.signInRequired, "the provider did not accept the code: expired or already used", login)
        }
    }

    private static func withoutReason(
        _ refusal: OAuthError, in operation: ProviderOperation, client: LocalizedMessage, login: LocalizedMessage,
        _ make: (ErrorCode, LocalizedMessage, LocalizedMessage?) -> CredentialError
    ) -> CredentialError {
        let status = refusal.effectiveStatus
        if operation == .refresh, status == 400 {
            return make(.signInRequired, "the provider no longer accepts the refresh token", login)
        }
        if status == 401 || (status == 403 && operation != .password) {
            return make(.configuration, "the provider refused the client without a reason", client)
        }
        return make(.denied, "the provider refused without a reason", operation == .refresh ? login : nil)
    }

    /// Returns the advice on the keys to check if the client itself is refused; it names a secret only if the type
    /// has one.
    private static func checkClient(_ keys: [String], of type: String) -> LocalizedMessage {
        let others = LocalizedMessage(verbatim: keys.dropLast().joined(separator: ", "))
        let last = LocalizedMessage(verbatim: keys.last ?? "")
        let list: LocalizedMessage = keys.count < 2 ? last : "\(others) and \(last)"
        return "check \(list) of account type '\(type)': credmgr types show \(ShellQuoting.word(type))"
    }

    /// The facts of a refusal, safe to show.
    public static func details(of refusal: OAuthError) -> [String] {
        var details: [String] = []
        if !refusal.code.isEmpty { details.append("error: " + UntrustedText.shown(refusal.code, limit: 60)) }
        if let text = refusal.description {
            details.append("error_description: " + UntrustedText.shown(text, limit: 500))
        }
        if let uri = refusal.uri { details.append("error_uri: " + UntrustedText.shown(uri)) }
        if let status = refusal.status { details.append("status: \(status)") }
        if let retryAfter = refusal.retryAfter { details.append("retry-after: " + retryAfter) }
        return details
    }
}

/// A refusal in OAuth's own words (RFC 6749 §4.1.2.1 and §5.2), as it came; foreign text throughout.
public struct OAuthError: Sendable, Equatable {
    /// `error`.
    public var code: String
    /// `error_description`.
    public var description: String?
    /// `error_uri`.
    public var uri: String?
    /// The HTTP status it came with; `nil` for a redirect.
    public var status: Int?
    /// `Retry-After`, as it came.
    public var retryAfter: String?
    /// `suberror` of Microsoft Entra ID.
    var suberror: String?
    /// `error_codes` of Microsoft Entra ID.
    var numbers: [Int64] = []
    /// The error of its `WWW-Authenticate`, if it has no body.
    var challenge: Challenge?

    /// The error of a challenge for a token (RFC 6750 §3), as it came.
    struct Challenge: Sendable, Equatable {
        /// `error`.
        var code: String
        /// `error_description`.
        var description: String?
    }

    /// Makes a refusal.
    public init(
        code: String, description: String? = nil, uri: String? = nil, status: Int? = nil, retryAfter: String? = nil
    ) {
        self.code = code
        self.description = description
        self.uri = uri
        self.status = status
        self.retryAfter = retryAfter
    }
}

extension OAuthError {
    /// Whether an authorization endpoint may mean the `prompt` of the request: it has no code of its own for a
    /// value that it does not know (OpenID Connect Core §3.1.2.6).
    var mayMeanPrompt: Bool {
        code == "invalid_request" || code == "unsupported_prompt"
            || [code, description ?? ""].contains { $0.lowercased().contains("prompt") }
    }

    /// The refusal without the secrets of the request that it answers.
    func cleaned(by removal: SecretRemoval) -> OAuthError {
        var clean = self
        clean.code = removal.cleaned(code)
        clean.description = description.map(removal.cleaned)
        clean.uri = uri.map(removal.cleaned)
        clean.challenge = challenge.map {
            Challenge(code: removal.cleaned($0.code), description: $0.description.map(removal.cleaned))
        }
        return clean
    }

    /// The refusal with the error of its challenge, if it has no error of its own.
    var withChallenge: OAuthError {
        guard isWithoutCode, let challenge else { return self }
        var told = self
        (told.code, told.description) = (challenge.code, description ?? challenge.description)
        return told
    }

    /// The status to judge by: GitHub and Slack refuse with a status of success.
    var effectiveStatus: Int { status.map { (200..<300).contains($0) ? 400 : $0 } ?? 0 }

    /// Whether it has no error code, as a gateway or a page that answers in place of the endpoint.
    var isWithoutCode: Bool { [EndpointResponse.noReason, EndpointResponse.unknownReason].contains(code) }

    /// Whether a refresh without scope may have been refused for that: the refresh token was not used (RFC 6749
    /// §5.2).
    var mayWantScope: Bool {
        status == 400 && ["invalid_request", "invalid_scope"].contains(code) && !DeadGrantWords.contain(self)
    }

    /// Whether a refresh with `resource` may have been refused for that: by a server that does not know it, or that
    /// compares it with the scope. The refresh token was not used (RFC 6749 §5.2, RFC 8707 §2).
    var mayRefuseResource: Bool {
        ["invalid_target", "invalid_resource"].contains(code.lowercased())
            || code == "invalid_request" && mayWantScope
    }

    /// Whether a refusal of a refresh does not concern the grant: the request requires a consent, or another
    /// authentication, that this grant does not have.
    var concernsOneRequest: Bool {
        ["interaction_required", "consent_required", "login_required", "account_selection_required"].contains(
            code.lowercased())
            || ["consent_required", "basic_action", "additional_action", "interaction_required"].contains(suberror)
            // AADSTS65001: no consent; 70000: a scope that is not granted; 50076: a second factor.
            || !Set(numbers).isDisjoint(with: [65_001, 70_000, 50_076])
    }
}

/// The words of providers for a refresh token that they take no more, in place of `invalid_grant`.
///
/// Values are compared as they are, without regard to case; prose is not searched. A grant that is lost by one of
/// them is kept, and tried once more on demand: some are sent for a wrong client or by a gateway, too.
enum DeadGrantWords {
    private enum Member { case code, description }

    private static let table: [(member: Member, value: String, statuses: Set<Int>)] = [
        (.code, "token_inactive", [400, 401, 403]),
        (.code, "invalid_refresh_token", [400, 401, 403]),
        (.code, "expired_refresh_token", [400, 401, 403]),
        (.code, "token_expired", [400, 401, 403]),
        (.code, "expired_token", [400, 401]),
        (.code, "invalid_token", [400, 401]),
        (.code, "invalid_code", [400, 401]),
        (.code, "bad_refresh_token", [403]),
        (.code, "session_not_found", [400, 401, 404]),
        (.code, "token_not_found", [400, 401, 404]),
        // Supabase
        (.code, "refresh_token_not_found", [400, 401]),
        // Keycloak
        (.description, "token is not active", [400, 401]),
        // Atlassian
        (.description, "refresh_token is invalid", [400, 401, 403]),
        (.description, "unknown or invalid refresh token.", [400, 401, 403]),
        // better-auth, FlowFuse, X
        (.description, "session not found", [400, 401]),
        (.description, "session not found: invalid refresh token", [400, 401]),
        (.description, "value passed for the token was invalid.", [400]),
        // WeChat
        (.description, "invalid refresh_token", [400]),
        // Twitch
        (.description, "invalid refresh token", [400, 401]),
    ]

    /// Whether a refusal is in one of the words.
    static func contain(_ refusal: OAuthError) -> Bool {
        table.contains { word in
            let said = word.member == .code ? refusal.code : refusal.description
            return said?.lowercased() == word.value && word.statuses.contains(refusal.effectiveStatus)
        }
    }
}
