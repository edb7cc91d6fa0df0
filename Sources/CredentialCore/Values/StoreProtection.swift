/// What protects the secrets of a store, in plain words.
public struct StoreProtection: Sendable, Equatable {
    /// What opens the store.
    public let summary: String
    /// Against whom that protects.
    public let protectsAgainst: String
    /// Against whom it does not.
    public let doesNotProtectAgainst: String
    /// Whether a person can open it when it is locked.
    public let isUnlockedByPeople: Bool

    /// Says it.
    public init(
        summary: String, protectsAgainst: String, doesNotProtectAgainst: String, isUnlockedByPeople: Bool = true
    ) {
        self.isUnlockedByPeople = isUnlockedByPeople
        self.summary = summary
        self.protectsAgainst = protectsAgainst
        self.doesNotProtectAgainst = doesNotProtectAgainst
    }
}
