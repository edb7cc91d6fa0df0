import CredentialCore
import StrictJSON

/// Drives the interactions that an adapter asks for: opens the browser, listens, shows codes, asks.
struct SignInDriver: Sendable {
    let session: Session
    let adapter: any CredentialAdapter
    let adapterContext: AdapterContext
    /// Whether the browser is opened.
    let opensBrowser: Bool
    /// Whether a person was asked for anything: from then on it is an attempt to sign in.
    private(set) var hasAsked = false

    /// How long a person may take in the browser, in seconds, when `--timeout` says nothing.
    private static let patience = 300

    private var console: any Console { session.context.console }

    /// Describes a sign-in.
    init(
        session: Session, adapter: any CredentialAdapter, adapterContext: AdapterContext, opensBrowser: Bool
    ) {
        self.session = session
        self.adapter = adapter
        self.adapterContext = adapterContext
        self.opensBrowser = opensBrowser
    }

    /// Runs a sign-in to its end.
    mutating func run(_ request: SignInRequest) throws(CredentialError) -> SignInResult {
        var request = request
        var receiver: (any RedirectReceiver)?
        defer { receiver?.stop() }
        if request.flow == .code, let redirect = WebAddress(request.redirectURI), Self.isLoopback(redirect) {
            let opened = try session.context.redirects.listen(at: redirect)
            request.redirectURI = opened.redirectURI
            receiver = opened
        }
        let deadline = session.options.timeout.map { session.context.clock.now.adding(Int64($0)) }
        var step = try adapter.begin(request, in: adapterContext)
        var shownCode: String?
        while case .interaction(let interaction, let pending) = step {
            // A device flow asks to show the same code at every turn.
            if case .showCode(let code, let address, let complete, _, _) = interaction, code != shownCode {
                DeviceCodeDisplay(session: session).show(code, at: address, complete: complete)
                shownCode = code
            }
            let isFirst = !hasAsked
            hasAsked = true
            let reply = try perform(interaction, receiver, request.type, isFirst: isFirst, before: deadline)
            step = try adapter.resume(request, pending: pending, with: reply, in: adapterContext)
        }
        guard case .done(let result) = step else {
            throw CredentialError(.internalFault, "a sign-in that ended without a result")
        }
        return result
    }

    /// Whether this process can listen at a redirect URI.
    static func isLoopback(_ redirect: WebAddress) -> Bool { redirect.scheme == "http" && redirect.isLoopback }

    private func perform(
        _ interaction: Interaction, _ receiver: (any RedirectReceiver)?, _ type: AccountType, isFirst: Bool,
        before deadline: Instant?
    ) throws(CredentialError) -> InteractionReply {
        switch interaction {
        case .openURL(let address, let state):
            session.notices.say(
                isFirst ? "Open this address to sign in:" : "The sign-in has a further page. Open this address:")
            session.notices.say("  \(address)")
            if opensBrowser { Browser.open(address, session) }
            guard let receiver else {
                noteHandler(type)
                return .redirect(try paste(type))
            }
            return .redirect(
                try wait(receiver, state, formOrigin: type.responseMode == .formPost ? address.origin : nil))
        case .showCode(_, _, _, let interval, let expires):
            let now = session.context.clock.now
            guard now < expires else {
                throw CredentialError(.denied, "the code was not entered in time", hint: "run the command again")
            }
            // Another question to the provider would come too late.
            if let deadline, now.adding(Int64(interval)) > deadline {
                throw CredentialError(
                    .signInRequired, "the code was not entered within the time of --timeout",
                    hint: "run the command again, with more time")
            }
            session.context.programs.pause(seconds: interval)
            return .poll
        case .ask(let prompt, let isSecret):
            return .text(try ask(prompt, isSecret: isSecret))
        }
    }

    // MARK: Browser

    private func wait(
        _ receiver: any RedirectReceiver, _ state: String, formOrigin: String?
    ) throws(CredentialError) -> String {
        try receiver.wait(
            seconds: session.options.timeout ?? Self.patience, formOrigin: formOrigin
        ) { url in RedirectState.isPresent(state, in: url) }
    }

    /// A private scheme (RFC 8252 §7.1) needs no pasting where the desktop brings it back.
    private func noteHandler(_ type: AccountType) {
        guard let redirect = type.redirectURI.flatMap(WebAddress.init), !redirect.isWeb, redirect.scheme != "urn"
        else { return }
        session.notices.note(
            "with a handler for it nothing has to be pasted: xdg-mime default credmgr-redirect.desktop "
                + "x-scheme-handler/\(redirect.scheme), then credmgr login --type \(type.name) --print-url")
    }

    // MARK: Paste

    /// For a redirect that no browser on Linux can follow to us: the user brings it.
    private func paste(_ type: AccountType) throws(CredentialError) -> String {
        if session.mayAsk {
            return try console.ask(
                "Then paste the address the browser ended at, or the code: ", isSecret: false
            ).reveal()
        }
        session.notices.say(
            "Then give the address the browser ended at, or the code, as one line of standard input.")
        guard let line = try console.readInputLine(), !line.isEmpty else {
            throw CredentialError(
                .signInRequired, "no redirected address on standard input",
                hint: "credmgr login --type \(type.name) --print-url, then credmgr login --complete URL")
        }
        return line
    }

    // MARK: Question

    /// What a person enters, or one line of standard input where that is no terminal.
    private func ask(_ prompt: String, isSecret: Bool) throws(CredentialError) -> Secret {
        // The space at the end of a prompt is lost when it is made safe to show.
        if session.mayAsk { return try console.ask(ForeignText.shown(prompt) + " ", isSecret: isSecret) }
        guard let line = try console.readInputLine(), !line.isEmpty else {
            throw CredentialError(
                .signInRequired, "the sign-in asks for an answer, and there is nobody to give it",
                hint: "run it in a terminal without --no-input, or give the answer as a line of standard input")
        }
        return Secret(line)
    }
}
