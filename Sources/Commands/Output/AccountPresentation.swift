package import CredentialCore
package import StrictJSON

/// An account as `accounts` shows it.
package struct AccountPresentation: Sendable {
    let account: Account
    let group: KeychainGroup
    /// Whether it is the default of its type.
    let isDefault: Bool
    /// Whether its type has no definition.
    let isTypeMissing: Bool

    /// Makes a presentation.
    ///
    /// - Parameters:
    ///   - isDefault: whether it is the default of its type.
    ///   - isTypeMissing: whether its type has no definition.
    package init(_ account: Account, group: KeychainGroup, isDefault: Bool, isTypeMissing: Bool = false) {
        self.account = account
        self.group = group
        self.isDefault = isDefault
        self.isTypeMissing = isTypeMissing
    }

    /// The element of `accounts --json`. A value that is not known is `null`; `name` is the user's label, else the
    /// display name.
    package var json: JSONValue {
        [
            "id": .string(account.id),
            "type": .string(account.type),
            "adapter": .string(account.adapter),
            "group": .string(group.name),
            "username": JSONValue(account.username),
            "name": JSONValue(account.label ?? account.displayName),
            "subject": .string(account.subject),
            "issuer": JSONValue(account.issuer),
            "client_id": .string(account.registration.clientID),
            "default": .bool(isDefault),
            "status": .string(status.word),
            "status_reason": JSONValue(status.reason),
            "store": .string(account.store.rawValue),
            "policies": JSONValue(account.policies),
            "scope": JSONValue(account.scope.isEmpty ? nil : account.scope.joined(separator: " ")),
            "expires_at": JSONValue(account.expiresAt?.rfc3339),
            "expires_on": JSONValue(account.expiresAt?.epochSeconds),
            "refresh_expires_at": JSONValue(account.refreshExpiresAt?.rfc3339),
            "created_at": .string(account.createdAt.rfc3339),
            "updated_at": .string(account.updatedAt.rfc3339),
            "type_missing": .bool(isTypeMissing),
        ]
    }

    /// The document of `accounts --json`.
    package static func json(_ accounts: [AccountPresentation]) -> JSONValue { .array(accounts.map(\.json)) }

    /// When the token ends; that the sign-in ends with it, if it does, and that a refresh brings the next one.
    func tokenEnd(now: Timestamp) -> LocalizedMessage {
        guard let end = account.expiresAt else { return "" }
        if account.endsWithToken { return end > now ? "ends \(RelativeTime.until(end, now: now))" : "ended" }
        if end <= now, case .active = account.status { return "refreshes" }
        return RelativeTime.until(end, now: now)
    }

    /// How a person knows it: a label does not hide who it is.
    var name: String {
        guard let label = account.label, let username = account.username else { return account.shownName }
        return "\(label) (\(username))"
    }

    /// That the sign-in ends soon, and the command that renews it; `nil` if it does not.
    func ending(now: Timestamp) -> LocalizedMessage? {
        guard account.endsSoon(now: now), let end = account.refreshExpiresAt else { return nil }
        let login = LoginHint(for: account, in: group)
        let name = UntrustedText.shown(account.shownName)
        return end > now
            ? "the grant of \(name) (\(account.type)) expires \(RelativeTime.until(end, now: now)): \(login)"
            : "the grant of \(name) (\(account.type)) has expired: \(login)"
    }

    /// The status with its reason, on one line.
    var statusLine: LocalizedMessage { Self.statusLine(status.word, status.reason) }

    /// A status, which is a code, with its reason as it was kept.
    static func statusLine(_ word: String, _ reason: String?) -> LocalizedMessage {
        .joined([LocalizedMessage(verbatim: word)] + (reason.map { [LocalizedMessage(kept: $0)] } ?? []), by: ": ")
    }

    var status: (word: String, reason: String?) {
        switch account.status {
        case .active: ("active", nil)
        case .needsLogin(let reason): ("needs-login", reason)
        }
    }
}

/// Times told by their distance.
package enum RelativeTime {
    /// How long until `instant`: `in 42 min`, `in 3 h`, `expired`. Rounded down to one unit.
    package static func until(_ instant: Timestamp, now: Timestamp) -> LocalizedMessage {
        let seconds = instant.seconds(since: now)
        return switch seconds {
        case ..<1: "expired"
        case ..<60: "in \(seconds) s"
        case ..<3_600: "in \(seconds / 60) min"
        case ..<172_800: "in \(seconds / 3_600) h"
        default: "in \(Int(seconds / 86_400), one: "\(seconds / 86_400) day", other: "\(seconds / 86_400) days")"
        }
    }
}

extension Account {
    /// That it has signed in and is in no store yet.
    var signInWaits: LocalizedMessage {
        "\(UntrustedText.shown(shownName)) (\(id)) has signed in; the tokens are in the journal until the store "
            + "accepts them"
    }
}
