import CredentialCore
import LoopbackHTTP
import Synchronization

/// The end of the browser's session (OpenID Connect RP-Initiated Logout 1.0). Refresh tokens stay valid.
struct SignOutEndpoint: Sendable {
    /// The context that the endpoints share.
    let context: DemoContext

    /// Ends the session of the browser and sends it to the target, if there is one.
    func answer(_ request: ServerRequest) -> ServerResponse {
        let query = FormFields(query: request.query)
        let target = query["post_logout_redirect_uri"]
        if let target, context.switches.checksSignOutTarget || query["id_token_hint"] != nil {
            let clients = context.configuration.clients
            guard clients.contains(where: { AuthorizeRequest.isRegistered(target, for: $0) }) else {
                return B2CError(
                    error: "redirect_uri_mismatch", number: 90006,
                    text: "The redirect URI '\(target)' provided in the request is not registered for the client "
                        + "id '\(query["client_id"] ?? "")'."
                ).page(correlationID: context.correlationID(request), at: context.now)
            }
        }
        context.state.withLock { state in
            state.counters.signOuts += 1
            if let cookie = request.cookie(AuthorizeEndpoint.sessionCookie) {
                state.sessions.removeValue(forKey: cookie)
            }
        }
        let removal = (
            "Set-Cookie", "\(AuthorizeEndpoint.sessionCookie)=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
        )
        guard let target, URI(target) != nil else {
            var page = HTMLPage(title: "Signed out", content: "<p>You can close this page.</p>").response(200)
            page.headers.append(removal)
            return page
        }
        var location = target
        if let state = query["state"] {
            location += (target.contains("?") ? "&" : "?") + FormFields([("state", state)]).encoded(.lower)
        }
        return ServerResponse(status: 302, headers: [("Location", location), removal])
    }
}
