package import CredentialCore

/// The sources of the secrets that open key slots.
package struct UnlockSources: Sendable {
    /// The passphrase, asked for only when a slot needs it; `nil` where the user has configured none.
    package let passphrase: @Sendable () throws(CredentialError) -> Secret?
    /// Asks a person for the passphrase of an existing file, after the sentence given; `nil` where nobody can be
    /// asked. Used only where ``passphrase`` has none.
    package let ask: @Sendable (_ prompt: LocalizedMessage) throws(CredentialError) -> Secret?
    /// Tries a passphrase, where another question may follow: what is typed early is not shown.
    package var unseen: @Sendable (_ work: () throws(CredentialError) -> Void) throws(CredentialError) -> Void = {
        work throws(CredentialError) in try work()
    }
    /// The source of ``passphrase``, for messages: `CREDMGR_PASSPHRASE_COMMAND`.
    package var giver = "the program"
    /// Keeps data keys that a passphrase has opened, outside this process; `nil` for none.
    package let unlockedKeys: (any AccessTokenCache)?
    /// Refuses a configured passphrase that is too weak to make a group's file with.
    package var acceptsNew: @Sendable (Secret, KeychainGroup) throws(CredentialError) -> Void = {
        (_, _) throws(CredentialError) in
    }
    /// How long ``unlockedKeys`` keeps a key that a passphrase has opened, in seconds; `nil` where that takes an
    /// explicit unlocking.
    package let unlockedSeconds: Int64?

    /// Names the sources.
    package init(
        passphrase: @escaping @Sendable () throws(CredentialError) -> Secret?,
        ask: @escaping @Sendable (_ prompt: LocalizedMessage) throws(CredentialError) -> Secret? = {
            _ throws(CredentialError) in nil
        },
        unlockedKeys: (any AccessTokenCache)? = nil, unlockedSeconds: Int64? = 8 * 3600
    ) {
        self.passphrase = passphrase
        self.ask = ask
        self.unlockedKeys = unlockedKeys
        self.unlockedSeconds = unlockedSeconds
    }

    /// Key files only.
    package static var keyFileOnly: UnlockSources {
        UnlockSources(passphrase: { () throws(CredentialError) in nil })
    }
}
