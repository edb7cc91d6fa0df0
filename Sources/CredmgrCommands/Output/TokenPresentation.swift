package import CredentialCore
import StrictJSON

/// A valid token and what `token` tells of it.
package struct TokenPresentation: Sendable {
    /// The token: the access token, or the id token where it serves as one.
    package var accessToken: Secret
    /// Its type (RFC 6749 §7.1).
    package var tokenType: String
    /// When it ends.
    package var expiresAt: Instant
    /// The scopes granted with it; empty where they are not known.
    package var scope: [String]
    /// The policy it was issued under, where the provider has policies.
    package var policy: String?
    /// The account's id.
    package var accountID: String
    /// The account type it was asked for under.
    package var accountType: String
    /// The name the account signs in with, where it is known.
    package var username: String?
    /// Whether it was refreshed just now.
    package var refreshed: Bool

    /// Makes a presentation.
    package init(
        accessToken: Secret, tokenType: String, expiresAt: Instant, scope: [String], policy: String?,
        accountID: String, accountType: String, username: String?, refreshed: Bool
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.expiresAt = expiresAt
        self.scope = scope
        self.policy = policy
        self.accountID = accountID
        self.accountType = accountType
        self.username = username
        self.refreshed = refreshed
    }

    /// The bytes for standard output, with a newline at their end.
    ///
    /// - Parameter execInfo: the value of `KUBERNETES_EXEC_INFO`, of which
    ///   ``TokenFormat/execCredential`` echoes the version.
    /// - Throws: ``ErrorCode/malformedReply`` when the token or its type holds a character that has no place in a
    ///   header field, such as a line break; ``ErrorCode/usage`` or ``ErrorCode/unsupported`` for an `execInfo`
    ///   that cannot be served.
    package func bytes(as format: TokenFormat, execInfo: String? = nil) throws(CredentialError) -> [UInt8] {
        let token = try checkedToken()
        let text =
            switch format {
            case .token: token
            case .json: json(token).text()
            case .header: "Authorization: \(try scheme()) \(token)"
            case .bearer: "\(try scheme()) \(token)"
            case .env:
                "export ACCESS_TOKEN=\(ShellQuote.quoted(token))\n"
                    + "export ACCESS_TOKEN_EXPIRES_ON=\(ShellQuote.quoted(String(expiresAt.epochSeconds)))"
            case .execCredential:
                ExecCredential(version: try .asked(by: execInfo), token: token, expiresAt: expiresAt).json.text()
            }
        return Array(text.utf8) + [UInt8(ascii: "\n")]
    }

    private func json(_ token: String) -> JSONValue {
        [
            "access_token": .string(token),
            "token_type": .string(tokenType),
            "expires_at": .string(expiresAt.rfc3339),
            "expires_on": .integer(expiresAt.epochSeconds),
            "scope": JSONValue(scope.isEmpty ? nil : scope.joined(separator: " ")),
            "policy": JSONValue(policy),
            "account": [
                "id": .string(accountID), "type": .string(accountType), "username": JSONValue(username),
            ],
            "refreshed": .bool(refreshed),
        ]
    }

    /// An access token is made of visible ASCII characters and spaces (RFC 6749 appendix A.12).
    ///
    /// - Throws: ``ErrorCode/malformedReply`` when it is not.
    func checkedToken() throws(CredentialError) -> String {
        let token = accessToken.reveal()
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw CredentialError(
                .malformedReply, "the provider's token for account \(accountID) has characters no token may have")
        }
        return token
    }

    /// The authentication scheme: a token of RFC 9110 §5.6.2; `bearer` in whatever case is `Bearer`.
    private func scheme() throws(CredentialError) -> String {
        let isToken = tokenType.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0)
        }
        guard isToken, !tokenType.isEmpty else {
            throw CredentialError(
                .malformedReply, "the provider's token for account \(accountID) has no usable type")
        }
        return tokenType.lowercased() == "bearer" ? "Bearer" : tokenType
    }
}
