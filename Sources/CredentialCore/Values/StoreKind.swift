/// The stores that can hold an account's secrets.
public enum StoreKind: String, Sendable, CaseIterable {
    /// The desktop's Secret Service, through libsecret.
    case secretService = "secret-service"
    /// The encrypted file of the keychain group.
    case file
}
