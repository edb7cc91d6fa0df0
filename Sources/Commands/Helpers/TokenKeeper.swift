import CredentialCore
import FastToken
import Platform
import Synchronization

/// Keeps a file with a valid token, while a program runs or until it is stopped.
final class TokenKeeper: Sendable {
    /// The file.
    var path: String { file.path }

    /// How long to sleep at most between two looks at the clock, in seconds: a suspended machine counts no sleep.
    private static let longestPause: Int64 = 30
    /// The exit statuses of what may be over the next time: no network; a keyring that is locked with the screen.
    private static let passing = [ErrorCode.temporary, .storeLocked].map(\.exitStatus)

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
    /// - Parameter isForEnvironment: whether it also goes where it cannot be refreshed: then it is to live for five minutes
    ///   more, or half of its life where that is less.
    /// - Throws: what `token` throws; ``ErrorCode/inputOutput``.
    func start(isForEnvironment: Bool = false) throws(CredentialError) -> String {
        var (token, text) = try fetch(query)
        let wanted = min(Self.environmentValidity, token.expiresAt.seconds(since: token.issuedAt) / 2)
        if isForEnvironment, token.expiresAt.seconds(since: session.context.clock.now) < wanted,
            query.freshness.minimumValidity ?? 0 < wanted
        {
            var longer = query
            longer.freshness = Freshness(minimumValidity: wanted)
            (token, text) = try fetch(longer)
        }
        try put(token, text)
        return text
    }

    private static let environmentValidity: Int64 = 300

    /// Refreshes the token whenever it is about to end, till ``end()``. What goes wrong is told once; network trouble and a
    /// store that does not open are tried again, less and less often; a lost sign-in is not.
    ///
    /// - Returns: why there is nothing to refresh any more; `nil` after ``end()``.
    func keep() -> CredentialError? {
        var told: String?
        var pause: Int64 = 1
        while let token = state.withLock({ $0.hasEnded ? nil : $0.token }) {
            let left = token.expiresAt.seconds(since: session.context.clock.now) - margin(of: token)
            session.context.programs.pause(seconds: Int(min(max(left, pause), Self.longestPause)))
            guard !query.freshness.allows(token, now: session.context.clock.now) else { continue }
            pause = min(2 * pause, Self.longestPause)
            do throws(CredentialError) {
                let (next, text) = try fetch(query)
                try put(next, text)
                told = nil
                // Where a refresh fails, the old token is given again as long as it lives.
                if query.freshness.allows(next, now: session.context.clock.now) { pause = 1 }
            } catch {
                if error.message != told { session.notices.warning("the token is not refreshed: \(error)") }
                told = error.message
                if !Self.passing.contains(error.code.exitStatus) { return error }
            }
        }
        return nil
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

    private func margin(of token: AccessToken) -> Int64 {
        query.freshness.margin(lifetime: token.expiresAt.seconds(since: token.issuedAt))
    }

    private func fetch(_ query: TokenQuery) throws(CredentialError) -> (AccessToken, String) {
        let answer = try TokenAccess(session).token(query, target)
        let shown = try TokenPresentation(answer, target, wantsIDToken: query.wantsIDToken)
        var token = answer.token
        token.expiresAt = min(token.expiresAt, shown.bearerExpiresAt)
        return (token, String(decoding: try shown.bytes(as: format).dropLast(), as: UTF8.self))
    }

    private func put(_ token: AccessToken, _ text: String) throws(CredentialError) {
        try state.withLock { (state) throws(CredentialError) in
            if state.hasEnded { return }
            try file.write(Array(text.utf8) + (endsLine ? [UInt8(ascii: "\n")] : []))
            state.token = token
        }
    }
}
