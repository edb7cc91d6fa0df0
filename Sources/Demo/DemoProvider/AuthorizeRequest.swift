import CredentialCore
import LoopbackHTTP

/// The destination of the response to an authorization request.
struct RedirectTarget: Sendable {
    /// How the answer travels (`response_mode`).
    enum Mode: String, Sendable {
        /// Behind `?`, or behind `#`, of the redirect URI.
        case query, fragment
        /// In a form that the browser posts.
        case formPost = "form_post"
    }

    /// The redirect URI, as sent.
    var uri: String
    /// How the answer travels.
    var mode: Mode
    /// The `state` to bring back.
    var state: String?
}

/// Why an authorization request fails.
enum AuthorizeFailure: Error {
    /// The redirect URI is not to be trusted: a page shows the error to the user.
    case page(B2CError)
    /// The client gets the error in the redirect.
    case redirect(B2CError, RedirectTarget)
}

/// A checked authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1).
struct AuthorizeRequest: Sendable {
    /// The client that asks.
    var client: DemoClient
    /// The destination of the response.
    var target: RedirectTarget
    /// The requested scopes.
    var scopes: DemoScopes
    /// The `nonce` for the id token.
    var nonce: String?
    /// The PKCE challenge.
    var challenge: DemoChallenge?
    /// The `prompt`; one that is known.
    var prompt: String?
    /// The user who is expected to sign in.
    var loginHint: String?

    /// Reads and checks the parameters.
    ///
    /// - Throws: a page as long as client and redirect URI are not known to be good, else a redirect.
    init(_ query: FormFields, context: DemoContext) throws(AuthorizeFailure) {
        guard let clientID = query["client_id"] else {
            throw .page(
                B2CError(
                    error: "invalid_request", number: 90008,
                    text: "The request does not contain a client id parameter."))
        }
        guard let client = context.client(clientID) else {
            throw .page(
                B2CError(
                    error: "unauthorized_client", number: 90018,
                    text: "The client id '\(clientID)' specified in the request is not registered in tenant "
                        + "'\(context.configuration.tenant)'."))
        }
        guard let uri = query["redirect_uri"], Self.isRegistered(uri, for: client) else {
            throw .page(
                B2CError(
                    error: "redirect_uri_mismatch", number: 90006,
                    text: "The redirect URI '\(query["redirect_uri"] ?? "")' provided in the request is not "
                        + "registered for the client id '\(clientID)'."))
        }
        self.client = client
        let mode = RedirectTarget.Mode(rawValue: query["response_mode"] ?? "query")
        target = RedirectTarget(uri: uri, mode: mode ?? .query, state: query["state"])
        nonce = query["nonce"]
        prompt = query["prompt"]
        loginHint = query["login_hint"]
        do throws(B2CError) {
            if mode == nil {
                throw B2CError(
                    error: "invalid_request", number: 90014,
                    text:
                        "The requested response mode '\(query["response_mode"] ?? "")' provided in the request is "
                        + "not supported.")
            }
            try Self.checkForm(query)
            challenge = try Self.challenge(query, isRequired: context.switches.requiresPKCE)
            scopes = try DemoScopes(
                DemoScopes.split(query["scope"]), client: client, api: context.configuration.api)
        } catch {
            throw .redirect(error, target)
        }
    }

    private static func checkForm(_ query: FormFields) throws(B2CError) {
        guard query["response_type"] == "code" else {
            throw B2CError(
                error: "unsupported_response_type", number: 90013,
                text:
                    "The requested response type '\(query["response_type"] ?? "")' provided in the request is not "
                    + "supported.")
        }
        let prompts = [nil, "none", "login", "consent", "select_account"]
        guard prompts.contains(query["prompt"]) else {
            throw B2CError(
                error: "invalid_request", number: 90043,
                text: "The prompt included in the request contains invalid values. Expected 'none', 'login', "
                    + "'consent' or 'select_account'.")
        }
    }

    private static func challenge(_ query: FormFields, isRequired: Bool) throws(B2CError) -> DemoChallenge? {
        guard let value = query["code_challenge"], !value.isEmpty else {
            guard !isRequired else {
                throw B2CError(
                    error: "invalid_request", number: 99059,
                    text: "The supplied request must present a code_challenge. Required for single-page apps using "
                        + "the authorization code flow.")
            }
            return nil
        }
        switch query["code_challenge_method"] {
        case "S256": return DemoChallenge(value: value, isHashed: true)
        case nil, "plain": return DemoChallenge(value: value, isHashed: false)
        default:
            throw B2CError(
                error: "invalid_request", number: 90184,
                text: "The supplied code_challenge_method is not supported. Supported values are plain or S256")
        }
    }

    /// Whether a client registered a redirect URI. The port of a loopback one does not count (RFC 8252 §7.3), and
    /// no path is the path `/`.
    static func isRegistered(_ uri: String, for client: DemoClient) -> Bool {
        client.redirectURIs.contains { registered in
            if ConstantTime.equal(registered, uri) { return true }
            guard let left = URI(registered), let right = URI(uri), left.isLoopback else {
                return false
            }
            let path = { (address: URI) in address.path.isEmpty ? "/" : address.path }
            return left.scheme == right.scheme && left.host == right.host && path(left) == path(right)
                && right.query == nil && right.fragment == nil
        }
    }
}
