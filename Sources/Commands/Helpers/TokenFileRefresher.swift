import CredentialCore
import FastToken
import OAuth
import Platform
import Synchronization

/// Keeps a file with a valid token, while a program runs or until it is stopped.
final class TokenFileRefresher: Sendable {
    /// The file.
    var path: String { file.path }

    /// The exit statuses of failures that may pass by the next time: no network; a keyring that is locked with the
    /// screen.
    static let passing = [ErrorCode.temporary, .storeLocked].map(\.exitStatus)

    private let session: CommandSession
    private let query: TokenQuery
    private let source: Source
    private let file: any PrivateFile
    private let format: TokenFormat
    private let endsLine: Bool
    private let isWithdrawn: Bool
    private let state = Mutex(State())

    private struct State {
        var token: AccessToken?
        var hasEnded = false
        /// Whether a worker may be refreshing.
        var isRefreshing = false
        /// Whether the token has ended, and the file is gone till there is another.
        var isGone = false
    }

    /// Returns a token for a query, and how it is shown.
    typealias Source =
        @Sendable (TokenQuery, MemoizedCall?) throws(CredentialError) -> (
            answer: TokenService.Answer, shown: TokenOutput
        )

    /// Makes a keeper of an account's token.
    ///
    /// - Parameters: as of ``init(_:_:from:file:format:endsLine:isWithdrawn:)``.
    convenience init(
        _ session: CommandSession, _ query: TokenQuery, _ target: Target, file: any PrivateFile,
        format: TokenFormat = .token, endsLine: Bool = true, isWithdrawn: Bool = false
    ) {
        let source: Source = { query, call throws(CredentialError) in
            let answer = try TokenAcquirer(session).token(query, target, for: call)
            return (answer, try TokenOutput(answer, target, wantsIDToken: query.wantsIDToken))
        }
        self.init(
            session, query, from: source, file: file, format: format, endsLine: endsLine, isWithdrawn: isWithdrawn)
    }

    /// Makes a keeper.
    ///
    /// - Parameters:
    ///   - source: returns a token for a query.
    ///   - format: the form of the token in the file.
    ///   - endsLine: whether a newline ends it there: some programs take that for a part of the token.
    ///   - isWithdrawn: whether the file is withdrawn at the token's end, if there is no other by then.
    init(
        _ session: CommandSession, _ query: TokenQuery, from source: @escaping Source, file: any PrivateFile,
        format: TokenFormat = .token, endsLine: Bool = true, isWithdrawn: Bool = false
    ) {
        self.format = format
        self.endsLine = endsLine
        self.isWithdrawn = isWithdrawn
        self.session = session
        self.query = query
        self.source = source
        self.file = file
    }

    /// Gets the first token, writes the file and returns the token as it is shown, without a newline.
    ///
    /// - Parameters:
    ///   - isForEnvironment: whether it also goes to a place in which it cannot be refreshed:
    ///     ``Freshness/whereKept(_:)``.
    ///   - call: the call, if it is of a form that the small program answers the next time.
    /// - Throws: the errors of `token`; ``ErrorCode/inputOutput``.
    func start(isForEnvironment: Bool = false, for call: MemoizedCall? = nil) throws(CredentialError) -> String {
        var first = try fetch(query, call)
        TokenAcquirer(session).tell(first.answer)
        var longer = query
        longer.freshness = query.freshness.whereKept(first.token)
        if isForEnvironment, first.answer.failure == nil, longer.freshness != query.freshness,
            !longer.freshness.allows(first.token, now: session.context.clock.now)
        {
            first = try fetch(longer, call)
            // The user did not ask for this lifetime, so the warning about shorter-lived tokens is dropped.
            let query = longer.freshness.minimumValidity.map(TokenService.Request.shortLife)
            first.answer.warnings.removeAll { $0 == query }
            TokenAcquirer(session).tell(first.answer)
        }
        try put(first.token, first.text)
        return first.text
    }

    /// Refreshes the token whenever it is about to end, till ``end()``; at once if another program has written the
    /// first one into the file. An error is reported once; network errors and a store that does not open are
    /// retried, less and less often; a lost sign-in is not.
    ///
    /// - Returns: the reason why no refresh is possible any more; `nil` after ``end()``.
    func keep() -> CredentialError? {
        var told: String?
        // The user's permission to take over does not apply to a refresh that begins later.
        var query = query
        query.takesOver = false
        var pause: Int64 = state.withLock { $0.token } == nil ? 0 : 1
        while true {
            let state = state.withLock { $0 }
            if state.hasEnded { return nil }
            let freshness = state.token.map(query.freshness.early) ?? query.freshness
            session.context.programs.pause(seconds: Int(wait(state, freshness, atLeast: pause)))
            if let token = state.token, freshness.allows(token, now: session.context.clock.now) { continue }
            withdrawEnded()
            pause = min(max(1, 2 * pause), Freshness.longestPause)
            do throws(CredentialError) {
                var early = query
                early.freshness = freshness
                guard let next = try refreshed(early) else { return nil }
                try put(next.token, next.text)
                // If a refresh fails, the old token is returned again until it expires.
                if let failure = next.answer.failure { throw failure }
                told = nil
                if query.freshness.allows(next.token, now: session.context.clock.now) { pause = 1 }
            } catch {
                if error.message != told { session.notices.warning("cannot refresh the token: \(error)") }
                told = error.message
                withdrawEnded()
                if !Self.passing.contains(error.code.exitStatus) { return error }
            }
        }
    }

    /// The seconds till the next look: not past the token's end, if the file is to be withdrawn then.
    private func wait(_ state: State, _ freshness: Freshness, atLeast pause: Int64) -> Int64 {
        let now = session.context.clock.now
        let left = state.token.map { freshness.secondsLeft(of: $0, now: now) } ?? 0
        let wait = min(max(left, pause), Freshness.longestPause)
        guard isWithdrawn, !state.isGone, let token = state.token else { return wait }
        return min(wait, max(0, token.expiresAt.seconds(since: now)))
    }

    /// Whether a refresh is under way.
    var isRefreshing: Bool { state.withLock(\.isRefreshing) }

    /// As ``fetchInTime(_:)``; `nil` after ``end()``.
    private func refreshed(_ query: TokenQuery) throws(CredentialError) -> Fetched? {
        let begins = state.withLock { state in
            state.isRefreshing = !state.hasEnded
            return state.isRefreshing
        }
        guard begins else { return nil }
        defer { state.withLock { $0.isRefreshing = false } }
        return try fetchInTime(query)
    }

    /// As ``fetch(_:_:)``, but that the file is withdrawn at the token's end, however long the provider lets us
    /// wait.
    private func fetchInTime(_ query: TokenQuery) throws(CredentialError) -> Fetched {
        let state = state.withLock { $0 }
        guard isWithdrawn, !state.isGone, let token = state.token else { return try fetch(query) }
        let call = try ThreadTask { [self] () throws(CredentialError) in try fetch(query) }
        while true {
            let left = max(1, token.expiresAt.seconds(since: session.context.clock.now))
            if let result = call.result(until: Deadline(milliseconds: Int32(clamping: left * 1_000))) {
                return try result.get()
            }
            withdrawEnded()
        }
    }

    /// Withdraws the file of a token that has ended, and reports it.
    private func withdrawEnded() {
        guard isWithdrawn else { return }
        let now = session.context.clock.now
        let failure: Result<Void, CredentialError>? = state.withLock { state in
            guard !state.hasEnded, !state.isGone, let token = state.token, token.expiresAt <= now else {
                return nil
            }
            state.isGone = true
            return Result { () throws(CredentialError) in try file.withdraw() }
        }
        switch failure {
        case nil: return
        case .success?:
            session.notices.warning(
                "the token in \(UntrustedText.shown(path)) has expired: credmgr removed the file until it gets a "
                    + "new token")
        case .failure(let error)?:
            session.notices.warning("the token in \(UntrustedText.shown(path)) has expired: \(error)")
        }
    }

    /// Removes the file; from here on the keeper writes no file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func end() throws(CredentialError) {
        try state.withLock { (state) throws(CredentialError) in
            state.hasEnded = true
            try file.remove()
        }
    }

    private typealias Fetched = (token: AccessToken, text: String, answer: TokenService.Answer)

    private func fetch(
        _ query: TokenQuery, _ call: MemoizedCall? = nil
    ) throws(CredentialError) -> Fetched {
        let (answer, shown) = try source(query, call)
        var token = answer.token
        // The written tokens determine how long the file is valid: of an ID token, its own life; as JSON both.
        if let idToken = shown.idToken, format != .json || idToken.expiresAt < token.expiresAt {
            token.expiresAt = idToken.expiresAt
            token.issuedAt = try StoredIDToken(idToken.token).issuedAt ?? token.issuedAt
        }
        return (token, String(decoding: try shown.bytes(as: format).dropLast(), as: UTF8.self), answer)
    }

    private func put(_ token: AccessToken, _ text: String) throws(CredentialError) {
        try state.withLock { (state) throws(CredentialError) in
            if state.hasEnded { return }
            try file.write(Array(text.utf8) + (endsLine ? [UInt8(ascii: "\n")] : []))
            state.token = token
            state.isGone = false
        }
    }
}
