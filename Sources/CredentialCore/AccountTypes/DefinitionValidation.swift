/// The rules for the values of a definition, shared by its JSON form and by importers of other forms.
///
/// Each gives the fault of a value, in words that go on after the key's name ("is not an absolute URL"), or `nil`
/// for a valid one. The words never quote the value: it may be a secret put at the wrong key. Only the origin of a
/// URL with http is quoted.
package enum DefinitionValidation {
    /// An endpoint, issuer or API: an `https` URL without fragment, or an `http` one of the loopback.
    package static func webAddress(_ text: String) -> LocalizedMessage? {
        guard let address = URI(text) else { return "is not an absolute URL" }
        guard address.isWeb else { return "is not an https URL" }
        guard address.isSecure else {
            return "must be an https URL: http is only allowed for localhost, not for \(address.origin)"
        }
        return address.fragment == nil ? nil : "must not have a fragment"
    }

    /// An issuer (RFC 8414 §2): a web address without query.
    package static func issuer(_ text: String) -> LocalizedMessage? {
        if let problem = webAddress(text) { return problem }
        return URI(text)?.query == nil ? nil : "must not have a query"
    }

    /// An origin: a web address without path and query, or a mail server.
    package static func origin(_ text: String) -> LocalizedMessage? {
        if let address = URI(text), Destination.isMail(address.scheme) {
            return !address.host.isEmpty && address.path.isEmpty && address.query == nil && address.fragment == nil
                ? nil : "must be an origin: only scheme, host and port"
        }
        if let problem = webAddress(text) { return problem }
        guard let address = URI(text), address.query == nil, ["", "/"].contains(address.path) else {
            return "must be an origin: only scheme, host and port"
        }
        return nil
    }

    /// A redirect URI (RFC 6749 §3.1.2, RFC 8252 §7), absolute and without fragment. It is `https`, `http` of the
    /// loopback, `urn:…` or an app's own scheme, but not one that a browser runs or reads from the disk.
    package static func redirectURI(_ text: String) -> LocalizedMessage? {
        guard let address = URI(text) else { return "is not an absolute URL" }
        if address.scheme == "https" || address.scheme == "http" { return webAddress(text) }
        if ["javascript", "data", "vbscript", "file", "blob", "about"].contains(address.scheme) {
            return "has a scheme that cannot receive a redirect"
        }
        if address.host.isEmpty && address.path.isEmpty { return "is not an absolute URL" }
        if address.scheme == "localhost" { return "must begin with 'http://'" }
        return address.fragment == nil ? nil : "must not have a fragment"
    }

    /// A resource indicator (RFC 8707 §2): an absolute URI without fragment. It is only a name; no request goes
    /// there.
    package static func resource(_ text: String) -> LocalizedMessage? {
        guard let address = URI(text) else { return "is not an absolute URI" }
        return address.fragment == nil ? nil : "must not have a fragment"
    }

    /// A client identifier (RFC 6749 appendix A.1): printable ASCII.
    package static func clientID(_ text: String) -> LocalizedMessage? {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } && text.utf8.count <= 1024
            ? nil : "contains characters that are not valid in a client ID (RFC 6749 appendix A.1)"
    }

    /// One scope (RFC 6749 §3.3): printable ASCII without space, `"` and `\`.
    package static func scopeToken(_ text: String) -> LocalizedMessage? {
        let isToken =
            !text.isEmpty
            && text.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
        return isToken ? nil : "contains characters that are not valid in a scope (RFC 6749 §3.3)"
    }

    /// The path of a file, from the root: a definition is read from anywhere.
    package static func absolutePath(_ text: String) -> LocalizedMessage? {
        guard text.hasPrefix("/") else { return "must be an absolute path, like /etc/ssl/client.pem" }
        return plainText(text)
    }

    /// The URL of a proxy. User and password belong in a place that only the user reads.
    package static func proxy(_ text: String) -> LocalizedMessage? {
        if text.contains("@") { return "must not contain a user or password: set them in the variable https_proxy" }
        guard let address = URI(text), ["http", "https", "socks5", "socks5h"].contains(address.scheme),
            !address.host.isEmpty, address.port != nil, ["", "/"].contains(address.path), address.query == nil,
            address.fragment == nil
        else { return "must be http://HOST:PORT, https://HOST:PORT or socks5h://HOST:PORT" }
        return nil
    }

    /// The path of a file with a secret, from the root or from the user's home: a definition is read from anywhere.
    package static func secretPath(_ text: String) -> LocalizedMessage? {
        guard text.hasPrefix("/") || text.hasPrefix("~/") else {
            return "must be an absolute path or begin with '~/'"
        }
        return plainText(text)
    }

    /// A name, see ``Identifier``.
    package static func name(_ text: String) -> LocalizedMessage? {
        Identifier.isValid(text)
            ? nil : "must be 1 to 128 letters, digits, '.', '_' and '-', beginning with a letter or digit"
    }

    /// A tenant of B2C: a domain name or a GUID.
    package static func tenant(_ text: String) -> LocalizedMessage? {
        let isTenant =
            Identifier.isValid(text) && !text.contains("_") && !text.contains("..") && !text.hasSuffix(".")
        return isTenant ? nil : "is neither a domain name nor a GUID"
    }

    /// Text for people or providers: anything but control characters.
    package static func plainText(_ text: String) -> LocalizedMessage? {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            ? "contains control characters" : nil
    }

    // MARK: Extra parameters and header fields

    /// The parameters that only the product itself may set: one set twice, or set from outside, would break the
    /// protections that depend on it (RFC 6749 §3.1, RFC 7636, RFC 7521, RFC 9101).
    package static let reservedParameters: Set<String> = [
        "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "code", "code_verifier", "grant_type", "refresh_token", "username", "password",
        "client_secret", "client_assertion", "client_assertion_type", "assertion", "assertion_type", "request",
        "request_uri", "device_code", "subject_token", "subject_token_type", "actor_token", "actor_token_type",
        "dpop_jkt",
    ]

    /// An extra parameter of a request.
    package static func parameter(_ name: String, _ value: String) -> LocalizedMessage? {
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return "is not a valid name of a parameter"
        }
        if reservedParameters.contains(name.lowercased()) { return "is set by credmgr and cannot be set here" }
        return plainText(value)
    }

    /// An extra header field (RFC 9110 §5): no field that carries credentials or frames the message.
    package static func header(_ name: String, _ value: String) -> LocalizedMessage? {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        let isToken =
            !name.isEmpty
            && name.utf8.allSatisfy {
                marks.contains($0) || ($0 < 0x80 && Character(Unicode.Scalar($0)).isLetter)
                    || ($0 >= 0x30 && $0 <= 0x39)
            }
        guard isToken else { return "is not a valid name of a header field" }
        let lowered = name.lowercased()
        if barredHeaders.contains(lowered) || barredHeaderPrefixes.contains(where: lowered.hasPrefix) {
            return "is set by credmgr and cannot be set here"
        }
        guard value.utf8.allSatisfy({ ($0 >= 0x20 && $0 < 0x7F) || $0 == 0x09 }) else {
            return "contains characters that are not valid in a header field"
        }
        return nil
    }

    private static let barredHeaders: Set<String> = [
        "authorization", "cookie", "host", "connection", "transfer-encoding", "te", "trailer", "upgrade", "expect",
        "keep-alive", "dpop",
    ]
    private static let barredHeaderPrefixes = ["content-", "proxy-"]
}
