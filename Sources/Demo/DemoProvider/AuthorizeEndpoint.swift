import CredentialCore
import LoopbackHTTP
import Synchronization

/// The authorization endpoint: the page at which users sign in, and the redirect back.
struct AuthorizeEndpoint: Sendable {
    /// The cookie of a signed-in browser.
    static let sessionCookie = "x-ms-cpim-sso"

    /// The context that the endpoints share.
    let context: DemoContext

    /// Answers an authorization request: with a page, or a redirect.
    func answer(_ request: ServerRequest, _ policy: DemoPolicy) -> ServerResponse {
        context.count(\.authorizeRequests)
        let query = FormFields(query: request.query)
        let correlationID = context.correlationID(request)
        do throws(AuthorizeFailure) {
            let authorize = try AuthorizeRequest(query, context: context)
            return try answer(request, policy, authorize, action: query["demo_action"])
        } catch {
            switch error {
            case .page(let error): return error.page(correlationID: correlationID, at: context.now)
            case .redirect(let error, let target):
                return redirect(
                    FormFields([
                        ("error", error.error),
                        ("error_description", error.description(correlationID: correlationID, at: context.now)),
                    ]), to: target)
            }
        }
    }

    private func answer(
        _ request: ServerRequest, _ policy: DemoPolicy, _ authorize: AuthorizeRequest, action: String?
    ) throws(AuthorizeFailure) -> ServerResponse {
        guard policy.kind != .password else {
            throw .redirect(
                B2CError(
                    error: "unauthorized_client", number: 90057,
                    text: "The policy '\(policy.name)' has no sign-in page."), authorize.target)
        }
        switch action {
        case "cancel":
            throw .redirect(
                B2CError(
                    error: "access_denied", number: 90091,
                    text: "The user has cancelled entering self-asserted information."), authorize.target)
        case "forgot":
            throw .redirect(
                B2CError(error: "access_denied", number: 90118, text: "The user has forgotten their password."),
                authorize.target)
        default: break
        }
        if request.method == "POST" { return submit(request, policy, authorize) }
        if let session = session(of: request), mayBeSilent(policy, authorize) {
            return finish(session.objectID, signedInAt: session.signedInAt, policy, authorize, cookie: nil)
        }
        if authorize.prompt == "none" {
            throw .redirect(
                B2CError(
                    error: "interaction_required", number: 90077,
                    text: "User does not have an existing session and request prompt parameter has a value of "
                        + "'none'."), authorize.target)
        }
        return form(request, policy, username: authorize.loginHint ?? "", problem: nil)
    }

    private func mayBeSilent(_ policy: DemoPolicy, _ authorize: AuthorizeRequest) -> Bool {
        if authorize.prompt == "none" { return true }
        return authorize.prompt == nil && (policy.kind == .signIn || policy.kind == .facebook)
    }

    private func session(of request: ServerRequest) -> DemoSession? {
        guard let cookie = request.cookie(Self.sessionCookie) else { return nil }
        return context.state.withLock { $0.sessions[cookie] }
    }

    private func form(
        _ request: ServerRequest, _ policy: DemoPolicy, username: String, problem: String?
    ) -> ServerResponse {
        AuthorizePages.form(
            policy, address: request.path + "?" + (request.query ?? ""), username: username, problem: problem)
    }

    private func submit(
        _ request: ServerRequest, _ policy: DemoPolicy, _ authorize: AuthorizeRequest
    ) -> ServerResponse {
        let fields = FormFields(decoding: request.body)
        let email = (fields["username"] ?? "").lowercased(), password = fields["password"] ?? ""
        let newID = context.guid()
        let name = fields["name"] ?? ""
        let user: DemoUser? = context.state.withLock { state in
            let index = state.users.firstIndex { $0.email == email }
            switch policy.kind {
            case .signUp:
                guard index == nil, !email.isEmpty, !password.isEmpty else { return nil }
                let user = DemoUser(
                    email: email, password: Secret(password), objectID: newID, name: name.isEmpty ? email : name)
                state.users.append(user)
                return user
            case .resetPassword:
                guard let index, !password.isEmpty else { return nil }
                state.users[index].password = Secret(password)
                return state.users[index]
            case .signIn, .facebook, .editProfile, .password:
                guard let index, state.users[index].password == Secret(password) else { return nil }
                if policy.kind == .editProfile, !name.isEmpty { state.users[index].name = name }
                return state.users[index]
            }
        }
        guard let user else {
            let problem =
                policy.kind == .signUp
                ? "A user with the specified ID already exists. Please choose a different one."
                : "Your email address or your password is incorrect."
            return form(request, policy, username: email, problem: problem)
        }
        let cookie = context.random.urlSafeToken(), now = context.now
        context.state.withLock { $0.sessions[cookie] = DemoSession(objectID: user.objectID, signedInAt: now) }
        return finish(user.objectID, signedInAt: now, policy, authorize, cookie: cookie)
    }

    /// Gives out a code.
    private func finish(
        _ objectID: String, signedInAt: Timestamp, _ policy: DemoPolicy, _ authorize: AuthorizeRequest,
        cookie: String?
    ) -> ServerResponse {
        let switches = context.switches
        let code = newCode(size: Int(clamping: switches.codeSize))
        let sentState = context.state.withLock { state in
            state.lastFamily += 1
            let grant = DemoGrant(
                family: state.lastFamily, clientID: authorize.client.id, policy: policy, objectID: objectID,
                scopes: authorize.scopes.requested, nonce: authorize.nonce, signedInAt: signedInAt)
            state.codes[code] = DemoCode(
                grant: grant, redirectURI: authorize.target.uri, challenge: authorize.challenge,
                issuedAt: context.now)
            defer { state.lastState = authorize.target.state }
            return switch switches.stateForm {
            case .correct: authorize.target.state
            case .wrong: "not-the-state-that-was-sent"
            case .ofAnotherSignIn: state.lastState ?? "no-other-sign-in"
            }
        }
        var target = authorize.target
        target.state = sentState
        var response = redirect(FormFields([("code", code)]), to: target)
        if let cookie {
            response.headers.append(
                ("Set-Cookie", "\(Self.sessionCookie)=\(cookie); Path=/; HttpOnly; SameSite=Lax"))
        }
        return response
    }

    /// A code with the header of the real ones, at least `size` bytes long (64 KiB at most).
    private func newCode(size: Int) -> String {
        let head =
            "eyJraWQiOiJjcGltY29yZV8wOTI1MjAxNSIsInZlciI6IjEuMCIsInppcCI6IkRlZmxhdGUiLCJzZXIiOiIxLjAifQ."
        let wanted = min(max(size, 0), 64 << 10) - head.utf8.count
        return head + Base64URL.encode(context.random.bytes(max(32, (wanted * 3 + 3) / 4)))
    }

    /// Sends the browser back with an answer.
    private func redirect(_ answer: FormFields, to target: RedirectTarget) -> ServerResponse {
        var pairs = answer.fields.map { ($0.name, $0.value) }
        // Azure AD B2C puts `state` before the code and after an error.
        if let state = target.state {
            pairs.insert(("state", state), at: answer["error"] == nil ? 0 : pairs.count)
        }
        let answer = FormFields(context.switches.repeatsRedirectParameters ? pairs + pairs : pairs)
        if target.mode == .formPost {
            return AuthorizePages.post(answer, to: target.uri, nonce: context.random.urlSafeToken())
        }
        let mark = target.mode == .fragment ? "#" : "?"
        return ServerResponse(
            status: 302,
            headers: [("Location", target.uri + mark + answer.encoded(.lower)), ("Referrer-Policy", "no-referrer")])
    }
}
