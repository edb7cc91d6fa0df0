package import CredentialCore
import Glibc

/// Receives the redirect that ends a sign-in in the browser (RFC 8252 §7.3), and shows the outcome there.
///
/// Takes the response modes `query`, `form_post` and `fragment`. A request that is not the one waited for is
/// refused, and the wait goes on: other programs of this machine, and web pages, can reach the port as well.
package final class RedirectListener: Sendable {
    /// How the loopback is called in the redirect URI.
    package struct Host: Sendable, Hashable {
        /// The host as the redirect URI has it.
        package let name: String
        /// The addresses to listen on.
        let addresses: LoopbackAddresses

        /// `localhost`, which Azure AD B2C insists on; listens on IPv4 and IPv6.
        package static let localhost = Host(name: "localhost", addresses: .both)
        /// `127.0.0.1`, which RFC 8252 §8.3 prefers; listens there only.
        package static let ipv4 = Host(name: "127.0.0.1", addresses: .ipv4)
        /// `[::1]`, which RFC 8252 §7.3 has beside it; listens there only.
        package static let ipv6 = Host(name: "[::1]", addresses: .ipv6)

        /// The host of a redirect URI, without brackets; `nil` for one that is not listened at. A name below
        /// `localhost` is the loopback for browsers, too (RFC 6761 §6.3).
        package init?(_ host: String) {
            switch host {
            case "127.0.0.1": self = .ipv4
            case "::1": self = .ipv6
            case "localhost": self = .localhost
            default:
                guard host.hasSuffix(".localhost") else { return nil }
                self.init(name: host, addresses: .both)
            }
        }

        private init(name: String, addresses: LoopbackAddresses) {
            self.name = name
            self.addresses = addresses
        }
    }

    /// The redirect URI to put into the authorization request: `http://localhost:51873/path`.
    package let redirectURI: String
    private let server: LoopbackServer
    private let desk: RedirectHandler

    /// How long a browser that has brought the redirect is given to take its page, in seconds.
    private static let showingSeconds = 2

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - path: the path of the redirect URI as it is registered, or an unpredictable one; starts with `/`.
    ///   - ports: tried in order; 0 is any free port.
    ///   - host: how the redirect URI is registered.
    ///   - peers: whose programs may bring the redirect.
    ///   - random: makes the word that allows the scripts of the pages.
    ///   - translations: the language of the pages.
    ///   - stranger: told once of each other user who has brought a redirect that fits, `nil` for one that is not
    ///     known; called on other threads.
    ///   - last: the response to every redirect, for a listener that expects no redirect: the sign-in is over.
    /// - Throws: ``ErrorCode/temporary`` when every port is taken; ``ErrorCode/configuration`` for an invalid path;
    ///   ``ErrorCode/internalFault`` when libmicrohttpd is not installed.
    package init(
        path: String, ports: [UInt16] = [0], host: Host = .localhost, peers: AllowedRedirectPeers = .sameUser,
        random: any RandomSource, translations: any Translations = NoTranslations(),
        stranger: @escaping @Sendable (UInt32?) -> Void = { _ in },
        last: (title: LocalizedMessage, text: LocalizedMessage)? = nil
    ) throws(CredentialError) {
        guard path.utf8.first == UInt8(ascii: "/"),
            path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        else {
            throw CredentialError(
                .configuration, "the path of the redirect URI is not valid: \(UntrustedText.shown(path))")
        }
        let user = geteuid()
        let desk = RedirectHandler(
            path: path, host: host.name, nonce: random.urlSafeToken(), translations: translations,
            takes: { peers.accept($0, user: user) },
            stranger: stranger, last: last.map { RedirectHandler.Outcome(title: $0.title, text: $0.text) })
        server = try LoopbackServer(ports: ports, at: host.addresses) { desk.answer($0) }
        desk.open(port: server.port)
        redirectURI = "http://\(host.name):\(server.port)\(path)"
        self.desk = desk
    }

    /// Waits for the redirect. After one has come another may be waited for. The browser that brought it waits for
    /// ``show(title:text:)``, 10 seconds at most.
    ///
    /// - Parameters:
    ///   - seconds: how long at most.
    ///   - formPostOrigins: origins of the provider that may post the reply (`response_mode=form_post`); empty
    ///     when that mode is not used.
    ///   - accepts: whether a full URL is the redirect of this sign-in, by its `state`; called on other threads,
    ///     for hostile URLs too.
    /// - Returns: the redirect URI with the provider's answer as its query, whichever way it came.
    /// - Throws: ``ErrorCode/temporary`` when the time is over.
    package func wait(
        seconds: Int, formPostOrigins: [String] = [], accepts: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> String {
        if let url = desk.wait(seconds: seconds, formPostOrigins, accepts: accepts) { return url }
        throw CredentialError(
            .temporary, "timed out waiting for the sign-in after \(seconds) seconds",
            hint:
                "run the command again and finish the sign-in in the browser; if the provider's page shows an "
                + "error, check client_id and redirect_uri of the type")
    }

    /// Tells the browser the outcome of the redirect that it brought, and waits until the page has been sent, or
    /// the browser has gone.
    ///
    /// - Parameters:
    ///   - title: the outcome in one line.
    ///   - text: further information, a paragraph in plain text.
    package func show(title: LocalizedMessage, text: LocalizedMessage) {
        desk.show(RedirectHandler.Outcome(title: title, text: text))
        desk.settle(seconds: Self.showingSeconds)
    }

    /// Stops listening, which ends a wait; a second call has no effect.
    package func stop() {
        desk.end()
        desk.settle(seconds: Self.showingSeconds)
        server.stop()
    }
}
