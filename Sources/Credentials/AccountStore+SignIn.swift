public import CredentialCore
import LinuxPlatform
import OAuth
import StrictJSON
import Synchronization

/// A sign-in that waits for its redirect.
public struct PreparedAuthorization: Sendable {
    /// The URL to open in a browser.
    public let url: String
    /// The `state` that the redirect will carry; ``AccountStore/cancel(_:)`` takes it.
    public let state: String
    /// Where the provider will redirect to.
    public let redirectURI: String
}

/// Where a sign-in stands after a redirect.
public enum SignInProgress: Sendable {
    /// Signed in; the account is kept.
    case signedIn(Account)
    /// The provider sends the person on: B2C does so after a forgotten password. Open the URL, and bring the next
    /// redirect.
    case continues(PreparedAuthorization)
}

/// What is remembered of a sign-in until its redirect.
struct PendingAuthorization: Sendable {
    let request: SignInRequest
    let pending: JSONObject
    let startedAt: Instant
}

extension AccountStore {
    /// How long a prepared sign-in is remembered, in seconds.
    static let authorizationLifetime: Int64 = 900

    /// Prepares a sign-in by authorization code with PKCE: the URL to open.
    ///
    /// Any number of sign-ins can wait at once; each is found by its `state`.
    ///
    /// - Parameters:
    ///   - redirectURI: where the program receives the redirect; `nil` for the type's own.
    ///   - policy: by alias or name, where the provider has policies.
    ///   - scope: in place of the type's own.
    /// - Throws: ``CredentialCore/ErrorCode/configuration``, ``CredentialCore/ErrorCode/temporary``.
    public func prepareAuthorization(
        ofType name: String, redirectURI: String? = nil, policy: String? = nil, scope: [String]? = nil,
        loginHint: String? = nil, prompt: String? = nil
    ) throws(CredentialError) -> PreparedAuthorization {
        let type = try type(named: name)
        let adapter = try parts.adapters.adapter(of: type)
        var request = SignInRequest(
            type: type, flow: .code, policy: try adapter.policy(policy, of: type), scope: scope ?? type.scope,
            redirectURI: redirectURI ?? type.redirectURI ?? adapter.defaultRedirectURI)
        request.resource = type.resource
        request.audience = type.audience
        request.loginHint = loginHint
        request.prompt = prompt
        let step = try adapter.begin(request, in: parts.adapterContext)
        guard case .interaction(.openURL(let address, let state), let pending) = step else {
            throw CredentialError(.unsupported, "the adapter of \(name) does not sign in by a URL")
        }
        return wait(for: address, state, pending, request)
    }

    /// Remembers a sign-in until its redirect, and forgets those that have run out.
    private func wait(
        for address: WebAddress, _ state: String, _ pending: JSONObject, _ request: SignInRequest
    ) -> PreparedAuthorization {
        let now = parts.clock.now
        let waiting = PendingAuthorization(request: request, pending: pending, startedAt: now)
        self.pending.withLock { all in
            all = all.filter { now.seconds(since: $0.value.startedAt) <= Self.authorizationLifetime }
            all[state] = waiting
        }
        return PreparedAuthorization(url: address.description, state: state, redirectURI: request.redirectURI)
    }

    /// Finishes the sign-in that a redirected URL belongs to, and keeps the account.
    ///
    /// - Throws: as ``resume(with:)``; ``CredentialCore/ErrorCode/signInRequired`` where the provider sends the person
    ///   on, which only ``resume(with:)`` can follow.
    public func handleRedirect(_ url: String) throws(CredentialError) -> Account {
        switch try resume(with: url) {
        case .signedIn(let account): return account
        case .continues(let next):
            cancel(next)
            throw CredentialError(
                .signInRequired, "the provider wants another step in the browser", hint: "begin the sign-in again")
        }
    }

    /// Goes on with the sign-in that a redirected URL belongs to.
    ///
    /// A redirect can be used once. One that belongs to no sign-in of this store changes nothing.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/denied`` for a redirect that nothing waits for;
    ///   ``CredentialCore/ErrorCode/cancelled`` and ``CredentialCore/ErrorCode/validationFailed`` as the provider
    ///   answered; the errors of the store.
    public func resume(with url: String) throws(CredentialError) -> SignInProgress {
        guard let state = AuthorizationResponse.state(in: url),
            let waiting = pending.withLock({ $0.removeValue(forKey: state) }),
            parts.clock.now.seconds(since: waiting.startedAt) <= Self.authorizationLifetime
        else { throw CredentialError(.denied, "no sign-in is waiting for this redirect") }
        let adapter = try parts.adapters.adapter(of: waiting.request.type)
        let step = try adapter.resume(
            waiting.request, pending: waiting.pending, with: .redirect(url), in: parts.adapterContext)
        if case .interaction(.openURL(let address, let state), let pending) = step {
            return .continues(wait(for: address, state, pending, waiting.request))
        }
        return .signedIn(try keep(step, waiting.request))
    }

    /// Forgets a prepared sign-in.
    public func cancel(_ authorization: PreparedAuthorization) {
        pending.withLock { $0[authorization.state] = nil }
    }

    /// Signs in by username and password (RFC 6749 §4.3), where type and provider allow it.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/unsupported``, ``CredentialCore/ErrorCode/denied``, the errors of the
    ///   store.
    public func requestAccess(
        toType name: String, username: String, password: Secret, policy: String? = nil
    ) throws(CredentialError) -> Account {
        try direct(.password, name, policy) { request in
            request.username = username
            request.password = password
        }
    }

    /// Signs the program itself in by client credentials (RFC 6749 §4.4).
    ///
    /// - Throws: as ``requestAccess(toType:username:password:policy:)``.
    public func requestClientCredentialsAccess(toType name: String) throws(CredentialError) -> Account {
        try direct(.clientCredentials, name, nil) { _ in }
    }

    private func direct(
        _ flow: SignInFlow, _ name: String, _ policy: String?, _ fill: (inout SignInRequest) -> Void
    ) throws(CredentialError) -> Account {
        let type = try type(named: name)
        let adapter = try parts.adapters.adapter(of: type)
        var request = SignInRequest(
            type: type, flow: flow, policy: try adapter.policy(policy, of: type), scope: type.scope,
            redirectURI: type.redirectURI ?? adapter.defaultRedirectURI)
        request.resource = type.resource
        request.audience = type.audience
        fill(&request)
        return try keep(try adapter.begin(request, in: parts.adapterContext), request)
    }

    private func keep(_ step: SignInStep, _ request: SignInRequest) throws(CredentialError) -> Account {
        guard case .done(let result) = step else {
            throw CredentialError(.unsupported, "the provider wants more than one step")
        }
        let outcome = try parts.signIn.keep(
            result, of: request.type, registration: try registration(of: request.type), policy: request.policy,
            in: group(of: request.type), store: try parts.storeOfNewAccounts(), forceNew: false)
        for warning in outcome.warnings { options.warn(warning) }
        return outcome.account
    }
}
