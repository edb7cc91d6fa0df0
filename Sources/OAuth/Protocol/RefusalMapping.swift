public import CredentialCore

/// What was asked of the provider when it refused.
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

/// What a refusal of the provider (RFC 6749 §4.1.2.1, §5.2, RFC 8628 §3.5, OpenID Connect Core §3.1.2.6) means here.
///
/// A grant is lost by one thing only: `invalid_grant` in answer to a refresh with a status of 400 or 401, or its two
/// known disguises: a 400 without any body (glewlwyd) and GitHub's `bad_refresh_token`. Everything else leaves it.
public enum RefusalMapping {
    /// The error for a refusal.
    ///
    /// - Parameters:
    ///   - refusal: the refusal as it came.
    ///   - operation: what was asked.
    ///   - type: the name of the account type, for hints.
    ///   - clientKeys: the keys of the type by which its client is known, for hints.
    public static func error(
        _ refusal: ProviderError, in operation: ProviderOperation, type: String,
        clientKeys: [String] = ["client_id"]
    ) -> CredentialError {
        let shown = ForeignText.shown(refusal.code, limit: 60)
        let reason = refusal.description.map { ForeignText.shown($0) } ?? ""
        let said = [shown, reason].filter { !$0.isEmpty }.joined(separator: ": ")
        let details = details(of: refusal)
        let login = LoginCommandLine(type: type).hint
        let client = checkClient(clientKeys, of: type)

        func make(_ code: ErrorCode, _ message: Message, hint: Message? = nil) -> CredentialError {
            CredentialError(
                code, said.isEmpty ? message : "\(message) (\(said))", hint: hint, details: details)
        }

        switch refusal.code {
        case "invalid_grant", "bad_refresh_token":
            return invalidGrant(refusal, in: operation, login: login, make)
        case "access_denied", "authorization_declined":
            return make(.denied, "the sign-in was refused")
        case "login_required", "interaction_required", "consent_required", "account_selection_required":
            // A wider scope may want consent while the grant itself stays good: a refresh never loses it for this.
            return make(
                operation == .refresh ? .denied : .signInRequired, "the provider wants a person to sign in",
                hint: login)
        case "temporarily_unavailable", "server_error":
            return make(.temporary, "the provider has trouble", hint: "try again later")
        case "expired_token":
            // Nobody has said no: a sign-in that nobody finishes may be begun again.
            return make(
                operation == .devicePoll ? .temporary : .denied, "the code was not entered in time", hint: login)
        case "invalid_client":
            return make(
                .configuration, "the provider refused the client", hint: client)
        case "unauthorized_client":
            return make(
                .configuration, "the provider does not accept this of the client",
                hint: "enable the flow where the client is registered; \(client)")
        case "unsupported_grant_type", "unsupported_response_type":
            return make(
                .configuration, "the provider does not allow this flow for the client",
                hint: "enable it where the client is registered, or choose another with --flow")
        case "invalid_scope", "invalid_target":
            return make(
                .configuration, "the provider refused the scope or resource",
                hint:
                    "check scope, resource and audience of account type '\(type)': credmgr types show \(ShellQuote.word(type))"
            )
        case "redirect_uri_mismatch":
            return make(
                .configuration, "the redirect URI is not registered for the client",
                hint: "check redirect_uri of account type '\(type)': credmgr types show \(ShellQuote.word(type))")
        case "invalid_redirect_uri", "invalid_client_metadata", "unapproved_software_statement":
            return make(.configuration, "the provider does not register such a client")
        case "invalid_dpop_proof", "use_dpop_nonce":
            return make(.denied, "the provider refused the proof of the key", hint: "check this machine's clock")
        case "invalid_request", "request_not_supported", "request_uri_not_supported", "registration_not_supported":
            return make(.configuration, "the provider found the request wrong")
        case EndpointReply.noReason:
            return withoutReason(refusal, in: operation, client: client, login: login, make)
        default:
            return make(.denied, "the provider refused")
        }
    }

    private static func invalidGrant(
        _ refusal: ProviderError, in operation: ProviderOperation, login: Message,
        _ make: (ErrorCode, Message, Message?) -> CredentialError
    ) -> CredentialError {
        switch operation {
        case .refresh:
            refusal.status == 400 || refusal.status == 401
                ? make(.signInRequired, "the provider no longer accepts the sign-in", login)
                : make(.denied, "the provider refused to refresh the sign-in", nil)
        case .password: make(.denied, "the provider refused the username or the password", nil)
        case .machine: make(.denied, "the provider refused the client's assertion", nil)
        case .exchangeToken: make(.denied, "the provider does not exchange the token", nil)
        default: make(.signInRequired, "the provider did not accept the code: it is used up or too old", login)
        }
    }

    private static func withoutReason(
        _ refusal: ProviderError, in operation: ProviderOperation, client: Message, login: Message,
        _ make: (ErrorCode, Message, Message?) -> CredentialError
    ) -> CredentialError {
        let status = refusal.status ?? 0
        if operation == .refresh, status == 400 {
            return make(.signInRequired, "the provider no longer accepts the sign-in", login)
        }
        if status == 401 || (status == 403 && operation != .password) {
            return make(
                .configuration, "the provider refused the client without a reason: HTTP status \(status)",
                client)
        }
        return make(.denied, "the provider refused without a reason: HTTP status \(status)", nil)
    }

    /// What to look at where the client itself is refused; of a secret only where the type has one.
    private static func checkClient(_ keys: [String], of type: String) -> Message {
        let others = Message(verbatim: keys.dropLast().joined(separator: ", "))
        let last = Message(verbatim: keys.last ?? "")
        let list: Message = keys.count < 2 ? last : "\(others) and \(last)"
        return "check \(list) of account type '\(type)': credmgr types show \(ShellQuote.word(type))"
    }

    /// The facts of a refusal, safe to show.
    public static func details(of refusal: ProviderError) -> [String] {
        var details: [String] = []
        if !refusal.code.isEmpty { details.append("error: " + ForeignText.shown(refusal.code, limit: 60)) }
        if let text = refusal.description {
            details.append("error_description: " + ForeignText.shown(text, limit: 500))
        }
        if let uri = refusal.uri { details.append("error_uri: " + ForeignText.shown(uri)) }
        if let status = refusal.status { details.append("status: \(status)") }
        if let retryAfter = refusal.retryAfter { details.append("retry-after: " + retryAfter) }
        return details
    }
}

/// A refusal in OAuth's own words (RFC 6749 §4.1.2.1 and §5.2), as it came; foreign text throughout.
public struct ProviderError: Sendable, Equatable {
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
