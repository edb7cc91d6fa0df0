/// The `credmgr login` that a hint gives: pasted into a shell, it signs in the user that the message is about.
///
/// Every hint to sign in is written here, so that no hint signs in the wrong user or forgets the group.
package struct LoginHint: Sendable, CustomStringConvertible {
    /// The account whose user has to sign in again: its ID, which means the same with any other accounts signed in.
    package var account: String?
    /// The account type, if the account does not name it or another type is asked for.
    package var type: String?
    /// The policy, canonical; empty for the type's own.
    package var policy: String
    /// The scopes to ask for; empty for the type's own.
    package var scope: [String]
    /// The flow, if it is not the type's own.
    package var flow: SignInFlow?
    /// The group, if it is not the type's own.
    package var group: KeychainGroup?
    /// Further words, as they are: `--prompt login`.
    package var more: String?

    /// A first sign-in under a type.
    package init(type: String, policy: String = "", scope: [String] = [], group: KeychainGroup? = nil) {
        self.type = type
        self.policy = policy
        self.scope = scope
        self.group = group
    }

    /// A sign-in of a known account's person.
    ///
    /// - Parameters:
    ///   - group: the group that keeps the account.
    ///   - type: the type that it is asked for under; `nil` for the one it was signed in under.
    ///   - policy: `nil` for the only policy that the account holds, if it holds one.
    package init(
        for account: Account, in group: KeychainGroup, as type: AccountType? = nil, policy: String? = nil,
        scope: [String] = []
    ) {
        self.account = account.id
        self.type = type.flatMap { $0.name == account.type ? nil : $0.name }
        self.policy = policy ?? (account.policies.count == 1 ? account.policies[0] : "")
        self.scope = scope
        self.group = type.map { $0.keychainGroup == group } ?? true ? nil : group
        if let flow = account.flows[self.policy] { name(flow, of: type) }
    }

    /// Names the flow of the sign-in that has ended: another flow may not give the same tokens.
    ///
    /// - Parameter type: that of the sign-in; `nil` if it is not known, and the flow is known not to be its own.
    package mutating func name(_ flow: SignInFlow, of type: AccountType?) {
        // Without an explicit setting, a type allows no passwords.
        self.flow = flow == type?.signInFlow || flow == .password ? nil : flow
    }

    /// The command as a hint: its text is never translated.
    package var hint: LocalizedMessage { LocalizedMessage(verbatim: description) }

    /// The command.
    package var description: String {
        var words = ["credmgr", "login"]
        if let account { words += ["--account", ShellQuoting.word(account)] }
        if let type { words += ["--type", ShellQuoting.word(type)] }
        if !policy.isEmpty { words += ["--policy", ShellQuoting.word(policy)] }
        // A scope may have a quote in it (RFC 6749 §3.3).
        if !scope.isEmpty { words += ["--scope", ShellQuoting.quoted(scope.joined(separator: " "))] }
        if let group { words += ["--group", ShellQuoting.word(group.name)] }
        if let flow { words += ["--flow", flow.rawValue] }
        if let more { words.append(more) }
        return words.joined(separator: " ")
    }
}
