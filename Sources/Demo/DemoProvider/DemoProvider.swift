package import CredentialCore
import LoopbackHTTP
import Platform
import Synchronization

/// An identity provider of Azure AD B2C's shape and a to-do API, on the loopback, for `credmgr demo` and for tests.
///
/// It keeps everything in memory. Its users, passwords and client secrets are no secrets.
package final class DemoProvider: Sendable {
    private let context: DemoContext
    private let server = Mutex<LoopbackServer?>(nil)

    /// Makes a provider that does not listen yet.
    ///
    /// - Parameters:
    ///   - keys: RSA keys; the first signs until ``DemoSwitches/signingKey`` says otherwise.
    ///   - cryptography: signs and verifies tokens.
    ///   - clock: the time of every token.
    ///   - random: makes codes, refresh tokens and ids.
    /// - Throws: ``ErrorCode/configuration`` without a key.
    package init(
        configuration: DemoConfiguration = DemoConfiguration(), keys: [DemoSigningKey],
        cryptography: any Cryptography, clock: any WallClock, random: any RandomSource
    ) throws(CredentialError) {
        guard !keys.isEmpty else { throw CredentialError(.configuration, "the demo provider has no signing key") }
        context = DemoContext(
            configuration: configuration, keys: keys, cryptography: cryptography, clock: clock, random: random)
    }

    /// Starts listening on `localhost`; a second call gives the same address.
    ///
    /// - Returns: the base URL, `http://localhost:PORT`, without a slash at its end. `http://127.0.0.1:PORT` serves
    ///   the same.
    /// - Throws: ``ErrorCode/temporary`` when the ports are taken.
    package func start() throws(CredentialError) -> String {
        let context = context
        let port = try server.withLock { (server: inout LoopbackServer?) throws(CredentialError) -> UInt16 in
            if let server { return server.port }
            let limits = ServerLimits(bodyBytes: 1 << 20, connectionBytes: 1 << 20, connections: 128)
            let started = try LoopbackServer(ports: context.configuration.ports, limits: limits) {
                Self.answer($0, context)
            }
            server = started
            return started.port
        }
        return "http://localhost:\(port)"
    }

    /// Stops listening and waits for the requests under way. ``start()`` may follow, on another port.
    package func stop() {
        let running = server.withLock { server in
            defer { server = nil }
            return server
        }
        releaseTokenReplies()
        running?.stop()
    }

    /// The counts of the requests to the provider so far.
    package var counters: DemoCounters { context.state.withLock { $0.counters } }

    /// The switches as they are now.
    package var switches: DemoSwitches { context.switches }

    /// Every code, code verifier and token that has passed so far: the secrets that must not be found outside their
    /// places.
    package var secrets: Set<String> {
        context.state.withLock { state in
            state.verifiers.union(state.codes.keys).union(state.refreshTokens.keys)
                .union(state.liveTokens).union(state.expiredTokens)
        }
    }

    /// The path and the query, as they were sent, of the last request of the to-do API; both `/tasks` and `/tasks/`
    /// open it.
    package var lastTaskTarget: String? { context.state.withLock { $0.lastTaskTarget } }

    /// Changes switches; holds for every request from then on.
    package func change(_ body: (inout DemoSwitches) -> Void) {
        context.state.withLock { body(&$0.switches) }
    }

    /// Keeps the next `count` token responses back, made but unsent, until ``releaseTokenReplies()``: for tests of
    /// events between a request and its response.
    package func holdTokenReplies(_ count: Int) { context.state.withLock { $0.repliesToHold = count } }

    /// Waits until so many token replies are kept back.
    ///
    /// - Parameter seconds: for how long, at most: as long as a busy machine may take to start a program.
    /// - Returns: whether they are.
    package func waitForHeldTokenReplies(_ count: Int = 1, seconds: Int = 600) -> Bool {
        guard let gate = context.state.withLock({ $0.waitForReplies(count) }) else { return true }
        return gate.take(until: Deadline(milliseconds: Int32(clamping: seconds * 1_000))) != nil
    }

    /// Sends the replies that are kept back, and keeps no more of them.
    package func releaseTokenReplies() { context.state.withLock { $0.releaseReplies() } }

    /// Makes the to-do API refuse every token given out so far, as if it had expired.
    package func expireTokens() { context.state.withLock { $0.expireTokens() } }

    /// Revokes every refresh token given out so far (AADB2C90129).
    package func revokeRefreshTokens() { context.state.withLock { $0.revokeRefreshTokens() } }

    /// Removes a user (AADB2C90128 for the grants).
    package func deleteUser(email: String) {
        context.state.withLock { $0.users.removeAll { $0.email == email } }
    }

    private static func answer(_ request: ServerRequest, _ context: DemoContext) -> ServerResponse {
        // Only by a name of localhost: a web page that points its own name here learns no secret.
        guard let host = request.value(of: "host")?.lowercased(), let address = URI("http://\(host)"),
            address.isLoopback, address.path.isEmpty
        else { return .text(421, "this server is called localhost") }
        let port = address.port.map { ":\($0)" } ?? ""
        let hosts = ["localhost", "127.0.0.1", "[::1]"].map { $0 + port }
        if request.path == "/demo/control", context.configuration.offersControl {
            return ControlEndpoint(context: context).answer(request)
        }
        if let response = TaskAPI(context: context, hosts: hosts).answer(request) { return response }
        guard let route = DemoRoute(request, context: context) else {
            return .text(404, "The resource you are looking for has been removed or had its name changed.")
        }
        switch (route.endpoint, request.method) {
        case (.token, _):
            return TokenEndpoint(context: context).answer(request, route.policy, host: host)
        case (.authorize, "GET"), (.authorize, "POST"):
            return AuthorizeEndpoint(context: context).answer(request, route.policy)
        case (.signOut, "GET"): return SignOutEndpoint(context: context).answer(request)
        case (.discovery, "GET"): return MetadataEndpoint(context: context).discovery(route, host: host)
        case (.keys, "GET"): return MetadataEndpoint(context: context).keys()
        default: return .text(405, "Method Not Allowed")
        }
    }
}
