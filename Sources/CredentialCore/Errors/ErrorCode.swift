/// The kind of failure, as a stable word: the `code` of `--json` failures and of the wire protocols.
///
/// The set is closed on purpose: a new case must say its exit status in ``exitStatus`` before it compiles, and
/// `docs/reference/errors-and-exit-codes.md` is checked against `allCases` by a test.
public enum ErrorCode: String, Sendable, CaseIterable {
    /// Arguments that make no sense.
    case usage
    /// A configuration or account-type file that cannot be used.
    case configuration
    /// An account type that no file defines.
    case unknownType = "unknown_type"
    /// No account fits.
    case noSuchAccount = "no_such_account"
    /// Several accounts fit, and no account is the default.
    case ambiguousAccount = "ambiguous_account"
    /// The account has no usable grant: a person has to sign in.
    case signInRequired = "sign_in_required"
    /// The secret store is locked.
    case storeLocked = "store_locked"
    /// The secret store is not there, does not answer or refuses to work.
    case storeUnavailable = "store_unavailable"
    /// A stored secret is damaged.
    case storeDamaged = "store_damaged"
    /// Network trouble, or a provider that asks to come back later.
    case temporary
    /// Another process holds the account's lock for longer than the time allowed.
    case lockTimeout = "lock_timeout"
    /// The user, the provider or a rule said no.
    case denied
    /// The user cancelled at the provider, or dismissed a prompt.
    case cancelled
    /// A response or token fails validation: signature, issuer, nonce, state.
    case validationFailed = "validation_failed"
    /// `request` got an HTTP status of 400 or more.
    case httpStatus = "http_status"
    /// A helper has no credential for the server or the user that a program asks about.
    case noCredential = "nothing_given"
    /// A file could not be read or written.
    case inputOutput = "input_output"
    /// The provider, or a plugin, broke its protocol.
    case malformedReply = "malformed_reply"
    /// The operation is one that the provider does not have.
    case unsupported
    /// `doctor` found a problem; its result names it.
    case problemsFound = "problems_found"
    /// Interrupted by a signal.
    case interrupted
    /// A fault of this program.
    case internalFault = "internal_fault"

    /// The exit status of a command that ends with this error.
    public var exitStatus: Int32 {
        switch self {
        case .noCredential, .inputOutput, .malformedReply, .problemsFound, .internalFault: 1
        case .usage, .configuration, .unknownType, .unsupported: 2
        case .noSuchAccount, .ambiguousAccount: 3
        case .signInRequired: 4
        case .storeLocked, .storeUnavailable, .storeDamaged: 5
        case .temporary, .lockTimeout: 6
        case .denied, .cancelled, .validationFailed: 7
        case .httpStatus: 8
        case .interrupted: 130
        }
    }
}
