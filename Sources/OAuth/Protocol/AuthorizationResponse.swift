package import CredentialCore

/// The provider's response at the redirect URI (RFC 6749 §4.1.2), or the text that the user pasted.
package struct AuthorizationResponse: Sendable, Equatable {
    /// The code.
    package var code: String?
    /// The refusal.
    package var error: OAuthError?
    /// The `state` sent back; `nil` only if a code was pasted alone.
    package var state: String?
    /// The issuer (RFC 9207).
    package var issuer: String?
    /// Whether it is a code pasted alone at an out-of-band redirect.
    package var isBareCode = false

    /// Reads a redirected URL (its parameters in the query or the fragment), the parameters alone (a form post, or
    /// pasted), or at an out-of-band redirect the code alone.
    ///
    /// - Parameters:
    ///   - text: the received text; at most 128 KiB.
    ///   - redirectURI: the redirect URI that the request named.
    /// - Throws: ``ErrorCode/validationFailed`` for another redirect URI, a parameter twice, or an empty text.
    package static func parse(
        _ text: String, redirectURI: String
    ) throws(CredentialError) -> AuthorizationResponse {
        let text = trimmed(text)
        guard !text.isEmpty, text.utf8.count <= 1 << 17 else {
            throw refused(text.isEmpty ? "it is empty" : "it is longer than 128 KiB")
        }
        if let address = URI(text), address.isWeb || !mayBeBareCode(address, redirectURI) {
            guard let expected = URI(redirectURI), RedirectURI.matches(address, expected) else {
                throw refused("it is not for the redirect URI of this sign-in")
            }
            let query = address.query ?? ""
            if let response = try read(query) { return response }
            if let response = try read(address.fragment ?? "") { return response }
            throw refused("it has neither a code nor an error")
        }
        if let response = try read(parametersAlone(text)) { return response }
        guard RedirectURI.isOutOfBand(redirectURI), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw refused("it is neither a URL of this sign-in nor its parameters")
        }
        return AuthorizationResponse(code: text, isBareCode: true)
    }

    /// The code, after `state` and `iss` have been checked.
    ///
    /// - Parameters:
    ///   - state: the state of the request.
    ///   - issuer: the issuer of the provider, if it is known.
    ///   - requiresIssuer: whether the provider's metadata promises `iss` in every response (RFC 9207 §3).
    /// - Throws: ``ErrorCode/validationFailed`` for another state or issuer; ``OAuthError`` wrapped by `refusal`.
    package func checkedCode(
        state: String, issuer: String?, requiresIssuer: Bool, refusal: (OAuthError) -> CredentialError
    ) throws(CredentialError) -> String {
        try check(state: state, issuer: issuer, requiresIssuer: requiresIssuer)
        if let error {
            let refusal = refusal(error)
            guard self.issuer == nil, requiresIssuer, !isBareCode else { throw refusal }
            throw CredentialError(
                refusal.code, "\(refusal.text); the response may be from another server: no issuer (RFC 9207)",
                hint: refusal.advice, details: refusal.details)
        }
        guard let code else { throw Self.refused("it has no code") }
        return code
    }

    /// Checks that it answers the request with `state` and comes from `issuer`. A refusal may lack the issuer: some
    /// servers send it with codes only, and a refusal can do no harm. Parameters as for
    /// ``checkedCode(state:issuer:requiresIssuer:refusal:)``.
    ///
    /// - Throws: ``ErrorCode/validationFailed``.
    package func check(state: String, issuer: String?, requiresIssuer: Bool) throws(CredentialError) {
        if !isBareCode {
            guard let received = self.state, ConstantTime.equal(received, state) else {
                throw Self.refused("its state does not match this sign-in")
            }
        }
        if let received = self.issuer, let issuer {
            guard ConstantTime.equal(received, issuer) else {
                throw Self.refused(
                    "it comes from another issuer, '\(UntrustedText.shown(received))'", issuer: received)
            }
        } else if self.issuer == nil, requiresIssuer, error == nil, !isBareCode {
            throw Self.refused("it lacks the issuer that the provider promises (RFC 9207)")
        }
    }

    /// Whether a text that looks like a URL may be a code with a colon in it.
    private static func mayBeBareCode(_ address: URI, _ redirectURI: String) -> Bool {
        RedirectURI.isOutOfBand(redirectURI) && address.scheme != "urn" && address.host.isEmpty
    }

    /// Reads parameters; `nil` when there is neither a code nor an error among them.
    private static func read(_ parameters: String) throws(CredentialError) -> AuthorizationResponse? {
        var known: [String: String] = [:]
        for (name, value) in FormURLEncoding.decodeLeniently(parameters, strict: strictNames)
        where names.contains(name) {
            // The parameters that decide must be readable and there once. Of any other the first value counts.
            guard let value else { throw refused("its '\(name)' is not form-encoded") }
            guard known[name] == nil || !strictNames.contains(name) else {
                throw refused("it has the parameter '\(name)' twice")
            }
            known[name] = known[name] ?? value
        }
        let code = known["code"].flatMap { $0.isEmpty ? nil : $0 }
        let error = known["error"].flatMap { $0.isEmpty ? nil : $0 }
        guard code != nil || error != nil else { return nil }
        guard code == nil || error == nil else { throw refused("it has both a code and an error") }
        guard code.map(isPrintable) ?? true else { throw refused("its code holds a control character") }
        return AuthorizationResponse(
            code: code,
            error: error.map {
                OAuthError(code: $0, description: known["error_description"], uri: known["error_uri"])
            },
            state: known["state"], issuer: known["iss"])
    }

    private static let names: Set<String> = [
        "code", "state", "error", "error_description", "error_uri", "iss",
    ]
    private static let strictNames: Set<String> = ["code", "state", "iss"]

    private static func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    /// Parameters pasted or posted may begin with `?` or `#`.
    private static func parametersAlone(_ text: String) -> String {
        text.hasPrefix("?") || text.hasPrefix("#") ? String(text.dropFirst()) : text
    }

    /// The text without blanks at its ends, and without the quotes or angle brackets that shells, mails and chats
    /// put around a URL.
    private static func trimmed(_ text: String) -> String {
        var scalars = Substring(text).unicodeScalars
        while true {
            scalars = scalars.drop(while: isBlank)
            while let last = scalars.last, isBlank(last) { scalars.removeLast() }
            guard let first = scalars.first, let last = scalars.dropFirst().last, isPair(first, last) else {
                return String(scalars)
            }
            scalars = scalars.dropFirst().dropLast()
        }
    }

    /// Whether a character shows nothing: a blank of any width, or a mark such as that of the byte order.
    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || (0x200B...0x200F).contains(scalar.value)
            || [0x2060, 0xFEFF].contains(scalar.value)
    }

    /// Whether two characters enclose a text. Each language sets typographic quotes in its own way.
    private static func isPair(_ first: Unicode.Scalar, _ last: Unicode.Scalar) -> Bool {
        let typographic = "\u{201C}\u{201D}\u{201E}\u{2018}\u{2019}\u{201A}\u{AB}\u{BB}\u{2039}\u{203A}"
        return switch first {
        case "\"", "'", "`": first == last
        case "<": last == ">"
        default: typographic.unicodeScalars.contains(first) && typographic.unicodeScalars.contains(last)
        }
    }

    /// - Parameter issuer: the issuer that the response names, if that is the reason.
    private static func refused(_ reason: LocalizedMessage, issuer: String? = nil) -> CredentialError {
        let text: LocalizedMessage = "cannot use the response of the sign-in page: \(reason)"
        let hint: LocalizedMessage =
            "paste the whole redirect URL from the browser, or start the sign-in again"
        guard let issuer else { return CredentialError(.validationFailed, text, hint: hint) }
        return AddressAuthor.refusal(
            text, of: issuer, by: LocalizedMessage(verbatim: "the response of the sign-in page"), rule: .response,
            hint: hint)
    }
}

extension AuthorizationResponse {
    /// The `state` in a redirected URL, in its query or fragment, or in parameters alone. A pending sign-in is
    /// found by it before any other part is trusted. `nil` when there is no state, or more than one.
    package static func state(in redirected: String) -> String? {
        let text = trimmed(redirected)
        let texts = URI(text).map { [$0.query, $0.fragment].compactMap(\.self) } ?? [text]
        let states = texts.flatMap { text in
            FormURLEncoding.decodeLeniently(text.drop { $0 == "?" || $0 == "#" }, strict: strictNames)
                .filter { $0.name == "state" }
        }
        return states.count == 1 ? states[0].value : nil
    }
}
