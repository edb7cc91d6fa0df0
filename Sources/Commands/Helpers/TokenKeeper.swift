import CredentialCore
import FastToken
import Platform
import Synchronization

/// Keeps a file with a valid token, while a program runs or until it is stopped.
final class TokenKeeper: Sendable {
    /// The file.
    var path: String { file.path }

    /// The exit statuses of what may be over the next time: no network; a keyring that is locked with the screen.
    static let passing = [ErrorCode.temporary, .storeLocked].map(\.exitStatus)

    private let session: Session
    private let query: TokenQuery
    private let target: Target
    private let file: any PrivateFile
    private let format: TokenFormat
    private let endsLine: Bool
    private let state = Mutex(State())

    private struct State {
        var token: AccessToken?
        var hasEnded = false
    }

    /// Makes a keeper.
    ///
    /// - Parameters:
    ///   - format: how the token stands in the file.
    ///   - endsLine: whether a newline ends it there: some programs take that for a part of the token.
    init(
        _ session: Session, _ query: TokenQuery, _ target: Target, file: any PrivateFile,
        format: TokenFormat = .token, endsLine: Bool = true
    ) {
        self.format = format
        self.endsLine = endsLine
        self.session = session
        self.query = query
        self.target = target
        self.file = file
    }

    /// Gets the first token, writes the file and returns the token as it is shown, without a newline.
    ///
    /// - Parameters:
    ///   - isForEnvironment: whether it also goes where it cannot be refreshed: ``Freshness/whereKept(_:)``.
    ///   - call: the call, where it is of a form that the small program answers the next time.
    /// - Throws: what `token` throws; ``ErrorCode/inputOutput``.
    func start(isForEnvironment: Bool = false, for call: RememberedCall? = nil) throws(CredentialError) -> String {
        var first = try fetch(query, call)
        TokenAccess(session).tell(first.answer)
        var longer = query
        longer.freshness = query.freshness.whereKept(first.token)
        if isForEnvironment, first.answer.failure == nil, longer.freshness != query.freshness,
            !longer.freshness.allows(first.token, now: session.context.clock.now)
        {
            first = try fetch(longer, call)
            // That the provider's tokens live no longer than that is nobody's wish.
            let wanted = longer.freshness.minimumValidity.map(TokenService.Request.shortLife)
            first.answer.warnings.removeAll { $0 == wanted }
            TokenAccess(session).tell(first.answer)
        }
        try put(first.token, first.text)
        return first.text
    }

    /// Refreshes the token whenever it is about to end, till ``end()``; at once where another program has put the first one
    /// into the file. What goes wrong is told once; network trouble and a store that does not open are tried again, less and
    /// less often; a lost sign-in is not.
    ///
    /// - Returns: why there is nothing to refresh any more; `nil` after ``end()``.
    func keep() -> CredentialError? {
        var told: String?
        // What a person knows now says nothing of a refresh that begins later.
        var query = query
        query.takesOver = false
        var pause: Int64 = state.withLock { $0.token } == nil ? 0 : 1
        while true {
            let (token, hasEnded) = state.withLock { ($0.token, $0.hasEnded) }
            if hasEnded { return nil }
            let left = token.map { query.freshness.secondsLeft(of: $0, now: session.context.clock.now) } ?? 0
            session.context.programs.pause(seconds: Int(min(max(left, pause), Freshness.longestPause)))
            if let token, query.freshness.allows(token, now: session.context.clock.now) { continue }
            pause = min(max(1, 2 * pause), Freshness.longestPause)
            do throws(CredentialError) {
                let next = try fetch(query)
                try put(next.token, next.text)
                // Where a refresh fails, the old token is given again as long as it lives.
                if let failure = next.answer.failure { throw failure }
                told = nil
                if query.freshness.allows(next.token, now: session.context.clock.now) { pause = 1 }
            } catch {
                if error.message != told { session.notices.warning("the token is not refreshed: \(error)") }
                told = error.message
                if !Self.passing.contains(error.code.exitStatus) { return error }
            }
        }
    }

    /// Removes the file; from here on none is written.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func end() throws(CredentialError) {
        try state.withLock { (state) throws(CredentialError) in
            state.hasEnded = true
            try file.remove()
        }
    }

    private func fetch(
        _ query: TokenQuery, _ call: RememberedCall? = nil
    ) throws(CredentialError) -> (token: AccessToken, text: String, answer: TokenService.Answer) {
        let answer = try TokenAccess(session).token(query, target, for: call)
        let shown = try TokenPresentation(answer, target, wantsIDToken: query.wantsIDToken)
        var token = answer.token
        token.expiresAt = min(token.expiresAt, shown.bearerExpiresAt)
        return (token, String(decoding: try shown.bytes(as: format).dropLast(), as: UTF8.self), answer)
    }

    private func put(_ token: AccessToken, _ text: String) throws(CredentialError) {
        try state.withLock { (state) throws(CredentialError) in
            if state.hasEnded { return }
            try file.write(Array(text.utf8) + (endsLine ? [UInt8(ascii: "\n")] : []))
            state.token = token
        }
    }
}
