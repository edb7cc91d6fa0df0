package import CredentialCore
import StrictJSON

/// A valid token and the metadata that `token` prints.
package struct TokenOutput: Sendable {
    /// The token: the access token, or the ID token if it serves as one.
    package var accessToken: Secret
    /// Its type (RFC 6749 §7.1).
    package var tokenType: String
    /// When it ends.
    package var expiresAt: Timestamp
    /// Whether ``expiresAt`` is a guess, because the provider named no end.
    package var isEndGuessed = false
    /// The scopes granted with it; empty if they are not known.
    package var scope: [String]
    /// The policy it was issued under, if the provider has policies.
    package var policy: String?
    /// The account's id.
    package var accountID: String
    /// The account type it was asked for under.
    package var accountType: String
    /// The name the account signs in with, if it is known.
    package var username: String?
    /// Whether it was refreshed just now.
    package var refreshed: Bool
    /// The ID token, if it was requested: every format but `json` shows it in place of the access token.
    package var idToken: (token: Secret, expiresAt: Timestamp)?

    /// Makes a presentation.
    package init(
        accessToken: Secret, tokenType: String, expiresAt: Timestamp, scope: [String], policy: String?,
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
        let token = try checkedToken(format == .json ? accessToken : bearer)
        let expiresAt = bearerExpiresAt
        let text =
            switch format {
            case .token: token
            case .json: try json(token).text()
            case .header: "Authorization: \(try scheme()) \(token)"
            case .bearer: "\(try scheme()) \(token)"
            case .env:
                "export ACCESS_TOKEN=\(ShellQuoting.quoted(token))\n"
                    + "export ACCESS_TOKEN_EXPIRES_ON=\(ShellQuoting.quoted(String(expiresAt.epochSeconds)))"
            case .headersJSON:
                JSONValue.object(JSONObject(["Authorization": .string("\(try scheme()) \(token)")])).text()
            case .xoauth2: try xoauth2(token)
            case .credential: credential(token).text()
            case .execCredential:
                ExecCredential(version: try .asked(by: execInfo), token: token, expiresAt: expiresAt).json.text()
            }
        return Array(text.utf8) + [UInt8(ascii: "\n")]
    }

    /// Returns the response to git (gitcredentials(7)): the token as password of `username`, or as bearer if that
    /// is `nil`.
    ///
    /// - Throws: as ``checkedToken()``.
    package func gitCredential(username: String?) throws(CredentialError) -> [UInt8] {
        let token = try checkedToken()
        let credential =
            username.map { "username=\($0)\npassword=\(token)\n" }
            ?? "capability[]=authtype\nauthtype=Bearer\ncredential=\(token)\nephemeral=1\n"
        return Array((credential + "password_expiry_utc=\(expiresAt.epochSeconds)\n").utf8)
    }

    private func json(_ token: String) throws(CredentialError) -> JSONValue {
        var object = JSONObject([
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
        ])
        if let idToken { object["id_token"] = .string(try checkedToken(idToken.token)) }
        return .object(object)
    }

    /// The object of ``TokenFormat/credential``. A guessed end is `null`: the reader then decides itself.
    private func credential(_ token: String) -> JSONValue {
        let end = idToken?.expiresAt ?? (isEndGuessed ? nil : expiresAt)
        return ["version": 1, "token": .string(token), "expires_at": JSONValue(end?.rfc3339)]
    }

    /// The initial response of SASL XOAUTH2 (Google's and Microsoft's documentation).
    ///
    /// - Throws: ``ErrorCode/unsupported`` for an account without a user name, or a token that is bound to a key.
    private func xoauth2(_ token: String) throws(CredentialError) -> String {
        guard let username, username.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), try scheme() == "Bearer" else {
            throw CredentialError(
                .unsupported, "account \(accountID) has no user name, or no bearer token, for XOAUTH2")
        }
        return Base64URL.encodeOrdinary(Array("user=\(username)\u{1}auth=Bearer \(token)\u{1}\u{1}".utf8))
    }

    /// The token to hand over: the ID token if it was requested.
    private var bearer: Secret { idToken?.token ?? accessToken }
    /// When the token to hand over ends.
    package var bearerExpiresAt: Timestamp { idToken?.expiresAt ?? expiresAt }

    /// An access token is made of visible ASCII characters and spaces (RFC 6749 appendix A.12).
    ///
    /// - Throws: ``ErrorCode/malformedReply`` when it is not.
    package func checkedToken() throws(CredentialError) -> String { try checkedToken(bearer) }

    private func checkedToken(_ secret: Secret) throws(CredentialError) -> String {
        let token = secret.reveal()
        guard !token.isEmpty, token.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw CredentialError(
                .malformedReply, "the provider's token for account \(accountID) contains invalid characters")
        }
        return token
    }

    /// The authentication scheme: a token of RFC 9110 §5.6.2; `bearer` in any case is `Bearer`.
    private func scheme() throws(CredentialError) -> String {
        let isToken = tokenType.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0)
        }
        guard isToken, !tokenType.isEmpty else {
            throw CredentialError(
                .malformedReply, "the provider's token for account \(accountID) has no valid type")
        }
        return tokenType.lowercased() == "bearer" ? "Bearer" : tokenType
    }
}

/// The words of `token --format`.
package enum TokenFormat: String, Sendable, CaseIterable {
    /// The token alone.
    case token
    /// A JSON object with the known metadata of the token.
    case json
    /// A header field: `Authorization: Bearer …`.
    case header
    /// The value of the header field: `Bearer …`.
    case bearer
    /// Shell commands that export `ACCESS_TOKEN` and `ACCESS_TOKEN_EXPIRES_ON`.
    case env
    /// A JSON object of header fields: `{"Authorization":"Bearer …"}`.
    case headersJSON = "headers-json"
    /// The text that mail servers accept in place of a password: SASL XOAUTH2, in base64.
    case xoauth2
    /// A Kubernetes ExecCredential.
    case execCredential = "exec-credential"
    /// The JSON object that sandboxes read from a credential source: version, token and end.
    case credential
}
