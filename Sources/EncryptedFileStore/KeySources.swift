package import CredentialCore

/// Where the secrets come from that open key slots.
package struct KeySources: Sendable {
    /// The passphrase, asked for only when a slot needs it; `nil` where the user has configured none.
    package let passphrase: @Sendable () throws(CredentialError) -> Secret?
    /// Keeps data keys that a passphrase has opened, outside this process; `nil` for none.
    package let unlockedKeys: (any AccessTokenCache)?
    /// How long ``unlockedKeys`` keeps a key, in seconds.
    package let unlockedSeconds: Int64

    /// Names the sources.
    package init(
        passphrase: @escaping @Sendable () throws(CredentialError) -> Secret?,
        unlockedKeys: (any AccessTokenCache)? = nil, unlockedSeconds: Int64 = 8 * 3600
    ) {
        self.passphrase = passphrase
        self.unlockedKeys = unlockedKeys
        self.unlockedSeconds = unlockedSeconds
    }

    /// Key files only.
    package static var keyFileOnly: KeySources { KeySources(passphrase: { () throws(CredentialError) in nil }) }
}
