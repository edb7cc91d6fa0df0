public import CredentialCore
import OAuth
import Platform
import StrictJSON
import Synchronization

extension AccountStore {
    /// Signs a user in: opens the page, listens for the redirect on localhost, obtains the tokens and saves the
    /// account. The browser then shows the outcome.
    ///
    /// If no listener can serve the type's redirect URI, such as one with a scheme of the program's own, the
    /// program hands the redirect to ``handleRedirect(_:)``, and this call goes on.
    ///
    /// The account is bound to the type `name`, also if the person had signed in under another type of the same
    /// client.
    ///
    /// - Parameters:
    ///   - name: the account type.
    ///   - account: only its user may sign in; tokens of any other user are discarded.
    ///   - policy: by alias or name, if the provider has policies; `nil` for the type's own.
    ///   - scope: in place of the type's own; if empty, the type's own.
    ///   - parameters: extra parameters of the authorization request, for this sign-in only.
    ///   - prompt: which prompt the provider shows.
    ///   - loginHint: the user that the provider should offer first; the account's user name for `nil`.
    ///   - makingNew: whether a person who is known here gets another account, as `login --duplicate` gives.
    ///   - interaction: opens the page; `nil` for the opener of the options, else the user's browser. If it throws,
    ///     the sign-in ends with that error.
    /// - Throws: ``CredentialCore/ErrorCode/denied`` if a different user signed in;
    ///   ``CredentialCore/ErrorCode/cancelled`` if the user or the task cancelled;
    ///   ``CredentialCore/ErrorCode/validationFailed`` for an invalid response. Also throws
    ///   ``CredentialCore/ErrorCode/temporary`` if no redirect came in time, or the provider is in trouble; the
    ///   errors of the store.
    public func signIn(
        toType name: String, as account: Account? = nil, policy: String? = nil, scope: [String] = [],
        parameters: [String: String] = [:], prompt: Prompt = .auto, loginHint: String? = nil,
        makingNew: Bool = false, interaction: URLOpener? = nil
    ) async throws(CredentialError) -> Account {
        let signInOptions = SignInOptions(
            type: name, account: account, policy: policy, scope: scope, parameters: parameters,
            loginHint: loginHint, prompt: prompt, makesNew: makingNew)
        return try await signIn(signInOptions, opening: interaction ?? options.openURL, showing: nil)
    }

    /// Signs in on another device (RFC 8628): the program shows a code and the address to enter it at.
    ///
    /// - Parameters:
    ///   - name: the account type.
    ///   - account: only its person may come back.
    ///   - scope: in place of the type's own; if empty, the type's own.
    ///   - show: shows the code; called once for each code.
    /// - Throws: as ``signIn(toType:as:policy:scope:parameters:prompt:loginHint:makingNew:interaction:)``;
    ///   ``CredentialCore/ErrorCode/unsupported`` if the provider has no such flow.
    public func requestDeviceAccess(
        toType name: String, as account: Account? = nil, scope: [String] = [],
        showing show: @escaping @Sendable (DeviceCode) async throws -> Void
    ) async throws(CredentialError) -> Account {
        try await signIn(
            SignInOptions(type: name, account: account, scope: scope, flow: .device), opening: nil, showing: show)
    }

    /// Signs in by username and password (RFC 6749 §4.3), if type and provider allow it.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/unsupported``, ``CredentialCore/ErrorCode/denied``, the errors of the
    ///   store.
    public func requestAccess(
        toType name: String, username: String, password: Secret, policy: String? = nil
    ) async throws(CredentialError) -> Account {
        try await signIn(
            SignInOptions(type: name, policy: policy, flow: .password, username: username, password: password),
            opening: nil,
            showing: nil)
    }

    /// Signs in by an assertion of the type's private key, identity token or identity provider (RFC 7523).
    ///
    /// - Parameters:
    ///   - name: the account type.
    ///   - username: the user that the assertion is for; `nil` for the client itself.
    /// - Throws: as ``requestAccess(toType:username:password:policy:)``.
    public func requestAssertionAccess(
        toType name: String, for username: String? = nil
    ) async throws(CredentialError) -> Account {
        try await signIn(
            SignInOptions(type: name, flow: .jwtBearer, username: username), opening: nil, showing: nil)
    }

    /// Signs the program itself in by client credentials (RFC 6749 §4.4).
    ///
    /// - Throws: as ``requestAccess(toType:username:password:policy:)``.
    public func requestClientCredentialsAccess(toType name: String) async throws(CredentialError) -> Account {
        try await signIn(SignInOptions(type: name, flow: .clientCredentials), opening: nil, showing: nil)
    }

    // MARK: The course of a sign-in

    /// The state of a sign-in between two interactions.
    private enum Stage: Sendable {
        case interaction(Interaction, pending: JSONObject)
        case signedIn(Account)
    }

    func signIn(
        _ signInOptions: SignInOptions, opening open: URLOpener?,
        showing show: (@Sendable (DeviceCode) async throws -> Void)?
    ) async throws(CredentialError) -> Account {
        let accounts = parts.accounts
        let (plan, place) = try await blocking {
            [self] () throws(CredentialError) -> (SignInPlan, URI?) in
            let plan = try self.plan(signInOptions, accounts)
            try plan.checkSecrets(accounts.adapterContext.clientSecrets)
            guard plan.request.flow == .code else { return (plan, nil) }
            return (
                plan,
                LoopbackRedirect.address(
                    for: plan, maySubstitute: true, in: accounts.adapterContext(of: plan.request.type))
            )
        }
        if plan.request.flow == .code, place == nil {
            return try await signInWithoutListening(plan, accounts, opening: open)
        }
        let desk = SignInResources()
        do throws(CredentialError) {
            return try await run(plan, at: place, accounts, desk, opening: open, showing: show)
        } catch {
            desk.close()
            accounts.signIn.releaseRoom(in: plan.group)
            throw error
        }
    }

    private func run(
        _ plan: SignInPlan, at place: URI?, _ accounts: AccountServices, _ desk: SignInResources,
        opening open: URLOpener?, showing show: (@Sendable (DeviceCode) async throws -> Void)?
    ) async throws(CredentialError) -> Account {
        var (plan, stage) = try await blocking { [self] () throws(CredentialError) -> (SignInPlan, Stage) in
            var plan = plan
            // Saving the account releases the reserved space, and so does an early end.
            try accounts.signIn.reserveRoom(in: plan.group, of: plan.store.kind)
            if let place {
                let receiver = try listen(at: place)
                desk.receiver = receiver
                plan.request.redirectURI = receiver.redirectURI
            }
            return (
                plan,
                try advance(plan, accounts, desk) { [plan] () throws(CredentialError) in
                    try plan.adapter.begin(plan.request, in: accounts.adapterContext(of: plan.request.type))
                }
            )
        }
        var shownCode: String?
        while case .interaction(let interaction, let pending) = stage {
            let reply: InteractionReply
            do throws(CredentialError) {
                switch interaction {
                case .openURL(let address, let state):
                    reply = .redirect(try await redirect(from: address, state, plan, desk, opening: open))
                case .showCode(let code, let address, let complete, let interval, let expires):
                    if code != shownCode {
                        shownCode = code
                        try await present(
                            DeviceCode(
                                userCode: code, verificationURI: address.description,
                                completeURI: complete?.description, expiresAt: expires), by: show)
                    }
                    guard parts.machine.clock.now < expires else {
                        throw CredentialError(.temporary, "the code was not entered in time")
                    }
                    try await pause(seconds: interval)
                    reply = .poll
                case .ask(let prompt, let isSecret):
                    reply = .text(try await answer(to: prompt, isSecret: isSecret))
                }
            } catch {
                let error = error.forPrograms
                if error != .taskCancelled { plan.tell(error, on: parts.machine) }
                throw error
            }
            stage = try await blocking { [self, plan] () throws(CredentialError) in
                try advance(plan, accounts, desk) { () throws(CredentialError) in
                    try plan.adapter.resume(
                        plan.request, pending: pending, with: reply,
                        in: accounts.adapterContext(of: plan.request.type))
                }
            }
        }
        guard case .signedIn(let account) = stage else {
            throw CredentialError(.internalFault, "a sign-in that ended without an account")
        }
        return account
    }

    /// Takes one step at the provider; when it is the last, keeps the account. A step that has begun is completed,
    /// even if the task is cancelled.
    private func advance(
        _ plan: SignInPlan, _ accounts: AccountServices, _ desk: SignInResources,
        _ step: () throws(CredentialError) -> SignInStep
    ) throws(CredentialError) -> Stage {
        do throws(CredentialError) {
            switch try step() {
            case .interaction(let interaction, let pending): return .interaction(interaction, pending: pending)
            case .done(let result):
                let outcome = try keep(result, plan, accounts)
                desk.show(title: plan.title(of: outcome))
                desk.close()
                return .signedIn(bound(outcome.account, to: plan.request.type))
            }
        } catch {
            // An error in the call or in the type is no failed sign-in.
            if error.code.exitStatus != 2 || desk.hasAsked { plan.tell(error, on: parts.machine) }
            desk.show(title: plan.failureTitle, text: error.text)
            throw error
        }
    }

    // MARK: Interactions

    private func listen(at place: URI) throws(CredentialError) -> any RedirectReceiver {
        let warn = options.warn, file = parts.machine.configurationFile
        return try parts.redirects.listen(at: place, for: parts.configuration.redirectPeers) { owner in
            let word = owner.map { "uid:\($0)" } ?? "any"
            warn(
                "an answer to a sign-in came from a program of another user, and was not taken; \"redirect_peers\": "
                    + "\"\(word)\" in \(file) lets it in")
        }
    }

    /// Opens a page and waits for the redirect that ends it.
    private func redirect(
        from address: URI, _ state: String, _ plan: SignInPlan, _ desk: SignInResources,
        opening open: URLOpener?
    ) async throws(CredentialError) -> String {
        guard let receiver = desk.receiver else {
            throw CredentialError(.unsupported, "cannot receive the redirect: the store has no listener")
        }
        if desk.hasAsked { desk.show(title: "credmgr: the sign-in has a further page", text: "It opens now.") }
        desk.hasAsked = true
        let redirect = AsyncResult<String>()
        let opener = self.opener(open, address, desk) { redirect.settle(.failure($0)) }
        let seconds = options.patience
        let formOrigin = plan.request.type.responseMode == .formPost ? address.origin : nil
        try DeadlineThread.start {
            do throws(CredentialError) {
                redirect.settle(
                    .success(
                        try receiver.wait(seconds: seconds, formOrigin: formOrigin) {
                            RedirectState.isPresent(state, in: $0)
                        }))
            } catch {
                redirect.settle(.failure(error))
            }
        }
        defer { opener.cancel() }
        return try await redirect.value()
    }

    /// Has a page opened while the redirect is waited for already: an opener may return when its window is closed.
    private func opener(
        _ open: URLOpener?, _ address: URI, _ desk: SignInResources,
        failed: @escaping @Sendable (CredentialError) -> Void
    ) -> Task<Void, Never> {
        Task {
            do {
                if let open {
                    try await open(address.description)
                } else {
                    try await blocking { [browser = parts.browser] () throws(CredentialError) in
                        desk.page = try browser.open(address)
                    }
                }
            } catch {
                failed(CredentialError(opening: error))
            }
        }
    }

    /// A sign-in whose redirect ``handleRedirect(_:)`` brings.
    private func signInWithoutListening(
        _ plan: SignInPlan, _ accounts: AccountServices, opening open: URLOpener?
    ) async throws(CredentialError) -> Account {
        var next = try await blocking { [self] () throws(CredentialError) in try prepare(plan, accounts) }
        let desk = SignInResources()
        defer { desk.close() }
        while true {
            let state = next.state
            let progress = waiting.withLock { waiting in
                let progress = waiting[state] ?? AsyncResult<SignInProgress>()
                waiting[state] = progress
                return progress
            }
            defer { waiting.withLock { $0[state] = nil } }
            guard let address = URI(next.url) else {
                throw CredentialError(.internalFault, "a page without a URL")
            }
            let opener = self.opener(open, address, desk) { progress.settle(.failure($0)) }
            let timer = Task {
                do { try await Task.sleep(for: .seconds(PendingSignIn.lifetime)) } catch { return }
                progress.settle(.failure(CredentialError(.temporary, "timed out waiting for the sign-in")))
            }
            defer {
                opener.cancel()
                timer.cancel()
            }
            switch try await progress.value() {
            case .signedIn(let account): return account
            case .continues(let further): next = further
            }
        }
    }

    private func present(
        _ code: DeviceCode, by show: (@Sendable (DeviceCode) async throws -> Void)?
    ) async throws(CredentialError) {
        guard let show else {
            throw CredentialError(
                .unsupported, "this sign-in must show a code",
                hint: "requestDeviceAccess(toType:as:scope:showing:)")
        }
        try await interacting { try await show(code) }
    }

    private func answer(to prompt: LocalizedMessage, isSecret: Bool) async throws(CredentialError) -> Secret {
        guard let ask = options.ask else {
            throw CredentialError(
                .unsupported, "the sign-in requires input: \(prompt)",
                hint: "set the option 'ask' of the store")
        }
        return try await interacting { try await ask(prompt.description, isSecret) }
    }

    /// Waits for the program's interaction with the user; the task's cancellation does not wait for that.
    private func interacting<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(CredentialError) -> Value {
        let result = AsyncResult<Value>()
        let task = Task {
            do { result.settle(.success(try await body())) } catch {
                result.settle(.failure(CredentialError(opening: error)))
            }
        }
        defer { task.cancel() }
        return try await result.value()
    }

    private func pause(seconds: Int) async throws(CredentialError) {
        do { try await Task.sleep(for: .seconds(seconds)) } catch { throw .taskCancelled }
    }
}

/// A code to be entered on another device.
public struct DeviceCode: Sendable, Hashable {
    /// The code.
    public let userCode: String
    /// The URI at which the user enters the code.
    public let verificationURI: String
    /// The same address with the code in it, if the provider has one.
    public let completeURI: String?
    /// When it ends.
    public let expiresAt: Timestamp
}

extension CredentialError {
    /// Creates the error for the end of the program's own part of a sign-in.
    fileprivate init(opening error: any Error) {
        if let error = error as? CredentialError {
            self = error
        } else if error is CancellationError {
            self.init(.cancelled, "the sign-in was cancelled")
        } else {
            self.init(.internalFault, "cannot show the page: \(UntrustedText.shown("\(error)"))")
        }
    }
}

/// The resources that a sign-in holds while it lasts: the listener, and the page that leads the browser there.
final class SignInResources: Sendable {
    private struct State {
        var receiver: (any RedirectReceiver)?
        var page: (any PrivateFile)?
        var hasAsked = false
    }
    private let state = Mutex(State())

    var receiver: (any RedirectReceiver)? {
        get { state.withLock { $0.receiver } }
        set { state.withLock { $0.receiver = newValue } }
    }
    var page: (any PrivateFile)? {
        get { state.withLock { $0.page } }
        set { state.withLock { $0.page = newValue } }
    }
    var hasAsked: Bool {
        get { state.withLock { $0.hasAsked } }
        set { state.withLock { $0.hasAsked = newValue } }
    }

    /// Tells the browser the outcome of the redirect that it has brought.
    func show(title: LocalizedMessage, text: LocalizedMessage = "") { receiver?.show(title: title, text: text) }

    /// Stops listening, on a thread of its own, as the browser may still be reading; removes the page.
    func close() {
        let (receiver, page) = state.withLock { state in
            defer { (state.receiver, state.page) = (nil, nil) }
            return (state.receiver, state.page)
        }
        guard receiver != nil || page != nil else { return }
        let end: @Sendable () -> Void = {
            receiver?.stop()
            // If the page cannot be removed now, the next program that makes such a file removes it.
            try? page?.remove()
        }
        do throws(CredentialError) { try DeadlineThread.start(end) } catch { end() }
    }
}
