public import CredentialCore

extension AccountStore {
    /// Opens a URL for a person: in a window of the program, or however it likes. A program that shows a window of
    /// its own may return when the window is closed; throwing ends the sign-in.
    public typealias URLOpener = @Sendable (_ url: String) async throws -> Void

    /// How a store is opened.
    public struct Options: Sendable {
        /// The keychain group, in place of each type's own.
        public var group: KeychainGroup?
        /// The store for secrets of new accounts; `nil` for the Secret Service if it answers, else the encrypted
        /// file.
        public var store: StoreKind?
        /// Whether the desktop may ask the user to unlock the keyring, in calls that are `async`.
        public var mayPrompt = true
        /// How long to wait for another process's refresh, in seconds.
        public var lockWait = 60
        /// How long a person may take in the browser, in seconds.
        public var patience = 300
        /// Opens the page of a sign-in that names no opener of its own; `nil` for the user's browser.
        public var openURL: URLOpener?
        /// Asks a person for a line of text, as some plugins want it: the prompt, and whether the answer is secret.
        public var ask: (@Sendable (_ prompt: String, _ isSecret: Bool) async throws -> Secret)?
        /// Adapters in addition to the built-in `azure-b2c` and `oauth2` and the external ones that are installed.
        public var adapters: [any CredentialAdapter] = []
        /// The path of the `credmgr` that runs plugins, confined, and that refreshes tokens in a process of its
        /// own; `nil` for the one that is installed in `/usr/local` or `/usr`. Without such a program, plugins are
        /// refused, and tokens are refreshed in this process. A process that is killed between a provider's
        /// response and its storage loses a grant whose refresh token is already used.
        public var program: String?
        /// The passphrase of the encrypted file, if it has one.
        public var passphrase: @Sendable () throws(CredentialError) -> Secret? = { () throws(CredentialError) in nil
        }
        /// The ID that finds this program's requests in the provider's logs, a UUID: ADAL's `correlationId`; `nil`
        /// to make one for each. The IDs in use are passed to ``note``.
        public var correlationID: String?
        /// Receives warnings for the user.
        public var warn: @Sendable (String) -> Void = { _ in }
        /// Takes a fact for a log, such as the id of a request at the provider; never a secret.
        public var note: @Sendable (String) -> Void = { _ in }

        /// Makes the standard options.
        public init() {}
    }
}
