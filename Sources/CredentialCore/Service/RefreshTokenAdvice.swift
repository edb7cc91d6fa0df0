/// Why sign-ins of a type bring no refresh token, and the command that helps. Such a sign-in ends with its first
/// token, and the same sign-in once more ends as soon.
package struct RefreshTokenAdvice: Sendable {
    /// The cause, for the end of a sentence.
    package let cause: LocalizedMessage
    /// The change of the type that helps; `nil` if no change does.
    package let change: String?
    /// The `prompt` of the sign-in that brings a refresh token.
    package let prompt: String?
    /// Whether the client itself has to be changed, at the provider.
    private let isOfClient: Bool
    private let type: String
    private let clientID: String

    private init(
        _ type: AccountType, _ cause: LocalizedMessage, change: String? = nil, prompt: String? = nil,
        isOfClient: Bool = false
    ) {
        (self.type, clientID) = (type.name, type.clientID)
        (self.cause, self.change, self.prompt, self.isOfClient) = (cause, change, prompt, isOfClient)
    }

    /// The scope that OpenID Connect Core §11 has for it.
    private static let offline = "offline_access"

    /// Finds the cause, once a sign-in has brought no refresh token.
    ///
    /// - Parameters:
    ///   - scope: the scopes that the type's sign-ins ask for (``CredentialAdapter/effectiveScope(_:of:)``).
    ///   - asked: the scopes that the sign-in asked for, if they are known and may differ.
    package init(_ type: AccountType, scope: [String], asked: [String]? = nil) {
        if let advice = Self.missing(of: type, scope: scope, isCertain: true) {
            self = advice
        } else if scope.contains(Self.offline), let asked, !asked.contains(Self.offline) {
            self = RefreshTokenAdvice(
                type, "this sign-in did not request offline_access, although it is in the type's scope")
        } else if case .consent = KnownProvider(of: type)?.refreshTokens {
            self = RefreshTokenAdvice(
                type, "the provider returns a refresh token only when the user consents", prompt: "consent")
        } else {
            self = RefreshTokenAdvice(
                type, "the provider returned no refresh token to client \(UntrustedText.shown(type.clientID))",
                isOfClient: true)
        }
    }

    /// Advice for a new type whose sign-ins may bring no refresh token; `nil` if the type has all that is known to
    /// be needed.
    ///
    /// - Parameters:
    ///   - scope: as for ``init(_:scope:asked:)``.
    ///   - offered: the scopes that the provider lists; `nil` if it has not been asked, or lists no scopes.
    package static func expected(of type: AccountType, scope: [String], offered: [String]?) -> RefreshTokenAdvice? {
        guard [.code, .device, .password].contains(type.signInFlow) else { return nil }
        return missing(
            of: type, scope: scope, isCertain: offered?.contains(offline) ?? scope.contains("openid"))
    }

    /// - Parameter isCertain: whether a provider that is not in the table is taken to want the scope.
    private static func missing(
        of type: AccountType, scope: [String], isCertain: Bool
    ) -> RefreshTokenAdvice? {
        switch KnownProvider(of: type)?.refreshTokens {
        case .always?: return nil
        case .parameter(let name, let value)?, .consent(let name, let value)?:
            guard type.authorizeParameters[name] != value else { return nil }
            return RefreshTokenAdvice(
                type, "the provider returns a refresh token only for \(name)=\(value)",
                change: "extra_parameters.authorize.\(name)=\(value)")
        case nil where !isCertain || !scope.contains("openid"): return nil
        case .scope?, nil:
            guard !scope.contains(offline) else { return nil }
            return RefreshTokenAdvice(
                type, "offline_access is not in the type's scope",
                change: "scope=" + (type.scope + [offline]).joined(separator: " "))
        }
    }

    /// The cause as a whole sentence of an error.
    package var reason: LocalizedMessage {
        isOfClient ? cause : "the provider returned no refresh token: \(cause)"
    }

    /// The command that changes the type; `nil` if no change helps.
    package var command: LocalizedMessage? {
        change.map { "credmgr types set \(ShellQuoting.word(type)) \(ShellQuoting.word($0))" }
    }

    /// The command that helps an account without a refresh token: it changes the type if that is necessary, and
    /// signs in again.
    package func hint(_ login: LoginHint) -> LocalizedMessage {
        var login = login
        if let prompt {
            login.more = [login.more, "--prompt \(prompt)"].compactMap(\.self).joined(separator: " ")
        }
        if let command { return "\(command) && \(login)" }
        if !isOfClient { return login.hint }
        return "allow refresh tokens for client \(UntrustedText.shown(clientID)) at the provider, then: \(login)"
    }
}
