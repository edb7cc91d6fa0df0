import CredentialCore
import OAuth
import Platform
import StrictJSON
import Synchronization

/// Drives the interactions that an adapter asks for: opens the browser, listens, shows codes, asks.
struct SignInDriver: Sendable {
    let session: CommandSession
    let plan: SignInPlan
    let adapterContext: AdapterContext
    /// Whether the browser is opened.
    let opensBrowser: Bool
    /// Whether the type is saved, so that commands may name it.
    private let isDefined: Bool
    private let surroundings: SignInEnvironment
    /// Whether a person was asked for anything: from then on it is an attempt to sign in.
    private(set) var hasAsked = false
    private var receiver: (any RedirectReceiver)?
    private var page: (any PrivateFile)?
    private var notice: (any ProgressItem)?

    /// How long the user may take in the browser, in seconds, without `--timeout`.
    private static let patience = 300

    private var console: any Console { session.context.console }

    /// Describes a sign-in.
    init(
        session: CommandSession, plan: SignInPlan, adapterContext: AdapterContext, opensBrowser: Bool,
        isDefined: Bool = true
    ) {
        self.isDefined = isDefined
        self.session = session
        self.plan = plan
        self.adapterContext = adapterContext
        surroundings = SignInEnvironment(session)
        self.opensBrowser = opensBrowser && !surroundings.isRemote
    }

    /// Runs a sign-in up to its tokens. The browser that brought the redirect waits for ``show(title:text:)``; in
    /// each case, ``end()`` follows.
    mutating func run() throws(CredentialError) -> SignInResult {
        let deadline = session.options.timeout.map { session.context.clock.now.adding(Int64($0)) }
        let (request, first) = try begin()
        var step = first
        var shownCode: String?
        while case .interaction(let interaction, let pending) = step {
            let isFirst = !hasAsked
            hasAsked = true
            if isFirst, let text = ServerNotice.text(request, interaction, pending) { session.notices.say(text) }
            // A device flow asks to show the same code at every turn.
            if case .showCode(let code, let address, let complete, _, let expires) = interaction, code != shownCode
            {
                DeviceCodeDisplay(session: session).show(code, at: address, complete: complete)
                shownCode = code
                notice?.end()
                notice = session.notices.waiting.begin { [clock = session.context.clock] in
                    "the code to be entered, \(SignInEnvironment.minutes(expires.seconds(since: clock.now))) left"
                }
            }
            if isFirst, case .openURL(let page, _) = interaction {
                AnotherPerson(plan).tellWhatIsSent(pending, at: page, session.notices)
            }
            let reply = try perform(interaction, request.type, isFirst: isFirst, before: deadline)
            step = try plan.adapter.resume(request, pending: pending, with: reply, in: adapterContext)
        }
        notice?.end()
        guard case .done(let result) = step else {
            throw CredentialError(.internalFault, "the sign-in ended without a result")
        }
        return result
    }

    /// Begins the sign-in, in the way that suits the place it is made from.
    private mutating func begin() throws(CredentialError) -> (SignInRequest, SignInStep) {
        var request = plan.request
        if surroundings.isRemote, plan.isFlowOpen, let begun = onAnotherDevice() { return begun }
        let maySubstitute = opensBrowser && surroundings.hasScreen
        if request.flow == .code,
            let redirect = LoopbackRedirect.address(for: plan, maySubstitute: maySubstitute, in: adapterContext)
        {
            let opened = try listen(at: redirect)
            request.redirectURI = opened.redirectURI
            receiver = opened
        }
        return (request, try plan.adapter.begin(request, in: adapterContext))
    }

    /// The device flow, if the provider has one and the client may use it.
    private func onAnotherDevice() -> (SignInRequest, SignInStep)? {
        var request = plan.request
        request.flow = .device
        do throws(CredentialError) {
            return (request, try plan.adapter.begin(request, in: adapterContext))
        } catch {
            session.notices.detail("no sign-in on another device: \(error)")
            return nil
        }
    }

    /// Tells the browser the outcome of the redirect that it has brought.
    func show(title: LocalizedMessage, text: LocalizedMessage = "") { receiver?.show(title: title, text: text) }

    /// Stops listening, and removes the files made for the browser.
    mutating func end() {
        notice?.end()
        receiver?.stop()
        receiver = nil
        removePage()
    }

    private mutating func removePage() {
        // A page that cannot be removed now is removed by the next program that makes such a file.
        try? page?.remove()
        page = nil
    }

    private func listen(at redirect: URI) throws(CredentialError) -> any RedirectReceiver {
        let (notices, file, halves) = (session.notices, session.context.configurationFile, twoHalves)
        return try session.context.redirects.listen(at: redirect, for: session.configuration.redirectPeers) {
            owner in
            let (who, word): (LocalizedMessage, String) =
                owner.map { ("a program of another user (uid \($0))", "uid:\($0)") }
                ?? ("a program of an unknown user", "any")
            notices.warning(
                "rejected a response to this sign-in from \(who). If the response is from your own browser, set "
                    + "\"redirect_peers\": \"\(word)\" in \(file) and sign in again, or sign in in two steps: "
                    + "\(halves)"
            )
        }
    }

    private mutating func perform(
        _ interaction: Interaction, _ type: AccountType, isFirst: Bool, before deadline: Timestamp?
    ) throws(CredentialError) -> InteractionReply {
        switch interaction {
        case .openURL(let address, let state):
            if !isFirst { show(title: "credmgr: the sign-in has a further page", text: "It opens now.") }
            removePage()
            guard let receiver else {
                present(address, isFirst: isFirst)
                noteHandler(type)
                return .redirect(try paste(type))
            }
            let words = MissingResponseHints.text(plan, isDefined: isDefined, in: console.translations)
            return try InterruptMessage.during(words) { () throws(CredentialError) in
                present(address, isFirst: isFirst)
                if !opensBrowser { explainListening(receiver) }
                return .redirect(
                    try wait(
                        receiver, state, formOrigin: type.responseMode == .formPost ? address.origin : nil,
                        probe: isFirst ? probe(address, receiver) : nil))
            }
        case .showCode(_, _, _, let interval, let expires):
            let now = session.context.clock.now
            guard now < expires else {
                throw CredentialError(.temporary, "the code was not entered in time", hint: "run the command again")
            }
            // Another question to the provider would come too late.
            if let deadline, now.adding(Int64(interval)) > deadline {
                throw CredentialError(
                    .temporary, "the code was not entered within the time of --timeout",
                    hint: "run the command again, with more time")
            }
            session.context.programs.pause(seconds: interval)
            return .poll
        case .ask(let prompt, let isSecret):
            return .text(try ask(prompt, isSecret: isSecret))
        }
    }

    // MARK: Browser

    /// Opens a page, and shows its address.
    private mutating func present(_ address: URI, isFirst: Bool) {
        var isOpened = false
        if opensBrowser { (isOpened, page) = Browser.open(address, session) }
        session.notices.say(Self.invitation(isFirst: isFirst, isOpened: isOpened))
        session.notices.say("  \(address)")
    }

    private static func invitation(isFirst: Bool, isOpened: Bool) -> LocalizedMessage {
        switch (isFirst, isOpened) {
        case (true, true): "The sign-in opens in the browser. If no page appears, open this address:"
        case (false, true):
            "A further page of the sign-in opens in the browser. If no page appears, open this address:"
        case (true, false): "Open this address to sign in:"
        case (false, false): "The sign-in has a further page. Open this address:"
        }
    }

    /// Asks the authorization endpoint once, beside a browser that was opened here.
    private func probe(_ page: URI, _ receiver: any RedirectReceiver) -> AuthorizationProbe? {
        guard opensBrowser else { return nil }
        return AuthorizationProbe(page, of: plan.adapter, redirectURI: receiver.redirectURI, in: adapterContext)
    }

    private func wait(
        _ receiver: any RedirectReceiver, _ state: String, formOrigin: String?, probe: AuthorizationProbe?
    ) throws(CredentialError) -> String {
        let (seconds, notices) = (self.seconds, session.notices)
        let isExpected: @Sendable (String) -> Bool = { RedirectState.isPresent(state, in: $0) }
        // Without a thread there are no hints, and the sign-in goes on.
        let reasons = try? MissingResponseHints(
            MissingResponseHints.lines(plan, isDefined: isDefined), probe: probe, notices, isQueued: session.mayAsk)
        defer { reasons?.end() }
        guard session.mayAsk else {
            return try receiver.wait(seconds: seconds, formOrigin: formOrigin, isExpected: isExpected)
        }
        return try waitBesideTerminal(receiver, formOrigin: formOrigin, isExpected: isExpected) {
            [translations = console.translations] in
            (reasons?.queued() ?? []).map { $0.text(in: translations) }
        }
    }

    /// Waits for the redirect, or for its address as a line of the terminal.
    private func waitBesideTerminal(
        _ receiver: any RedirectReceiver, formOrigin: String?, isExpected: @escaping @Sendable (String) -> Bool,
        asides: @escaping () -> [String]
    ) throws(CredentialError) -> String {
        let (seconds, notices) = (self.seconds, session.notices)
        let arrived = Mutex<Result<String, CredentialError>?>(nil)
        func trimmed(_ line: String) -> String { line.split(separator: " ").joined(separator: " ") }
        surroundings.staticStatus(of: seconds).map { notices.say($0) }
        let line = try console.readLine(
            status: surroundings.status(of: seconds),
            accepts: { line in
                let text = trimmed(line)
                if text.isEmpty || isExpected(text) { return !text.isEmpty }
                notices.say("That is not the redirect URL of this sign-in. credmgr still waits for it.")
                return false
            }, asides: asides,
            while: {
                do throws(CredentialError) {
                    let url = try receiver.wait(seconds: seconds, formOrigin: formOrigin, isExpected: isExpected)
                    arrived.withLock { $0 = .success(url) }
                } catch {
                    arrived.withLock { $0 = .failure(error) }
                }
            })
        if let line { return trimmed(line.reveal()) }
        guard let result = arrived.withLock({ $0 }) else {
            throw CredentialError(.internalFault, "the wait for the browser ended without a result")
        }
        return try result.get()
    }

    private var seconds: Int { session.options.timeout ?? Self.patience }

    /// Explains a listener without a browser, and how a browser on another machine reaches it.
    private func explainListening(_ receiver: any RedirectReceiver) {
        guard let port = URI(receiver.redirectURI)?.port else { return }
        session.notices.say(
            "credmgr waits for the redirect on port \(port) of this machine, for \(seconds) s. If your browser is "
                + "on another machine, run this command there first:")
        session.notices.say("  \(surroundings.tunnel(port: port))")
        session.notices.say(
            session.mayAsk
                ? "or paste the redirect URL here, even if the browser shows an error."
                : "or sign in in two steps: \(twoHalves)")
    }

    /// A private scheme (RFC 8252 §7.1) needs no pasting if the desktop handles it.
    private func noteHandler(_ type: AccountType) {
        guard let redirect = type.redirectURI.flatMap(URI.init), !redirect.isWeb, redirect.scheme != "urn"
        else { return }
        session.notices.note(
            "register a redirect handler to avoid pasting: xdg-mime default credmgr-redirect.desktop "
                + "x-scheme-handler/\(redirect.scheme), then \(plan.command) --print-url")
    }

    // MARK: Paste

    /// For a redirect that no browser on Linux can follow to us: the user brings it.
    private func paste(_ type: AccountType) throws(CredentialError) -> String {
        if session.mayAsk {
            return try console.ask(
                "Then paste the redirect URL or the code: ", isSecret: false
            ).reveal()
        }
        session.notices.say(
            "Then write the redirect URL or the code as one line to standard input.")
        guard let line = try console.readInputLine(), !line.isEmpty else {
            throw CredentialError(
                .signInRequired, "no redirect URL on standard input",
                hint: LocalizedMessage(verbatim: twoHalves))
        }
        return line
    }

    /// The sign-in as two commands, the second of which takes the address on standard input.
    private var twoHalves: String { "\(plan.command) --print-url && credmgr login --complete -" }

    // MARK: Question

    /// Returns the user's input, or one line of standard input if that is no terminal.
    private func ask(_ prompt: LocalizedMessage, isSecret: Bool) throws(CredentialError) -> Secret {
        // The space at the end of a prompt is lost when it is made safe to show.
        if session.mayAsk { return try console.ask("\(prompt) ", isSecret: isSecret) }
        guard let line = try console.readInputLine(), !line.isEmpty else {
            throw CredentialError(
                .signInRequired, "the sign-in requires input, but no terminal is available",
                hint: "run the command in a terminal without --no-input, or write the input to standard input")
        }
        return Secret(line)
    }
}
