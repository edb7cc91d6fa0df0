package import CredentialCore

/// The sources of the secrets that open key slots.
package struct UnlockSources: Sendable {
    /// The passphrase, asked for only when a slot needs it; `nil` if the user has not configured one.
    package let passphrase: @Sendable () throws(CredentialError) -> Secret?
    /// Asks the user for the passphrase of an existing file, after the sentence given; `nil` if no user can be
    /// asked. Used only if ``passphrase`` returns `nil`.
    package let ask: @Sendable (_ prompt: LocalizedMessage) throws(CredentialError) -> Secret?
    /// Tries a passphrase, if another question may follow: text that is typed early is not shown.
    package var unseen: @Sendable (_ work: () throws(CredentialError) -> Void) throws(CredentialError) -> Void = {
        work throws(CredentialError) in try work()
    }
    /// The source of ``passphrase``, for messages: `CREDMGR_PASSPHRASE_COMMAND`.
    package var giver = "the program"
    /// Keeps data keys that a passphrase has opened, outside this process; `nil` to keep no key.
    package let unlockedKeys: (any AccessTokenCache)?
    /// Refuses a configured passphrase that is too weak to make a group's file with.
    package var acceptsNew: @Sendable (Secret, KeychainGroup) throws(CredentialError) -> Void = {
        (_, _) throws(CredentialError) in
    }
    /// How long ``unlockedKeys`` keeps a key that a passphrase has opened, in seconds; `nil` if that takes an
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
