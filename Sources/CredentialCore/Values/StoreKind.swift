/// The stores that can hold an account's secrets.
public enum StoreKind: String, Sendable, CaseIterable {
    /// The desktop's Secret Service, through libsecret.
    case secretService = "secret-service"
    /// The encrypted file of the keychain group.
    case file

    /// The store's name in sentences.
    package var shownName: String {
        switch self {
        case .secretService: "Secret Service"
        case .file: "encrypted file"
        }
    }

    /// The store that this one is not.
    package var other: StoreKind { self == .file ? .secretService : .file }
}
