import CredentialCore

/// What a request must keep to before anything of it is sent.
enum RequestRules {
    /// Fields that libcurl writes itself: a second one would let a server and a proxy see different requests.
    private static let reserved: Set<String> = ["content-length", "transfer-encoding", "expect", "connection"]

    /// Checks the address, the method and the header fields.
    ///
    /// - Throws: ``ErrorCode/denied`` for an address that is neither `https` nor loopback `http`;
    ///   ``ErrorCode/usage`` for what is no HTTP (RFC 9110 §5, §9).
    static func check(_ request: HTTPRequest) throws(CredentialError) {
        guard request.address.isSecure, !request.address.host.isEmpty else {
            throw CredentialError(
                .denied, "\(request.address.origin) is not a safe address for credentials",
                hint: "use https; plain http is for this machine's loopback only")
        }
        guard isToken(request.method), request.method == request.method.uppercased() else {
            throw CredentialError(.usage, "\(ForeignText.shown(request.method, limit: 40)) is no HTTP method")
        }
        guard request.method != "HEAD" || request.body.isNone else {
            throw CredentialError(.usage, "a HEAD request carries no body")
        }
        for (name, value) in request.headers { try checkField(name, value) }
        if case .multipart(let parts) = request.body {
            guard !hasField("content-type", request) else {
                throw CredentialError(.usage, "a multipart request writes its content-type itself")
            }
            guard parts.allSatisfy({ !$0.name.utf8.contains(0) }) else {
                throw CredentialError(.usage, "the name of a part holds a NUL character")
            }
        }
    }

    /// Whether the request has a field, by its lower-case name.
    static func hasField(_ name: String, _ request: HTTPRequest) -> Bool {
        request.headers.contains { $0.name.lowercased() == name }
    }

    /// The field as libcurl takes it: `Name;` stands for a field that is there but empty.
    static func line(_ field: (name: String, value: String)) -> String {
        field.value.allSatisfy({ $0 == " " }) ? field.name + ";" : "\(field.name): \(field.value)"
    }

    private static func checkField(_ name: String, _ value: String) throws(CredentialError) {
        let shown = ForeignText.shown(name, limit: 40)
        guard isToken(name) else { throw CredentialError(.usage, "\(shown) is no name of a header field") }
        guard !reserved.contains(name.lowercased()) else {
            throw CredentialError(.usage, "the header field \(shown) cannot be set")
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw CredentialError(.usage, "the header field \(shown) holds a control character")
        }
    }

    /// Whether `text` is a token of RFC 9110 §5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}

extension HTTPBody {
    /// Whether there is no body.
    var isNone: Bool { if case .none = self { true } else { false } }
    /// Whether it is a form of parts.
    var isMultipart: Bool { if case .multipart = self { true } else { false } }
}
