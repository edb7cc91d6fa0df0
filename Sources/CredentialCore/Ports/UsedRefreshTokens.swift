/// Remembers which refresh tokens this machine has used, in any group or account, and apart from the stores.
///
/// A provider that rotates refresh tokens takes a used one for a stolen one and ends the sign-in (RFC 9700
/// §4.14.2). So no copy of a store, and no archive, has one sent again. Only digests are kept, also those of
/// accounts that have signed out.
public protocol UsedRefreshTokens: Sendable {
    /// Whether a token is known to be used. A token that cannot be looked up is not known.
    func contains(_ token: Secret) -> Bool

    /// Records that a provider has replaced a token.
    ///
    /// - Parameters:
    ///   - token: the token that is used.
    ///   - end: when the sign-in ends, if the provider states it. The digest is kept until then, else for 400 days.
    func record(_ token: Secret, until end: Timestamp?)

    /// The highest rotation number that is known of a grant; `nil` for an unknown grant.
    func rotation(of grant: String) -> Int64?

    /// Records the rotation number of a grant.
    ///
    /// - Parameters:
    ///   - rotation: the number.
    ///   - grant: the ID of the grant.
    ///   - end: as in ``record(_:until:)``.
    func record(rotation: Int64, of grant: String, until end: Timestamp?)

    /// A digest of a token by a key of this machine, to compare tokens by; `nil` if there is no key.
    func digest(of token: Secret) -> String?

    /// Checks that the kept digests can be read, and that more can be recorded.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, with the cause.
    func checkMemory() throws(CredentialError)
}
