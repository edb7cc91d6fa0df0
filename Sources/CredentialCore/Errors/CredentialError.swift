/// The one error of the product: a stable code, a sentence that names the failure and its place, and, if one helps,
/// the next command to run.
public struct CredentialError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable code; it decides the exit status.
    public let code: ErrorCode
    /// The description of the failure: lower case, no full stop, never a secret. Foreign text in it has gone
    /// through ``UntrustedText/shown(_:limit:)``.
    public var message: String { text.description }
    /// The remedy: a command, or a sentence.
    public var hint: String? { advice?.description }
    /// The message, for a person of any language.
    package let text: LocalizedMessage
    /// The hint, for a person of any language.
    package var advice: LocalizedMessage?
    /// Facts for `--verbose`: the provider's error number, correlation id, the failing system call. No secrets.
    public var details: [String]
    /// The requirements for a new sign-in, if a protected resource refused a token that no refresh fixes.
    public var stepUp: StepUp?
    /// The remedies for the other failures that this error reports, each a hint as ``hint`` is.
    package var additionalHints: [LocalizedMessage] = []
    /// Whether the result of the command says it already, so that only the exit status is left to give.
    package var isInResult = false
    /// Whether a request failed before anything of it had left this machine.
    package var isBeforeRequest = false
    /// Whether the cluster could not be seen at all, for a lasting reason: this host's certificate has ended.
    package var isClusterUnusable = false
    /// Whether the session bus was not reached.
    package var missesBus = false
    /// Whether no token of before is given in its place: the provider's new ones could not be kept, or the account
    /// is gone.
    package var forbidsStaleToken = false
    /// Whether the provider refused a grant in other words than those of RFC 6749. The grant is kept, and is tried
    /// once more if the user asks for it.
    public var keepsGrant = false

    /// Whether a provider has refused only the scope or resource of a request.
    public var refusesScope = false

    /// Makes an error.
    public init(
        _ code: ErrorCode, _ message: LocalizedMessage, hint: LocalizedMessage? = nil, details: [String] = []
    ) {
        self.code = code
        text = message
        advice = hint
        self.details = details
    }

    /// The message alone.
    public var description: String { message }

    /// Whether trying again later may help without anybody doing anything.
    public var isTransient: Bool { code == .temporary || code == .lockTimeout }

    /// Whether this machine's copy of a cluster serves meanwhile.
    package var allowsLocalCopy: Bool { code == .temporary || isClusterUnusable }

    /// Whether it says that the secrets cannot be had, or not kept.
    package var isStoreFailure: Bool { [.storeLocked, .storeUnavailable, .storeDamaged].contains(code) }

    /// The same error as one in whose place no token of before is given.
    package var asFinal: CredentialError {
        var copy = self
        copy.forbidsStaleToken = true
        return copy
    }

    /// The same error as one of a session bus that was not reached.
    package var withoutBus: CredentialError {
        var copy = self
        copy.missesBus = true
        return copy
    }

    /// The same error, with `hint` if it has no hint yet.
    public func withHint(_ hint: @autoclosure () -> LocalizedMessage) -> CredentialError {
        var copy = self
        if copy.advice == nil { copy.advice = hint() }
        return copy
    }
}
