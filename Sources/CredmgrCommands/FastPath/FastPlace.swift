package import CredentialCore

/// The few things outside that the fast path looks at: all that decides which token a call means, and the cache.
package struct FastPlace: Sendable {
    /// The folder that accounts and locks are kept under.
    package var dataHome: String
    /// The folders that type definitions are looked up in, the user's own first.
    package var typeFolders: [String]
    /// The file `config.json`.
    package var configurationFile: String
    /// Gives an environment variable.
    package var variable: @Sendable (String) -> String?
    /// The cache of access tokens.
    package var tokenCache: any AccessTokenCache
    /// The state of files.
    package var fileStates: any FileStates
    /// The clock.
    package var clock: any WallClock

    /// Makes a place.
    package init(
        dataHome: String, typeFolders: [String], configurationFile: String,
        variable: @escaping @Sendable (String) -> String?, tokenCache: any AccessTokenCache,
        fileStates: any FileStates, clock: any WallClock
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

extension CommandContext {
    /// The same things, as the slower path has them.
    var fastPlace: FastPlace {
        FastPlace(
            dataHome: dataHome, typeFolders: typeFolders, configurationFile: configurationFile,
            variable: { [environment] in environment[$0] }, tokenCache: tokenCache, fileStates: fileStates,
            clock: clock)
    }
}
