/// Whose programs may bring the answer of the browser to the loopback: `redirect_peers` of `config.json`.
///
/// Whoever knows the authorization URL can bring an answer of his own: his code would sign the user in to his account
/// (RFC 9700 §4.7), and his refusal would end the sign-in.
public enum RedirectPeers: Sendable, Hashable {
    /// `"same-user"`: this user's and root's. The rule.
    case sameUser
    /// `"uid:N"`: another user's as well, as that of a browser in a sandbox.
    case user(UInt32)
    /// `"any"`: everybody's, where the kernel does not know the peers (WSL with its mirrored network).
    case any

    /// Reads the word of `config.json`; `nil` for one that is none.
    public init?(word: String) {
        switch word {
        case "same-user": self = .sameUser
        case "any": self = .any
        default:
            guard word.hasPrefix("uid:"), let number = UInt32(word.dropFirst(4)) else { return nil }
            self = .user(number)
        }
    }

    /// Whether an answer of `owner` is taken.
    ///
    /// - Parameters:
    ///   - owner: the user at the other end; `nil` for one that is not known.
    ///   - user: this process's user.
    package func accept(_ owner: UInt32?, user: UInt32) -> Bool {
        switch self {
        case .any: true
        case .sameUser: owner == user || owner == 0
        case .user(let other): owner == user || owner == 0 || owner == other
        }
    }
}
