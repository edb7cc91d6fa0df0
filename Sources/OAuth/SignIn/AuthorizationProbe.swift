package import CredentialCore

/// One request of our own to the authorization endpoint, beside the browser and never instead of it. An endpoint
/// that refuses client or redirect URI at once shows its error only to the user, and no redirect ever comes back.
///
/// The sign-in never fails because of its response. Servers answer a request that is no browser's with 401, 403 or
/// a page.
package struct AuthorizationProbe: Sendable {
    private let address: URI
    private let context: AdapterContext

    /// How long the endpoint is given, in seconds.
    private static let seconds = 5
    /// How large its answer may be, in bytes.
    private static let size = 64 << 10

    /// Makes the request out of the one that the browser was given, with a state, nonce and challenge of its own
    /// and without the person's name.
    ///
    /// - Parameters:
    ///   - page: the address that was opened.
    ///   - redirectURI: the address that listens for the response.
    /// - Returns: `nil` if the endpoint must not be asked. Such requests are a pushed request or a request object
    ///   (RFC 9126, RFC 9101), which can be used once, and `prompt=none`, whose response is a redirect in any case.
    ///   So are one with a redirect URI that is not on this machine, and one of a plugin, whose parameters are
    ///   unknown.
    package init?(
        _ page: URI, of adapter: any CredentialAdapter, redirectURI: String, in context: AdapterContext
    ) {
        guard adapter.sendsThroughContext, URI(redirectURI).map(LoopbackRedirect.isLoopback) == true,
            let fields = FormURLEncoding.decode(page.query ?? "")
        else { return nil }
        let names = fields.map(\.name)
        guard !names.contains("request_uri"), !names.contains("request"),
            !fields.contains(where: { $0.name == "prompt" && $0.value == "none" })
        else { return nil }
        let own = ["state", "nonce", "code_challenge"]
        let asked = fields.filter { $0.name != "login_hint" }.map { field in
            // A challenge is the digest of random bytes: no program has the verifier of this one.
            own.contains(field.name) ? (field.name, context.random.urlSafeToken()) : field
        }
        address = page.replacing(path: page.path, query: FormURLEncoding.encode(asked))
        self.context = context
    }

    /// Whether the endpoint refuses the request: it answers with 400 or 404. A code in a redirect is dropped.
    package func isRefused() -> Bool {
        do throws(CredentialError) {
            let reply = try context.transport.send(
                HTTPRequest(address: address, maximumReplySize: Self.size, timeout: Self.seconds))
            return reply.status == 400 || reply.status == 404
        } catch {
            // No caller waits for it, and the browser may fare better.
            context.note("the authorization endpoint was not asked: \(error)")
            return false
        }
    }
}
