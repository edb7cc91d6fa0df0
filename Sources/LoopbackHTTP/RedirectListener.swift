package import CredentialCore
import Glibc

/// Receives the redirect that ends a sign-in in the browser (RFC 8252 §7.3).
///
/// Takes the response modes `query`, `form_post` and `fragment`. A request that is not the one waited for is
/// refused, and the wait goes on: other programs of this machine, and web pages, can reach the port as well.
package final class RedirectListener: Sendable {
    /// How the loopback is called in the redirect URI.
    package enum Host: String, Sendable {
        /// `localhost`, which Azure AD B2C insists on; listens on IPv4 and IPv6.
        case localhost
        /// `127.0.0.1`, which RFC 8252 §8.3 prefers; listens there only.
        case ipv4 = "127.0.0.1"
    }

    /// The redirect URI to put into the authorization request: `http://localhost:51873/path`.
    package let redirectURI: String
    private let server: LoopbackServer
    private let desk: Desk

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - path: the path of the redirect URI as it is registered, or an unpredictable one; starts with `/`.
    ///   - ports: tried in order; 0 is any free port.
    ///   - host: how the redirect URI is registered.
    ///   - random: makes the word that allows the scripts of the pages.
    /// - Throws: ``ErrorCode/temporary`` when every port is taken; ``ErrorCode/configuration`` for a path that is
    ///   none; ``ErrorCode/internalFault`` when libmicrohttpd is not installed.
    package init(
        path: String, ports: [UInt16] = [0], host: Host = .localhost, random: any RandomSource
    ) throws(CredentialError) {
        guard path.utf8.first == UInt8(ascii: "/"),
            path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        else {
            throw CredentialError(
                .configuration, "the path of the redirect URI is not usable: \(ForeignText.shown(path))")
        }
        let desk = Desk(path: path, host: host.rawValue, nonce: random.urlSafeToken())
        server = try LoopbackServer(ports: ports, ipv6: host == .localhost) { desk.answer($0) }
        desk.open(port: server.port)
        redirectURI = "http://\(host.rawValue):\(server.port)\(path)"
        self.desk = desk
    }

    /// Waits for the redirect. After one has come another may be waited for.
    ///
    /// - Parameters:
    ///   - seconds: how long at most.
    ///   - formPostOrigins: origins of the provider that may post the reply (`response_mode=form_post`); empty
    ///     when that mode is not used.
    ///   - accepts: whether a full URL is the redirect of this sign-in, by its `state`; called on other threads,
    ///     for hostile URLs too.
    /// - Returns: the redirect URI with the provider's answer as its query, whichever way it came. The browser has
    ///   been shown a page by then.
    /// - Throws: ``ErrorCode/signInRequired`` when the time is over.
    package func wait(
        seconds: Int, formPostOrigins: [String] = [], accepts: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> String {
        if let url = desk.wait(seconds: seconds, formPostOrigins, accepts: accepts) { return url }
        throw CredentialError(
            .signInRequired, "no sign-in arrived within \(seconds) seconds",
            hint:
                "run the command again and finish the sign-in in the browser; where the provider's page shows an error, "
                + "check client_id and redirect_uri of the type")
    }

    /// Stops listening; a second call does nothing.
    package func stop() { server.stop() }
}

/// Judges the requests and keeps the one that is accepted.
private final class Desk: Sendable {
    private struct State {
        var port: UInt16?
        var accepts: (@Sendable (String) -> Bool)?
        var formPostOrigins: [String] = []
        var received: String?
        var shown = false
        /// What was waited for before; the browser may load it again.
        var finished: Set<String> = []
    }

    /// How long a request waits for the program to say what it waits for: a silent sign-in may be faster.
    private static let patience = 10

    private let path: String
    private let host: String
    private let nonce: String
    private let state = Monitor(State())

    init(path: String, host: String, nonce: String) {
        self.path = path
        self.host = host
        self.nonce = nonce
    }

    func open(port: UInt16) { state.withLock { $0.port = port } }

    func wait(
        seconds: Int, _ formPostOrigins: [String], accepts: @escaping @Sendable (String) -> Bool
    ) -> String? {
        state.withLock {
            $0.formPostOrigins = formPostOrigins
            $0.accepts = accepts
        }
        // A redirect that comes before the next wait must not be judged by this one's state.
        defer {
            state.withLock { state in
                if let received = state.received { state.finished.insert(received) }
                (state.accepts, state.received, state.shown) = (nil, nil, false)
            }
        }
        return state.wait(seconds: seconds) { $0.shown ? $0.received : nil }
    }

    func answer(_ request: ServerRequest) -> ServerResponse {
        guard let port = state.wait(seconds: Self.patience, for: { $0.port }) else { return refusal(503) }
        let authority = "\(host):\(port)"
        // A page whose host name was pointed at the loopback (DNS rebinding) sends its own name here.
        guard let named = request.value(of: "host"), ConstantTime.equal(named.lowercased(), authority) else {
            return refusal(421)
        }
        guard ConstantTime.equal(request.path, path) else { return refusal(404) }
        let origins = request.values(of: "origin")
        switch request.method {
        case "GET":
            guard origins.allSatisfy({ $0 == "http://" + authority }) else { return refusal(403) }
            guard let query = request.query, !query.isEmpty else {
                return RedirectPage.fragment(nonce: nonce).response(
                    200, formTargets: "'self'", referrerPolicy: "same-origin")
            }
            return judge(query, authority)
        case "POST":
            // Who may post is known when the program says what it waits for.
            let formPostOrigins = state.wait(seconds: Self.patience) {
                $0.accepts == nil ? nil : $0.formPostOrigins
            }
            guard let formPostOrigins else { return refusal(503) }
            // A provider whose page forbids referrers sends the origin `null`.
            let allowed = ["http://" + authority] + formPostOrigins + (formPostOrigins.isEmpty ? [] : ["null"])
            guard origins.allSatisfy(allowed.contains) else { return refusal(403) }
            guard request.mediaType == "application/x-www-form-urlencoded" else { return refusal(415) }
            return judge(String(decoding: request.body, as: UTF8.self), authority)
        default:
            var refusal = refusal(405)
            refusal.headers.append(("Allow", "GET, POST"))
            return refusal
        }
    }

    private func judge(_ answer: String, _ authority: String) -> ServerResponse {
        guard answer.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            return refusal(400)
        }
        let url = "http://\(authority)\(path)?\(answer)"
        let isRefusal = FormFields(query: answer)["error"] != nil
        let page = isRefusal ? RedirectPage.refused(nonce: nonce) : RedirectPage.received(nonce: nonce)
        if state.withLock({ $0.finished.contains(url) }) { return page.response(200) }
        guard let accepts = state.wait(seconds: Self.patience, for: { $0.accepts }) else { return refusal(503) }
        guard accepts(url) else { return refusal(400) }
        let isFirst = state.withLock { state in
            defer { state.received = state.received ?? url }
            return state.received == nil
        }
        // The wait ends when the page is shown, or nobody is there to see it: the program may exit right after it.
        guard isFirst else { return page.response(200) }
        return page.response(200) { self.state.withLock { $0.shown = true } }
    }

    private func refusal(_ status: Int) -> ServerResponse { RedirectPage.unexpected.response(status) }
}
