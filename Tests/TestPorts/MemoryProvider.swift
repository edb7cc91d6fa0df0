import CredentialCore
import StrictJSON
import Synchronization

/// A provider that rotates refresh tokens, and its adapter: a token that is used a second time ends the grant, as
/// RFC 9700 §4.14.2 has it.
package final class MemoryProvider: CredentialAdapter {
    /// The tokens that one sign-in was given.
    private struct Sign {
        let subject: String
        /// The refresh token that is good now; `nil` when the grant is gone.
        var current: String?
    }

    private struct State {
        /// How many tokens each person was given.
        var issued: [String: Int] = [:]
        var signIns: [Sign] = []
        /// Which sign-in a refresh token belongs to.
        var owners: [String: Int] = [:]
        var refreshes: [RefreshRequest] = []
        var reuses = 0
        var revoked: [String] = []
        var failure: CredentialError?
        /// The finding of the adapter in the responses that it refuses, beside the new refresh token.
        var flaw: RefreshFinding?
        var refusesFlaw = true
        var givesRefreshTokens = true
        var idTokenLifetime: Int64?
    }

    private let state = Mutex(State())
    private let clock: MemoryClock
    /// How long access tokens live, in seconds.
    package let lifetime: Int64 = 3_600

    init(clock: MemoryClock) { self.clock = clock }

    /// The issuer of the provider.
    package static let issuer = "https://memory.example"
    package let name = "memory"
    package let summary = "a provider in memory"
    package let defaultRedirectURI = "http://127.0.0.1/"

    /// The refresh requests that it got, in order.
    package var refreshes: [RefreshRequest] { state.withLock(\.refreshes) }
    /// How often a refresh token came a second time.
    package var reuses: Int { state.withLock(\.reuses) }
    /// The refresh tokens that were revoked.
    package var revoked: [String] { state.withLock(\.revoked) }

    /// Makes every refresh fail; `nil` restores it.
    package func fail(with error: CredentialError?) { state.withLock { $0.failure = error } }

    /// Makes the adapter refuse every response to a refresh; `nil` restores it.
    ///
    /// - Parameter isRefused: `false` for a response that is saved first, and then used.
    package func refuseResponses(finding flaw: RefreshFinding?, isRefused: Bool = true) {
        state.withLock { ($0.flaw, $0.refusesFlaw) = (flaw, isRefused) }
    }

    /// Gives refresh tokens at sign-ins, or does not.
    package func giveRefreshTokens(_ gives: Bool) { state.withLock { $0.givesRefreshTokens = gives } }

    /// Gives an ID token with each sign-in and refresh from now on, which lives so many seconds; no code checks it.
    package func giveIDTokens(lasting seconds: Int64?) { state.withLock { $0.idTokenLifetime = seconds } }

    private func idToken() -> Secret? {
        guard let lifetime = state.withLock({ $0.idTokenLifetime }) else { return nil }
        let now = clock.now.epochSeconds
        let claims = JSONObject(["iat": .integer(now), "exp": .integer(now + lifetime)])
        return Secret(
            [#"{"alg":"none"}"#, JSONValue.object(claims).text(), "x"].map { Base64URL.encode(Array($0.utf8)) }
                .joined(separator: "."))
    }

    /// Ends a person's grants.
    package func end(_ subject: String) {
        state.withLock { state in
            for place in state.signIns.indices where state.signIns[place].subject == subject {
                state.signIns[place].current = nil
            }
        }
    }

    /// Whether a refresh token is one that is good now.
    package func takes(_ token: Secret?) -> Bool {
        guard let token = token?.reveal() else { return false }
        return state.withLock { $0.signIns.contains { $0.current == token } }
    }

    /// Signs a person in.
    package func signIn(_ subject: String, to type: AccountType, policy: String = "") -> SignInResult {
        let refreshToken = rotate(subject)
        var grant = Grant(flow: .code, obtainedAt: clock.now)
        grant.refreshToken = state.withLock(\.givesRefreshTokens) ? Secret(refreshToken) : nil
        grant.scope = type.scope
        grant.idToken = idToken()
        let key = TokenRequestKey(under: type, policy: policy, scope: effectiveScope(type.scope, of: type))
        return SignInResult(
            identity: Identity(
                issuer: Self.issuer, subject: subject, username: "\(subject)@example.com"),
            tokens: IssuedTokens(accessToken: token(key, subject), grant: grant))
    }

    /// The next refresh token of a sign-in; of a new one by default.
    private func rotate(_ subject: String, of signIn: Int? = nil) -> String {
        state.withLock { state in
            let number = (state.issued[subject] ?? 0) + 1
            state.issued[subject] = number
            let token = "refresh-\(subject)-\(number)"
            let place = signIn ?? state.signIns.count
            if signIn == nil { state.signIns.append(Sign(subject: subject)) }
            state.signIns[place].current = token
            state.owners[token] = place
            return token
        }
    }

    private func token(_ key: TokenRequestKey, _ subject: String) -> AccessToken {
        let number = state.withLock { $0.issued[subject] ?? 0 }
        return AccessToken(
            key: key, token: Secret("access-\(subject)-\(number)"), tokenType: "Bearer", issuedAt: clock.now,
            expiresAt: clock.now.adding(lifetime), scope: key.scope)
    }

    // MARK: Adapter

    package func check(_ type: AccountType) throws(CredentialError) {}

    package func provider(of type: AccountType) throws(CredentialError) -> String { Self.issuer }

    package func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String {
        guard let name = name ?? type.defaultPolicy else { return "" }
        if let known = type.policies[name] { return known }
        guard type.policies.values.contains(name) else {
            throw CredentialError(.usage, "no policy '\(name)'")
        }
        return name
    }

    package func effectiveScope(_ scope: [String], of type: AccountType) -> [String] { scope + ["offline"] }

    package func begin(_ request: SignInRequest, in context: AdapterContext) throws(CredentialError) -> SignInStep {
        if let username = request.username {
            return .done(signIn(username, to: request.type, policy: request.policy))
        }
        let state = context.random.urlSafeToken()
        guard let address = URI("\(Self.issuer)/authorize?state=\(state)") else {
            throw CredentialError(.internalFault, "an address that is none")
        }
        var pending = JSONObject()
        pending["state"] = .string(state)
        return .interaction(.openURL(address, state: state), pending: pending)
    }

    package func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        guard case .redirect(let url) = reply, let subject = url.split(separator: "=").last else {
            throw CredentialError(.denied, "the sign-in was denied")
        }
        return .done(signIn(String(subject), to: request.type, policy: request.policy))
    }

    package func refresh(
        _ request: RefreshRequest, in context: AdapterContext
    ) throws(CredentialError) -> IssuedTokens {
        let signIn = try state.withLock { (state) throws(CredentialError) -> Int? in
            state.refreshes.append(request)
            if let failure = state.failure { throw failure }
            if request.subjectToken != nil { return nil }
            let sent = request.grant.refreshToken?.reveal() ?? ""
            guard let place = state.owners[sent], state.signIns[place].current == sent else {
                if let place = state.owners[sent], state.signIns[place].current != nil {
                    state.reuses += 1
                    state.signIns[place].current = nil
                }
                throw CredentialError(.signInRequired, "invalid_grant")
            }
            return place
        }
        var grant = request.grant
        grant.obtainedAt = clock.now
        if let signIn { grant.refreshToken = Secret(rotate(request.subject, of: signIn)) }
        grant.idToken = idToken() ?? grant.idToken
        if var finding = state.withLock({ $0.flaw }) {
            finding.refreshToken = grant.refreshToken
            try context.saveFirst(finding)
            if state.withLock({ $0.refusesFlaw }) {
                throw CredentialError(.malformedReply, "the response is refused")
            }
        }
        return IssuedTokens(accessToken: token(request.key, request.subject), grant: grant)
    }

    package func revoke(_ grant: Grant, of type: AccountType, in context: AdapterContext) throws(CredentialError) {
        state.withLock { $0.revoked.append(grant.refreshToken?.reveal() ?? "") }
    }

    package func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI? { nil }
}

/// An adapter whose calls are those of a process: an ended process sends no request, and gets no answer.
struct TracedAdapter: CredentialAdapter {
    let base: MemoryProvider
    let trace: PortTrace

    var name: String { base.name }
    var summary: String { base.summary }
    var defaultRedirectURI: String { base.defaultRedirectURI }

    func check(_ type: AccountType) throws(CredentialError) { try base.check(type) }
    func provider(of type: AccountType) throws(CredentialError) -> String { try base.provider(of: type) }
    func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String {
        try base.policy(name, of: type)
    }
    func effectiveScope(_ scope: [String], of type: AccountType) -> [String] {
        base.effectiveScope(scope, of: type)
    }
    func begin(_ request: SignInRequest, in context: AdapterContext) throws(CredentialError) -> SignInStep {
        try trace.call("provider.begin") { () throws(CredentialError) in try base.begin(request, in: context) }
    }
    func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        try trace.call("provider.resume") { () throws(CredentialError) in
            try base.resume(request, pending: pending, with: reply, in: context)
        }
    }
    func refresh(_ request: RefreshRequest, in context: AdapterContext) throws(CredentialError) -> IssuedTokens {
        try trace.call("provider.refresh") { () throws(CredentialError) in try base.refresh(request, in: context) }
    }
    func revoke(_ grant: Grant, of type: AccountType, in context: AdapterContext) throws(CredentialError) {
        try trace.call("provider.revoke") { () throws(CredentialError) in
            try base.revoke(grant, of: type, in: context)
        }
    }
    func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI? {
        try base.endSessionAddress(grant, policy: policy, of: type, in: context)
    }
}
