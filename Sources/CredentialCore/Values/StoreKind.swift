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

extension StoreKind {
    /// The store that a word names, `auto` for none in particular; `standard` without a word.
    ///
    /// - Throws: ``ErrorCode/usage`` for another word.
    package static func wished(
        _ word: String?, else standard: StoreKind?
    ) throws(CredentialError) -> StoreKind? {
        guard let word, !word.isEmpty else { return standard }
        if word == "auto" { return nil }
        guard let kind = StoreKind(rawValue: word) else {
            throw CredentialError(
                .usage, "'\(ForeignText.shown(word, limit: 40))' is not a store",
                hint: "use auto, secret-service or file")
        }
        return kind
    }
}
