import CredentialCore
import OAuth

/// The reason that B2C hides in `error_description`: `AADB2C90118: The user has …`, then lines of `Key: value`.
struct B2CErrorDetail: Equatable {
    /// The number that means: run the policy that resets passwords.
    static let forgottenPassword = "90118"

    /// The five digits.
    let number: String
    /// The sentence, to the end of its line.
    let message: String
    /// The facts in the lines after it, names in lower case: `correlation id`, `timestamp`, `login_hint`.
    let facts: [String: String]

    /// Reads a refusal; `nil` when it has no number, which is normal too.
    init?(_ refusal: OAuthError) {
        guard let text = refusal.description, text.hasPrefix("AADB2C") else { return nil }
        let lines = text.split(whereSeparator: \.isNewline)
        let rest = text.dropFirst("AADB2C".count)
        let digits = rest.prefix { $0.isASCII && $0.isWholeNumber }
        guard digits.utf8.count == 5, rest.dropFirst(5).first == ":", let first = lines.first else { return nil }
        number = String(digits)
        message = UntrustedText.shown(String(first.dropFirst("AADB2C00000:".count)))
        var facts: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].lowercased()
            facts[name] = facts[name] ?? UntrustedText.shown(String(line[line.index(after: colon)...]))
        }
        self.facts = facts
    }

    /// Returns the meaning of the refusal: by the number first, by `error` if the number is not known.
    ///
    /// 90080, 90128 and 90129 alone say that a grant is gone; 90088 and 90085 come as `invalid_grant` too and do
    /// not.
    func error(
        for refusal: OAuthError, in operation: ProviderOperation, type: AccountType, policy: B2CPolicy
    ) -> CredentialError {
        let login = LoginHint(type: type.name, policy: policy.description).hint
        var (code, sentence, hint): (ErrorCode, LocalizedMessage, LocalizedMessage?)
        switch number {
        case Self.forgottenPassword:
            (code, sentence) = (.denied, "the user has forgotten the password")
            hint =
                type.passwordResetPolicy.map { LoginHint(type: type.name, policy: $0).hint }
                ?? "set password_reset_policy in account type '\(type.name)' to the policy that resets passwords"
        case "90091": (code, sentence, hint) = (.cancelled, "the sign-in was cancelled", nil)
        case "90077":
            (code, sentence, hint) = (.signInRequired, "no session for a silent sign-in", login)
        case "90080", "90128", "90129":
            (code, sentence, hint) = (.signInRequired, "the sign-in has expired or was revoked", login)
        case "90088":
            (code, sentence) = (.configuration, "the grant belongs to a different policy than '\(policy)'")
            hint = "sign in with this policy: \(login)"
        case "90085":
            (code, sentence) = (.denied, "the provider refused the request for an internal reason")
            hint = "use --verbose, and look up the correlation ID in the tenant's logs"
        case "90225": (code, sentence, hint) = (.denied, "the username or the password is wrong", nil)
        case "90035", "90037", "90111", "90114", "90244", "90273":
            (code, sentence, hint) = (.temporary, "the provider is temporarily unavailable", "try again later")
        case "90079", "90081", "90084":
            // The number says whether the provider requires a secret, a different one, or no secret.
            (code, sentence) = (.configuration, "the provider refused the client secret")
            let change = number == "90084" ? "--unset client_secret" : "--client-secret-file -"
            hint = "credmgr types set \(ShellQuoting.word(type.name)) \(change)"
        case "90182", "90183", "90184", "99059":
            (code, sentence, hint) = (.denied, "the provider refused the PKCE code verifier", login)
        default:
            guard let kind = Self.configurationFaults.first(where: { $0.numbers.contains(number) }) else {
                var error = OAuthErrorMapping.error(
                    refusal, in: operation, type: type.name, clientKeys: type.clientKeys)
                error.details = details(refusal)
                return error
            }
            (code, sentence) = (.configuration, kind.sentence)
            hint = "check \(kind.keys) of account type '\(type.name)'"
        }
        return CredentialError(
            code, "\(sentence) (AADB2C\(number): \(message))", hint: hint, details: details(refusal))
    }

    private func details(_ refusal: OAuthError) -> [String] {
        var details = ["AADB2C\(number): \(message)", "error: " + UntrustedText.shown(refusal.code, limit: 60)]
        for name in ["correlation id", "timestamp"] {
            if let value = facts[name] { details.append("\(name): \(value)") }
        }
        if let status = refusal.status { details.append("status: \(status)") }
        return details
    }

    private static let configurationFaults: [(numbers: Set<String>, sentence: LocalizedMessage, keys: String)] = [
        (["90055", "90010", "90012", "90117", "90146", "99068"], "the provider refused the scope", "scope"),
        (["90006", "90287"], "the redirect URI is not registered", "redirect_uri"),
        (["90224", "90057", "90058"], "the policy or the client does not allow this flow", "flow and policies"),
        (["90279"], "the grant belongs to a different client", "client_id"),
        (
            [
                "90008", "90018", "90013", "90014", "90043", "90083", "90086", "90107", "90110", "90115", "90205",
                "90248", "99005",
            ], "the provider rejected the request", "client_id, policies and extra_parameters"
        ),
    ]
}
