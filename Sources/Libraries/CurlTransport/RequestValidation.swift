import CredentialCore

/// The rules that a request must meet before any part of it is sent.
enum RequestValidation {
    /// Checks the address, the method and the header fields.
    ///
    /// - Throws: ``ErrorCode/denied`` for an address that is neither `https` nor `http` on localhost;
    ///   ``ErrorCode/usage`` for a request that is no HTTP (RFC 9110 §5, §9).
    static func check(_ request: HTTPRequest) throws(CredentialError) {
        guard request.address.isSecure, !request.address.host.isEmpty else {
            throw AddressAuthor.refusal(
                "\(request.address.origin) is not a safe address for credentials", of: request.address.origin,
                by: request.address.author.party ?? LocalizedMessage(verbatim: "the user"), rule: .https,
                code: .denied, hint: "use https; plain http is only allowed for localhost")
        }
        guard HTTPField.isToken(request.method), request.method == request.method.uppercased() else {
            throw CredentialError(
                .usage, "\(UntrustedText.shown(request.method, limit: 40)) is not a valid HTTP method")
        }
        guard request.method != "HEAD" || request.body.isNone else {
            throw CredentialError(.usage, "a HEAD request must not have a body")
        }
        for (name, value) in request.headers { try HTTPField.check(name, value) }
        if case .multipart(let parts) = request.body {
            guard !hasField("content-type", request) else {
                throw CredentialError(.usage, "a multipart request sets its own content-type")
            }
            guard parts.allSatisfy({ !$0.name.utf8.contains(0) }) else {
                throw CredentialError(.usage, "the name of a part contains a NUL character")
            }
        }
    }

    /// Whether the request has a field, by its lower-case name.
    static func hasField(_ name: String, _ request: HTTPRequest) -> Bool {
        request.headers.contains { $0.name.lowercased() == name }
    }

    /// The field in libcurl's form: `Identifier;` means a field that is there but empty.
    static func line(_ field: (name: String, value: String)) -> String {
        field.value.allSatisfy({ $0 == " " }) ? field.name + ";" : "\(field.name): \(field.value)"
    }
}

extension HTTPBody {
    /// Whether there is no body.
    var isNone: Bool { if case .none = self { true } else { false } }
    /// Whether it is a form of parts.
    var isMultipart: Bool { if case .multipart = self { true } else { false } }
}
