import CredentialCore

/// Judges the requests of a ``RedirectListener``, keeps the one that is accepted, and answers it when its outcome
/// is known.
final class RedirectHandler: Sendable {
    /// The outcome of a redirect.
    struct Outcome: Sendable {
        let title: LocalizedMessage
        let text: LocalizedMessage
    }

    private struct State {
        var port: UInt16?
        var accepts: (@Sendable (String) -> Bool)?
        var formPostOrigins: [String] = []
        /// The redirect that was accepted last, and its outcome.
        var received: String?
        var outcome: Outcome?
        /// How many browsers wait for the outcome.
        var readers = 0
        /// The redirects that were accepted before; the browser may load them again.
        var finished: Set<String> = []
        var strangers: Set<UInt32?> = []
        var isOver = false
    }

    /// How long a request waits for the program to register the expected redirect and its outcome: a silent sign-in
    /// may be faster.
    private static let patience = 10

    private let path: String
    private let host: String
    private let pages: RedirectPages
    private let takes: @Sendable (UInt32?) -> Bool
    private let stranger: @Sendable (UInt32?) -> Void
    /// The page for each redirect after the sign-in has ended; `nil` while a sign-in waits.
    private let last: Outcome?
    private let state = Monitor(State())

    init(
        path: String, host: String, nonce: String, translations: any Translations,
        takes: @escaping @Sendable (UInt32?) -> Bool,
        stranger: @escaping @Sendable (UInt32?) -> Void, last: Outcome? = nil
    ) {
        self.last = last
        self.path = path
        self.host = host
        pages = RedirectPages(translations: translations, nonce: nonce)
        self.takes = takes
        self.stranger = stranger
    }

    func open(port: UInt16) { state.withLock { $0.port = port } }

    func wait(
        seconds: Int, _ formPostOrigins: [String], accepts: @escaping @Sendable (String) -> Bool
    ) -> String? {
        state.withLock {
            $0.formPostOrigins = formPostOrigins
            $0.accepts = accepts
            ($0.received, $0.outcome) = (nil, nil)
        }
        // A redirect that comes before the next wait must not be judged by this one's state.
        defer { state.withLock { $0.accepts = nil } }
        let ended: String?? = state.wait(seconds: seconds) { state in
            // A call that stops listening ends the wait too.
            state.received.map { .some(.some($0)) } ?? (state.isOver ? .some(.none) : nil)
        }
        return ended ?? nil
    }

    func show(_ outcome: Outcome) { state.withLock { if $0.received != nil { $0.outcome = outcome } } }

    /// Lets those go who still wait for an outcome.
    func end() { state.withLock { $0.isOver = true } }

    /// Waits until no browser is being answered any more.
    func settle(seconds: Int) { _ = state.wait(seconds: seconds) { $0.readers == 0 ? true : nil } }

    func answer(_ request: ServerRequest) -> ServerResponse {
        guard let port = state.wait(seconds: Self.patience, for: { $0.port }) else { return refusal(503) }
        let authority = "\(host):\(port)"
        // A page whose host name was pointed at the loopback (DNS rebinding) sends its own name here.
        guard let named = request.value(of: "host"), ConstantTime.equal(named.lowercased(), authority) else {
            return refusal(421)
        }
        guard ConstantTime.equal(request.path, path) else { return refusal(404) }
        guard Self.isNavigation(request) else { return refusal(403) }
        if let last { return repeated(last, to: request) }
        let origins = request.values(of: "origin")
        switch request.method {
        case "GET":
            guard origins.allSatisfy({ $0 == "http://" + authority }) else { return refusal(403) }
            guard let query = request.query, !query.isEmpty else {
                return pages.fragment.response(
                    200, formTargets: "'self'", referrerPolicy: "same-origin")
            }
            return judge(query, request, authority)
        case "POST":
            // The origins that may post are known when the program registers the expected redirect.
            let formPostOrigins = state.wait(seconds: Self.patience) {
                $0.accepts == nil ? nil : $0.formPostOrigins
            }
            guard let formPostOrigins else { return refusal(503) }
            // A provider whose page forbids referrers sends the origin `null`.
            let allowed = ["http://" + authority] + formPostOrigins + (formPostOrigins.isEmpty ? [] : ["null"])
            guard origins.allSatisfy(allowed.contains) else { return refusal(403) }
            guard request.mediaType == "application/x-www-form-urlencoded" else { return refusal(415) }
            return judge(String(decoding: request.body, as: UTF8.self), request, authority)
        default:
            var refusal = refusal(405)
            refusal.headers.append(("Allow", "GET, POST"))
            return refusal
        }
    }

    /// The outcome of a sign-in that is over, for the programs that may bring its redirect. The request has no
    /// effect, so no part of it is judged.
    private func repeated(_ outcome: Outcome, to request: ServerRequest) -> ServerResponse {
        guard takes(request.peer?.owner()) else { return refusal(403) }
        return pages.outcome(outcome).response(200)
    }

    /// Whether the request is a top-level navigation. Another page can make the browser load the redirect as an
    /// image, a frame or a prefetch, without the person's knowledge. A browser shows that in `Sec-Fetch-Mode`,
    /// `Sec-Fetch-Dest` (Fetch Metadata) and `Sec-Purpose`; a request without these fields comes from a program or
    /// an old browser.
    private static func isNavigation(_ request: ServerRequest) -> Bool {
        request.values(of: "sec-fetch-mode").allSatisfy { $0 == "navigate" }
            && request.values(of: "sec-fetch-dest").allSatisfy { $0 == "document" }
            && request.values(of: "sec-purpose").isEmpty
    }

    /// The parameters of a redirect without the characters that a URL cannot have. A provider's words for a person
    /// may come as they are, and are escaped.
    ///
    /// - Returns: `nil` when a parameter that decides anything holds such a character.
    private static func escaped(_ answer: String) -> String? {
        func mayStand(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "#") }
        if answer.utf8.allSatisfy(mayStand) { return answer }
        var pairs: [String] = []
        for pair in answer.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let name = String(decoding: pair.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            guard pair.allSatisfy(mayStand) || !["code", "state", "iss"].contains(name) else { return nil }
            let bytes = pair.flatMap { byte -> [UInt8] in
                guard !mayStand(byte) else { return [byte] }
                let digits = Array("0123456789ABCDEF".utf8)
                return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
            pairs.append(String(decoding: bytes, as: UTF8.self))
        }
        return pairs.joined(separator: "&")
    }

    private func judge(_ answer: String, _ request: ServerRequest, _ authority: String) -> ServerResponse {
        guard let answer = Self.escaped(answer) else { return refusal(400) }
        let url = "http://\(authority)\(path)?\(answer)"
        let isAgain = state.withLock { state in
            let isAgain = state.finished.contains(url)
            if isAgain { state.readers += 1 }
            return isAgain
        }
        if isAgain { return outcome(of: url) }
        guard let accepts = state.wait(seconds: Self.patience, for: { $0.accepts }) else { return refusal(503) }
        guard accepts(url) else { return refusal(400) }
        // Asked while the browser waits for its page: the connection is still open.
        let owner = request.peer?.owner()
        guard takes(owner) else {
            if state.withLock({ $0.strangers.insert(owner).inserted }) { stranger(owner) }
            return pages.stranger(owner).response(403)
        }
        state.withLock { state in
            state.finished.insert(url)
            state.received = state.received ?? url
            // Counted before anybody knows of the redirect: who shows the outcome waits for this one.
            state.readers += 1
        }
        return outcome(of: url)
    }

    /// The page that shows the outcome of a redirect, once that is known, for a request that is counted among the
    /// readers.
    private func outcome(of url: String) -> ServerResponse {
        _ = state.wait(seconds: Self.patience) {
            $0.outcome != nil || $0.received != url || $0.isOver ? true : nil
        }
        let outcome = state.withLock { $0.received == url ? $0.outcome : nil }
        return pages.outcome(outcome).response(200) {
            self.state.withLock { $0.readers -= 1 }
        }
    }

    private func refusal(_ status: Int) -> ServerResponse { pages.unexpected.response(status) }
}
