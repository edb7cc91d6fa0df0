import CredentialCore
import StrictJSON

extension OAuthClient {
    /// Returns the workload's identity token as its platform made it; `nil` if the type names no identity token.
    ///
    /// The expected audience is compared first: a token for another server is sent to no server.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` for a token with another audience; ``ErrorCode/configuration`` if
    ///   the source has no token; ``ErrorCode/temporary`` and ``ErrorCode/denied`` of the platform.
    func workloadIdentity() throws(CredentialError) -> Secret? {
        guard type.identityToken != nil else { return nil }
        let found =
            if let request = try context.clientSecrets.identityTokenRequest(of: type) {
                try issued(request)
            } else {
                try context.clientSecrets.identityToken(of: type)
            }
        guard let token = found else {
            throw CredentialError(.configuration, "account type '\(type.name)' has no identity token")
        }
        if let audience = type.expectedIdentityAudience { try check(token, isFor: audience) }
        return token
    }

    /// Compares `aud` (RFC 7519 §4.1.3). The provider validates the signature, with keys that credmgr need not
    /// know.
    private func check(_ token: Secret, isFor audience: String) throws(CredentialError) {
        let claims = try CompactJWT(token.reveal(), .identityToken).claims
        let named =
            switch claims["aud"] {
            case .string(let one)?: [one]
            case .array(let several)?: several.compactMap(\.string)
            default: [String]()
            }
        guard !named.contains(audience) else { return }
        let shown =
            named.isEmpty ? "none" : named.map { UntrustedText.shown($0, limit: 100) }.joined(separator: ", ")
        throw CredentialError(
            .validationFailed,
            "account type \(type.name): the identity token has the audience \(shown), expected \(UntrustedText.shown(audience, limit: 100))",
            hint: "set identity_audience to the audience that the provider accepts")
    }

    /// Has the platform issue a token.
    private func issued(_ request: IdentityTokenRequest) throws(CredentialError) -> Secret {
        var sent = HTTPRequest(
            method: request.method, address: request.address,
            headers: [("accept", "application/json"), ("authorization", request.authorization.reveal())])
        if request.method == "POST" {
            sent.headers.append(("content-type", "application/json"))
            sent.body = .bytes([])
        }
        let response = try context.transport.send(sent)
        let place = "\(request.platform) at \(request.address.origin)"
        switch response.status {
        case 200..<300: break
        case 408, 425, 429, 500...599:
            throw CredentialError(
                .temporary, "cannot get an identity token from \(place): HTTP status \(response.status)")
        case 400..<500:
            throw CredentialError(
                .denied, "cannot get an identity token from \(place): HTTP status \(response.status)")
        default:
            throw CredentialError(
                .temporary, "cannot get an identity token from \(place): HTTP status \(response.status)",
                hint: "a network that wants a sign-in of its own may be in between")
        }
        let member = (try? JSONValue.parse(response.body.withoutByteOrderMark))?.object?[request.member]?.string
        guard let token = member, !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CredentialError(
                .malformedReply,
                "cannot read the identity token of \(place): expected JSON with a string '\(request.member)'")
        }
        return Secret(token)
    }
}
