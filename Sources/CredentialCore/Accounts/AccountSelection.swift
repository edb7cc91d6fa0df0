/// Which account is meant, and by which rule: contract §5.
package struct AccountSelection: Sendable {
    /// The account.
    package let account: Account
    /// The rule that chose it.
    package let rule: Rule

    /// The rules, in the order they are tried.
    package enum Rule: String, Sendable {
        /// `--account`.
        case option = "--account"
        /// `CREDMGR_ACCOUNT`.
        case environment = "CREDMGR_ACCOUNT"
        /// A rule of `config.json`.
        case configuration = "a rule of config.json"
        /// The type's default, set by `credmgr use`.
        case defaultAccount = "the default of the type"
        /// The only account there is.
        case onlyAccount = "the only account"
    }

    /// A wish for an account and where it comes from.
    package struct Wish: Sendable {
        /// The id, username, subject or label.
        package let name: String
        /// Where it comes from.
        package let rule: Rule

        /// Makes a wish.
        package init(_ name: String, rule: Rule) {
            self.name = name
            self.rule = rule
        }
    }

    /// Chooses among `candidates`.
    ///
    /// - Parameters:
    ///   - wish: the account asked for, if any.
    ///   - defaultID: the id of the default account, if one is set.
    ///   - place: what the candidates belong to, for messages: "account type B2C_Account".
    ///   - login: the command that signs in, for hints.
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount`` with the list as details.
    package static func choose(
        among candidates: [Account], wish: Wish?, defaultID: String?, place: String,
        login: @autoclosure () -> String, use: String = "credmgr use ACCOUNT"
    ) throws(CredentialError) -> AccountSelection {
        if let wish {
            let fitting = matches(for: wish.name, among: candidates)
            guard let account = fitting.first else {
                throw CredentialError(
                    .noSuchAccount, "no account '\(ForeignText.shown(wish.name, limit: 80))' of \(place)",
                    hint: candidates.isEmpty ? login() : "credmgr accounts",
                    details: candidates.map(line))
            }
            if fitting.count > 1 {
                throw ambiguous(
                    "'\(ForeignText.shown(wish.name, limit: 80))' fits \(fitting.count) accounts of \(place)",
                    fitting, use: use)
            }
            return AccountSelection(account: account, rule: wish.rule)
        }
        if let defaultID, let account = candidates.first(where: { $0.id == defaultID }) {
            return AccountSelection(account: account, rule: .defaultAccount)
        }
        guard let account = candidates.first else {
            throw CredentialError(.noSuchAccount, "no account of \(place)", hint: login())
        }
        if candidates.count > 1 {
            throw ambiguous("\(place) has \(candidates.count) accounts and no default", candidates, use: use)
        }
        return AccountSelection(account: account, rule: .onlyAccount)
    }

    /// The accounts that a name fits: by id, else by label, else by username, else by subject.
    package static func matches(for name: String, among candidates: [Account]) -> [Account] {
        let byID = candidates.filter { $0.id == name }
        if !byID.isEmpty { return byID }
        return candidates.filter { $0.label == name || $0.username == name || $0.subject == name }
    }

    private static func ambiguous(_ message: String, _ accounts: [Account], use: String) -> CredentialError {
        CredentialError(
            .ambiguousAccount, message,
            hint: "name one with --account, or make it the default: \(use)",
            details: accounts.map(line))
    }

    private static func line(_ account: Account) -> String {
        "\(account.id)  \(ForeignText.shown(account.type, limit: 60))  \(ForeignText.shown(account.shownName))"
    }
}
