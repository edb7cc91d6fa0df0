/// The stores that can hold an account's secrets.
public enum StoreKind: String, Sendable, CaseIterable {
    /// The desktop's Secret Service, through libsecret.
    case secretService = "secret-service"
    /// The encrypted file of the keychain group.
    case file
    /// The cluster of a group that several hosts share. The user does not choose it for an account: the group is
    /// there, or is not.
    case etcd

    /// Those of this machine, among which people choose.
    public static let allCases: [StoreKind] = [.secretService, .file]

    /// The store's name in sentences.
    package var shownName: LocalizedMessage {
        switch self {
        case .secretService: "Secret Service"
        case .file: "encrypted file"
        case .etcd: "cluster"
        }
    }

    /// Whether token sets are sealed in the accounts' records themselves.
    package var isInRecord: Bool { self != .secretService }

    /// The store of this machine that this one is not.
    package var other: StoreKind { self == .file ? .secretService : .file }
}

extension StoreKind {
    /// The store that a word names; `auto` names no particular store. Without a word it is `standard`.
    ///
    /// - Throws: ``ErrorCode/usage`` for another word.
    package static func wished(
        _ word: String?, else standard: StoreKind?
    ) throws(CredentialError) -> StoreKind? {
        guard let word, !word.isEmpty else { return standard }
        if word == "auto" { return nil }
        guard let kind = allCases.first(where: { $0.rawValue == word }) else {
            throw CredentialError(
                .usage, "'\(UntrustedText.shown(word, limit: 40))' is not a valid store",
                hint: "use auto, secret-service or file")
        }
        return kind
    }
}

/// The protection of the secrets of a store, in plain words.
public struct ProtectionSummary: Sendable, Equatable {
    /// The secret or program that opens the store.
    public let summary: LocalizedMessage
    /// The attackers that it protects against.
    public let protectsAgainst: LocalizedMessage
    /// The attackers that it does not protect against.
    public let doesNotProtectAgainst: LocalizedMessage
    /// Whether a person can open it when it is locked.
    public let isUnlockedByPeople: Bool

    /// Says it.
    public init(
        summary: LocalizedMessage, protectsAgainst: LocalizedMessage, doesNotProtectAgainst: LocalizedMessage,
        isUnlockedByPeople: Bool = true
    ) {
        self.isUnlockedByPeople = isUnlockedByPeople
        self.summary = summary
        self.protectsAgainst = protectsAgainst
        self.doesNotProtectAgainst = doesNotProtectAgainst
    }
}
