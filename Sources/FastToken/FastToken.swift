package import CredentialCore

/// `credmgr token`, `kubernetes` and `git-credential get`, answered from the cache before anything else of the
/// program is made: without D-Bus, libsecret, libcurl or libcrypto. For `exec` the small program has its token from
/// here, too.
///
/// There are no dictionaries and no sets on this way: the first one makes the Swift runtime search every
/// conformance of the program, which costs as much as all the rest.
package enum FastToken {
    /// The most that git says, in bytes: it is some lines.
    package static let messageLimit = 1 << 20

    /// Returns the text to print, if the call is a plain one that prints and the cache has the token.
    ///
    /// - Parameters:
    ///   - words: the words behind the program's name.
    ///   - message: gives git's message; read only if git asks, and before there is a place.
    ///   - place: made only for a plain call.
    package static func answer(
        _ words: [String], message: () -> [UInt8]?, in place: () -> FastPathEnvironment?
    ) -> [UInt8]? {
        guard var call = FastPathArguments(words), call.program == nil else { return nil }
        if case .git = call.words.asker {
            guard let message = message() else { return nil }
            call.words.asker = .git(message: message)
        }
        guard let place = place(), let cached = cached(call, in: place) else { return nil }
        let presentation = cached.presentation
        return switch call.words.asker {
        case .caller: try? presentation.bytes(as: call.format)
        case .kubectl:
            try? presentation.bytes(as: .execCredential, execInfo: place.variable(ExecCredential.variable))
        case .git: try? presentation.gitCredential(username: cached.memo.gitUsername)
        }
    }

    /// The token of a plain call, if the cache has it and it is fresh enough.
    package static func cached(_ call: FastPathArguments, in place: FastPathEnvironment) -> CachedToken? {
        // At a broker's socket the cache of this machine does not apply.
        guard BrokerClient.path(place.variable) == nil, let memo = ResolvedCall.read(call.words, place),
            let token = TokenCache(place.tokenCache, files: place.fileStates, dataFolder: place.dataHome).token(
                TokenRequestKey(policy: memo.policy, scope: []), named: memo.key, of: memo.account.id,
                in: memo.group),
            call.freshness.allows(token, now: place.clock.now)
        else { return nil }
        return CachedToken(token: token, memo: memo)
    }
}

/// A token that the cache has for a call.
package struct CachedToken: Sendable {
    /// The token.
    package let token: AccessToken
    /// Which one it is.
    package let memo: ResolvedCall

    /// The facts that are printed about the token.
    package var presentation: TokenOutput {
        var output = TokenOutput(
            accessToken: token.token, tokenType: token.tokenType, expiresAt: token.expiresAt, scope: token.scope,
            policy: memo.policy.isEmpty ? nil : memo.policy, accountID: memo.account.id,
            accountType: memo.account.type, username: memo.account.username, refreshed: false)
        output.isEndGuessed = token.isEndGuessed
        return output
    }
}

/// The few things outside that the fast path looks at: all that decides which token a call means, and the cache.
package struct FastPathEnvironment: Sendable {
    /// The folder that accounts and locks are kept under.
    package var dataHome: String
    /// The folders that type definitions are looked up in, the user's own first.
    package var typeFolders: [String]
    /// The file `config.json`.
    package var configurationFile: String
    /// Gives an environment variable.
    package var variable: @Sendable (String) -> String?
    /// The cache of access tokens.
    package var tokenCache: AnyAccessTokenCache
    /// The state of files.
    package var fileStates: AnyFileStates
    /// The clock.
    package var clock: AnyWallClock

    /// Makes a place.
    package init(
        dataHome: String, typeFolders: [String], configurationFile: String,
        variable: @escaping @Sendable (String) -> String?, tokenCache: AnyAccessTokenCache,
        fileStates: AnyFileStates, clock: AnyWallClock
    ) {
        self.dataHome = dataHome
        self.typeFolders = typeFolders
        self.configurationFile = configurationFile
        self.variable = variable
        self.tokenCache = tokenCache
        self.fileStates = fileStates
        self.clock = clock
    }
}
