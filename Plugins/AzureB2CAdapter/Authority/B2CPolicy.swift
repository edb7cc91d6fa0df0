package import CredentialCore

/// A policy of B2C: a user flow (`B2C_1_…`) or a custom policy (`B2C_1A_…`).
///
/// B2C takes the name in any case in its URLs and gives it back in its own in tokens, so policies are compared by
/// ``canonical`` and sent as ``written``.
package struct B2CPolicy: Sendable, Hashable, CustomStringConvertible {
    /// The name as the definition or the user spells it.
    package let written: String
    /// The name in lower case, for comparisons and keys.
    package var canonical: String { written.lowercased() }

    /// Takes a name; `nil` when it obeys not the rule of ``Identifier``.
    package init?(_ name: String) {
        guard Identifier.isValid(name) else { return nil }
        written = name
    }

    /// The name as spelled.
    package var description: String { written }

    /// Whether both are the same policy.
    package static func == (left: B2CPolicy, right: B2CPolicy) -> Bool { left.canonical == right.canonical }
    /// Hashes the canonical name.
    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

    /// Whether the name has the prefix that B2C gives to every policy.
    package var hasPolicyPrefix: Bool { canonical.hasPrefix("b2c_1_") || canonical.hasPrefix("b2c_1a_") }

    /// The policy that a user or a definition means.
    ///
    /// - Parameter name: an alias of the type, or a policy's name in any case; `nil` for the default: that of
    ///   `default_policy`, else of the authority, else the only one of `policies`.
    /// - Throws: ``ErrorCode/usage`` for a name that is neither an alias, nor known, nor like a policy's;
    ///   ``ErrorCode/configuration`` when the type names no default.
    package static func named(_ name: String?, of type: AccountType) throws(CredentialError) -> B2CPolicy {
        let authority = try B2CAuthority(of: type)
        guard let name = name ?? type.defaultPolicy ?? authority.policy?.written ?? onlyAlias(of: type) else {
            throw CredentialError(
                .configuration, "account type '\(type.name)' names no policy to use by default",
                hint: "use --policy, or set 'default_policy' in the account type")
        }
        if let written = type.policies[name], let policy = B2CPolicy(written) { return policy }
        guard let policy = B2CPolicy(name) else { throw unknown(name, of: type) }
        let known =
            [authority.policy]
            + (type.policies.values.sorted() + [type.defaultPolicy, type.passwordResetPolicy].compactMap(\.self))
            .filter { type.policies[$0] == nil }.map(B2CPolicy.init)
        if let match = known.compactMap(\.self).first(where: { $0 == policy }) { return match }
        guard policy.hasPolicyPrefix else { throw unknown(name, of: type) }
        return policy
    }

    private static func onlyAlias(of type: AccountType) -> String? {
        type.policies.count == 1 ? type.policies.keys.first : nil
    }

    private static func unknown(_ name: String, of type: AccountType) -> CredentialError {
        let aliases = type.policies.keys.sorted()
        let hint: LocalizedMessage? =
            SpellingSuggestion.to(name, among: aliases).map { "did you mean '\($0)'?" }
            ?? (aliases.isEmpty ? nil : "policies of '\(type.name)': \(aliases.joined(separator: ", "))")
        return CredentialError(
            .usage, "account type '\(type.name)' has no policy '\(UntrustedText.shown(name, limit: 60))'",
            hint: hint)
    }
}
