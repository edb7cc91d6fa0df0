/// The settings that the command and the library each add to the machine: questions to the user, and reports.
package struct AccountPolicy: Sendable {
    /// Whether the desktop may ask the user to unlock a keyring.
    package var mayPrompt: Bool
    /// Asks the user for a passphrase; `nil` if no user can be asked.
    package var ask: (@Sendable (_ prompt: LocalizedMessage) throws(CredentialError) -> Secret)?
    /// Does short work before a prompt, so that early input is not shown.
    package var unseen: @Sendable (_ work: () throws(CredentialError) -> Void) throws(CredentialError) -> Void = {
        work throws(CredentialError) in try work()
    }
    /// The passphrase of the encrypted file, if the program has its own; `nil` to look in the user's configured
    /// place.
    package var passphrase: (@Sendable () throws(CredentialError) -> Secret?)?
    /// How long the desktop's question is waited for, in seconds.
    package var promptSeconds: Int
    /// How long to wait for a peer's refresh, in seconds; `nil` for the value of `config.json`.
    package var lockWait: Int?
    /// How many seconds a request may take at most; `nil` for the usual limits.
    package var timeout: Int?
    /// The process that does a refresh.
    package var refreshes: Refreshes
    /// Called when a store waits for another program's answer and this one has time for something else.
    package var whileWaiting: @Sendable () -> Void
    /// Receives warnings for the user.
    package var warn: @Sendable (LocalizedMessage) -> Void
    /// Takes a fact for `--verbose`; never a secret.
    package var note: @Sendable (String) -> Void
    /// Shows work that takes long.
    package var waiting: any ProgressDisplay

    /// Has one type's sign-in vouch for another's; `nil` if that is not available.
    package var vouch: ClientSecretResolver.IdentityVouching?

    /// The process that does a refresh.
    package enum Refreshes: Sendable {
        /// This process.
        case here
        /// A process of its own, which lives on when this one is killed.
        case worker
    }

    /// Makes a policy without prompts.
    package init(
        mayPrompt: Bool = false,
        ask: (@Sendable (_ prompt: LocalizedMessage) throws(CredentialError) -> Secret)? = nil,
        passphrase: (@Sendable () throws(CredentialError) -> Secret?)? = nil, promptSeconds: Int = 0,
        lockWait: Int? = nil, timeout: Int? = nil, refreshes: Refreshes = .here,
        whileWaiting: @escaping @Sendable () -> Void = {},
        warn: @escaping @Sendable (LocalizedMessage) -> Void = { _ in },
        note: @escaping @Sendable (String) -> Void = { _ in }, waiting: any ProgressDisplay = NoWaitingDisplay()
    ) {
        self.mayPrompt = mayPrompt
        self.ask = ask
        self.passphrase = passphrase
        self.promptSeconds = promptSeconds
        self.lockWait = lockWait
        self.timeout = timeout
        self.refreshes = refreshes
        self.whileWaiting = whileWaiting
        self.warn = warn
        self.note = note
        self.waiting = waiting
    }

    /// Whether a passphrase that opened the encrypted file is kept for later calls; the user's word on caches.
    package internal(set) var keepsKeys = false
}
