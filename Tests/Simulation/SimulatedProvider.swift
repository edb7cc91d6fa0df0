import CredentialCore
import StrictJSON

/// A provider that rotates refresh tokens and ends a sign-in on refresh token reuse (RFC 9700 §4.14.2), and its
/// observations. Refresh tokens are called `r-SIGNIN-NUMBER`.
final class SimulatedProvider: @unchecked Sendable {
    /// The number of the refresh token that each sign-in has now; `nil` if it has ended.
    private(set) var current: [Int?]
    /// How often each has been sent.
    private(set) var sent: [RefreshToken: Int] = [:]
    private(set) var refreshes = 0
    /// Which refresh token each one has replaced.
    private(set) var replaced: [RefreshToken: RefreshToken] = [:]
    /// The reaction of the provider to a token that is already used.
    var reuse = Reuse.ends

    enum Reuse {
        /// It ends the sign-in.
        case ends
        /// It refuses the token, and leaves the sign-in as it is.
        case refuses
        /// It answers a request with the previous token once more; the last response is the valid one.
        case answers
    }

    init(current: [Int?] = []) { self.current = current }

    func begin() -> RefreshToken {
        current.append(1)
        return RefreshToken(signIn: current.count - 1, number: 1)
    }

    /// A request leaves a host.
    func leaves(_ token: RefreshToken) -> Int {
        sent[token, default: 0] += 1
        return sent[token, default: 0]
    }

    /// A request arrives; gives the next refresh token, or `nil` for a refusal.
    func receive(_ token: RefreshToken) -> RefreshToken? {
        guard let newest = current[token.signIn] else { return nil }
        if newest != token.number {
            if reuse == .ends { current[token.signIn] = nil }
            let before = replaced[RefreshToken(signIn: token.signIn, number: newest)]
            guard reuse == .answers, before == token else { return nil }
        }
        refreshes += 1
        let next = RefreshToken(signIn: token.signIn, number: newest + 1)
        current[token.signIn] = next.number
        replaced[next] = token
        return next
    }

    /// The user ends a sign-in at the provider.
    func revoke(_ signIn: Int) { current[signIn] = nil }

    func takes(_ token: RefreshToken) -> Bool { current[token.signIn] == token.number }
    func hasEnded(_ signIn: Int) -> Bool { current[signIn] == nil }
}

/// A refresh token of the simulation.
struct RefreshToken: Hashable, CustomStringConvertible {
    let signIn: Int
    let number: Int

    init(signIn: Int, number: Int) {
        self.signIn = signIn
        self.number = number
    }

    init?(_ text: String?) {
        let parts = text?.split(separator: "-") ?? []
        guard parts.count == 3, let signIn = Int(parts[1]), let number = Int(parts[2]) else { return nil }
        self.init(signIn: signIn, number: number)
    }

    var description: String { "r-\(signIn)-\(number)" }
}

/// The adapter of that provider: all it does goes through the transport.
struct SimulatedAdapter: CredentialAdapter {
    static let issuer = "https://simulated.example"
    static let lifetime: Int64 = 3_600

    let name = "simulated"
    let summary = "a provider in memory"
    let defaultRedirectURI = "http://127.0.0.1/"
    let sendsThroughContext = true

    static func token(_ refresh: RefreshToken, _ key: TokenRequestKey, _ clock: any WallClock) -> AccessToken {
        AccessToken(
            key: key, token: Secret("access-\(refresh)"), tokenType: "Bearer", issuedAt: clock.now,
            expiresAt: clock.now.adding(lifetime), scope: key.scope)
    }

    func check(_ type: AccountType) throws(CredentialError) {}
    func provider(of type: AccountType) throws(CredentialError) -> String { Self.issuer }
    func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String { "" }
    func effectiveScope(_ scope: [String], of type: AccountType) -> [String] { scope }

    func refresh(_ request: RefreshRequest, in context: AdapterContext) throws(CredentialError) -> IssuedTokens {
        guard let address = URI(Self.issuer + "/token"), let token = request.grant.refreshToken else {
            throw CredentialError(.internalFault, "nothing to send")
        }
        let response = try context.transport.send(
            HTTPRequest(method: "POST", address: address, body: .bytes(Array(token.reveal().utf8))))
        switch response.status {
        case 200:
            guard let next = RefreshToken(String(decoding: response.body, as: UTF8.self)) else {
                throw CredentialError(.malformedReply, "no token")
            }
            var grant = request.grant
            grant.refreshToken = Secret("\(next)")
            grant.obtainedAt = context.clock.now
            return IssuedTokens(accessToken: Self.token(next, request.key, context.clock), grant: grant)
        case 400: throw CredentialError(.signInRequired, "invalid_grant")
        default: throw CredentialError(.temporary, "the provider answers \(response.status)")
        }
    }

    func begin(_ request: SignInRequest, in context: AdapterContext) throws(CredentialError) -> SignInStep {
        throw CredentialError(.unsupported, "sign-ins come from elsewhere")
    }
    func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep { throw CredentialError(.unsupported, "sign-ins come from elsewhere") }
    func revoke(_ grant: Grant, of type: AccountType, in context: AdapterContext) throws(CredentialError) {}
    func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI? { nil }
}
