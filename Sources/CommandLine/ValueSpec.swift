/// A value that an option or a positional parameter takes, as help, parser and completion see it.
package struct ValueSpec: Sendable {
    /// How help calls it: `FILE`, `SECONDS`.
    package let placeholder: String
    /// The values allowed; empty if any value is.
    package let allowed: [String]
    /// The completion that a shell offers for it.
    package let completion: Completion

    /// The completions that a shell offers for a value.
    package enum Completion: Sendable, Hashable {
        /// Nothing.
        case none
        /// Files of the current folder.
        case file
        /// Names of account types.
        case accountType
        /// Accounts of the group.
        case account
        /// Aliases of policies.
        case policy
        /// Keychain groups.
        case group
        /// A fixed list that does not exclude other values.
        case words([String])
    }

    /// Takes any value.
    package static func any(_ placeholder: String, _ completion: Completion = .none) -> ValueSpec {
        ValueSpec(placeholder: placeholder, allowed: [], completion: completion)
    }

    /// Takes one of `allowed`, of which there is at least one.
    package static func choice(_ placeholder: String, _ allowed: [String]) -> ValueSpec {
        ValueSpec(placeholder: placeholder, allowed: allowed, completion: .words(allowed))
    }

    /// Accepts the path of a file; `-` for standard input or output if the option says that.
    package static let file = any("FILE", .file)
    /// Takes the name of an account type.
    package static let type = any("TYPE", .accountType)
    /// Takes an account's id, username, subject or label.
    package static let account = any("ACCOUNT", .account)
    /// Takes the alias or the name of a policy.
    package static let policy = any("POLICY", .policy)
}
