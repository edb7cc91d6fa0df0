public import CredentialCore
public import StrictJSON

/// Sign-in on another device (RFC 8628).
public struct DeviceFlow: Sendable {
    private let client: OAuthClient

    /// The longest time between two polls, in seconds.
    private static let longestInterval: Int64 = 60

    /// Why the last poll gave no state of the sign-in, in the pending state.
    private static let trouble = "trouble"

    /// Makes the flow for a client.
    public init(_ client: OAuthClient) { self.client = client }

    /// The author of the pages: that of the endpoint, or the endpoint's own server if the user named the endpoint.
    private var author: AddressAuthor {
        let endpoint = client.metadata.endpoints[.deviceAuthorization]
        guard let author = endpoint?.author, author != .user else { return .issuer(host: endpoint?.host ?? "") }
        return author
    }

    /// Asks for a code to show.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the provider has no device flow; the error that a refusal means;
    ///   ``ErrorCode/validationFailed`` for a page that the provider may not name.
    public func begin(_ request: SignInRequest, scope: [String]) throws(CredentialError) -> SignInStep {
        let endpoint = try client.metadata.required(.deviceAuthorization)
        var fields: [FormURLEncoding.Field] = []
        if !scope.isEmpty { fields.append(("scope", Scope.text(scope))) }
        if let resource = request.resource ?? client.type.resource { fields.append(("resource", resource)) }
        if let audience = request.audience ?? client.type.audience { fields.append(("audience", audience)) }
        let place: LocalizedMessage = "device authorization endpoint of \(endpoint.origin)"
        let members: JSONObject
        switch try client.reply(to: fields, of: endpoint, from: place) {
        case .object(let object): members = object
        case .refused(let refusal): throw client.dialect.error(for: refusal, in: .deviceAuthorization)
        }
        let document: LocalizedMessage = "the response of the \(place)"
        let authorization = try DeviceAuthorization(members, from: document, now: client.context.clock.now)
        for page in [authorization.verificationURI, authorization.complete].compactMap(\.self) {
            try client.type.apiNamedServer?.check(openedPage: page, client.metadata)
            try page.named(by: author).checkAuthor(as: "verification_uri", in: document)
        }
        var pending = JSONObject()
        pending["flow"] = .string(SignInFlow.device.rawValue)
        pending["device_code"] = .string(authorization.deviceCode.reveal())
        pending["user_code"] = .string(authorization.userCode)
        pending["verification_uri"] = .string(authorization.verificationURI.description)
        pending["verification_uri_complete"] = authorization.complete.map { .string($0.description) }
        pending["expires"] = .integer(authorization.expires.epochSeconds)
        pending["interval"] = .integer(Int64(authorization.interval))
        pending["scope"] = JSONValue(scope)
        client.prover?.keep(in: &pending)
        return try show(pending)
    }

    /// Asks whether the code has been entered.
    ///
    /// Trouble of the network or the server does not end the sign-in: the next poll comes later (RFC 8628 §3.5).
    ///
    /// - Throws: ``ErrorCode/denied`` when it was refused, ``ErrorCode/temporary`` when it was not entered in time;
    ///   the error that a refusal means.
    public func poll(_ request: SignInRequest, pending: JSONObject) throws(CredentialError) -> SignInStep {
        guard let code = pending["device_code"]?.string, let interval = pending["interval"]?.integer,
            let expires = pending["expires"]?.integer
        else {
            throw CredentialError(.validationFailed, "the pending sign-in is damaged", hint: "restart the sign-in")
        }
        guard client.context.clock.now < Timestamp(epochSeconds: expires) else {
            var error = client.dialect.error(for: OAuthError(code: "expired_token"), in: .devicePoll)
            // Polls that were answered by something else than the token endpoint are why.
            if let trouble = pending[Self.trouble]?.string {
                error = CredentialError(
                    error.code, "\(error.text); the last poll failed: \(LocalizedMessage(kept: trouble))",
                    hint: error.advice,
                    details: error.details)
            }
            throw error
        }
        let reply: EndpointResponse
        switch try answer(to: code) {
        case .success(let sound): reply = sound
        case .failure(let error):
            client.context.note("asked in vain, will ask again: \(error)")
            var pending = pending
            pending[Self.trouble] = .string(error.message)
            return try show(pending, interval: max(interval, 1).multipliedReportingOverflow(by: 2).partialValue)
        }
        var pending = pending
        pending[Self.trouble] = nil
        client.prover?.keep(in: &pending)
        switch reply {
        case .refused(let refusal):
            switch refusal.code.lowercased() {
            case "authorization_pending": return try show(pending)
            case "slow_down": return try show(pending, interval: interval.addingReportingOverflow(5).partialValue)
            default: throw client.dialect.error(for: refusal, in: .devicePoll)
            }
        case .object(let members):
            let scope = pending["scope"]?.array?.compactMap(\.string) ?? []
            return .done(try client.signInResult(client.receive(members), for: request, scope: scope))
        }
    }

    /// The token endpoint's response to a poll, or why it did not answer itself: no network, a gateway, a page.
    ///
    /// - Throws: the error that keeps a poll from being sent at all.
    private func answer(to code: String) throws(CredentialError) -> Result<EndpointResponse, CredentialError> {
        let response: OAuthClient.RawResponse
        do throws(CredentialError) {
            response = try client.sendTokenRequest(TokenRequest(grant: .deviceCode(Secret(code))))
        } catch {
            guard error.code == .temporary else { throw error }
            return .failure(error)
        }
        do throws(CredentialError) {
            let reply = try response.reply()
            if case .refused(let refusal) = reply, refusal.isWithoutCode {
                return .failure(client.dialect.error(for: refusal, in: .devicePoll))
            }
            return .success(reply)
        } catch {
            return .failure(error)
        }
    }

    private func show(_ pending: JSONObject, interval: Int64? = nil) throws(CredentialError) -> SignInStep {
        var pending = pending
        if let interval { pending["interval"] = .integer(min(max(interval, 1), Self.longestInterval)) }
        guard let code = pending["user_code"]?.string,
            let address = pending["verification_uri"]?.string.flatMap(URI.init)?.named(by: author),
            let expires = pending["expires"]?.integer, let seconds = pending["interval"]?.integer,
            let interval = Int(exactly: seconds)
        else {
            throw CredentialError(.validationFailed, "the pending sign-in is damaged", hint: "restart the sign-in")
        }
        let interaction = Interaction.showCode(
            userCode: code, verificationURI: address,
            complete: pending["verification_uri_complete"]?.string.flatMap(URI.init)?.named(by: author),
            interval: interval, expires: Timestamp(epochSeconds: expires))
        return .interaction(interaction, pending: pending)
    }
}
