import CredentialCore
import StrictJSON

/// Reads the members of an object that another program wrote: each is checked, and those that are not asked for are
/// ignored. `null` counts as absent.
struct FieldReader {
    /// The error code of a value that is not accepted.
    let code: ErrorCode
    /// The description of the object for messages: "the reply of plugin x".
    let place: LocalizedMessage
    private let members: JSONObject
    private let path: String

    init(_ members: JSONObject, code: ErrorCode, place: LocalizedMessage, path: String = "") {
        self.members = members
        self.code = code
        self.place = place
        self.path = path
    }

    /// The value, `nil` if it is absent or `null`.
    func value(_ name: String) -> JSONValue? { members[name].flatMap { $0 == .null ? nil : $0 } }

    /// A string that is not empty, has at most `limit` bytes and fits `rule`.
    func text(
        _ name: String, limit: Int, _ rule: FieldRule = .plain
    ) throws(CredentialError) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else { throw wrongKind(name, value, "a string") }
        if text.isEmpty { throw fault(name, "is empty") }
        if text.utf8.count > limit { throw fault(name, "is longer than \(limit) bytes") }
        if let problem = rule.problem(text) { throw fault(name, problem) }
        return text
    }

    /// As ``text(_:limit:_:)``, but it must be there.
    func requiredText(
        _ name: String, limit: Int, _ rule: FieldRule = .plain
    ) throws(CredentialError) -> String {
        guard let text = try text(name, limit: limit, rule) else { throw fault(name, "is missing") }
        return text
    }

    /// A whole number of `range`.
    func integer(_ name: String, in range: ClosedRange<Int64>) throws(CredentialError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .integer(let number) = value else { throw wrongKind(name, value, "a whole number") }
        guard range.contains(number) else {
            throw fault(name, "is not between \(range.lowerBound) and \(range.upperBound)")
        }
        return number
    }

    /// A boolean.
    func flag(_ name: String) throws(CredentialError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let flag = value.bool else { throw wrongKind(name, value, "true or false") }
        return flag
    }

    /// At most 100 strings, each as ``text(_:limit:_:)``.
    func texts(
        _ name: String, limit: Int, _ rule: FieldRule = .plain
    ) throws(CredentialError) -> [String]? {
        guard let elements = try elements(name) else { return nil }
        var texts: [String] = []
        for element in elements {
            guard let text = element.string, !text.isEmpty else { throw fault(name, "must contain only strings") }
            if text.utf8.count > limit { throw fault(name, "has a string longer than \(limit) bytes") }
            if let problem = rule.problem(text) { throw fault(name, problem) }
            texts.append(text)
        }
        return texts
    }

    /// At most 100 whole numbers.
    func integers(_ name: String) throws(CredentialError) -> [Int64]? {
        guard let elements = try elements(name) else { return nil }
        var numbers: [Int64] = []
        for element in elements {
            guard case .integer(let number) = element else { throw fault(name, "must contain only whole numbers") }
            numbers.append(number)
        }
        return numbers
    }

    /// An object, to be read in its turn.
    func reader(_ name: String) throws(CredentialError) -> FieldReader? {
        try object(name).map { FieldReader($0, code: code, place: place, path: "\(path)\(name).") }
    }

    /// An object as it is, of at most `limit` bytes as compact JSON.
    func object(_ name: String, limit: Int = .max) throws(CredentialError) -> JSONObject? {
        guard let value = value(name) else { return nil }
        guard let object = value.object else { throw wrongKind(name, value, "an object") }
        if limit != .max, value.bytes().count > limit { throw fault(name, "is larger than \(limit) bytes") }
        return object
    }

    /// The error for a member that does not do; it never quotes the value, which may be a secret.
    func fault(_ name: String, _ problem: LocalizedMessage) -> CredentialError {
        CredentialError(code, "'\(path)\(name)' \(problem) in \(place)")
    }

    private func elements(_ name: String) throws(CredentialError) -> [JSONValue]? {
        guard let value = value(name) else { return nil }
        guard let elements = value.array else { throw wrongKind(name, value, "an array") }
        if elements.count > 100 { throw fault(name, "has more than 100 elements") }
        return elements
    }

    private func wrongKind(_ name: String, _ value: JSONValue, _ expected: LocalizedMessage) -> CredentialError {
        fault(name, "is \(value.kind), not \(expected),")
    }
}

/// The characters and the form that a string must have.
struct FieldRule: Sendable {
    /// The fault of a text, as words that continue after its name; `nil` for a valid text.
    let problem: @Sendable (String) -> LocalizedMessage?

    /// Text for people: no control characters.
    static let plain = FieldRule(problem: DefinitionValidation.plainText)
    /// A word for a header or a form: visible ASCII.
    static let visible = FieldRule { text in
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? nil : "has a character that is not visible ASCII"
    }
    /// A name, see ``Identifier``.
    static let name = FieldRule(problem: DefinitionValidation.name)
    /// One scope (RFC 6749 §3.3).
    static let scope = FieldRule(problem: DefinitionValidation.scopeToken)
    /// A URL of the web. The rule for pages decides whether a browser is sent there.
    static let webAddress = FieldRule { text in
        guard let address = URI(text) else { return "is not an absolute URL" }
        return address.isWeb ? nil : "is not a URL with https, or http to localhost"
    }
    /// A path that means the same everywhere: absolute or below the home, and not upwards.
    static let path = FieldRule { text in
        guard text.hasPrefix("/") || text.hasPrefix("~/") else {
            return "has a path that is neither absolute nor ~/…"
        }
        if text.split(separator: "/").contains("..") { return "has a path with '..'" }
        return DefinitionValidation.plainText(text)
    }
    /// The origin of pages that a browser may be sent to.
    static let pageOrigin = FieldRule { text in
        PageOrigin(text) == nil
            ? "must contain only origins such as https://login.example.com or https://*.example.com" : nil
    }
    /// A redirect URI.
    static let redirectURI = FieldRule(problem: DefinitionValidation.redirectURI)
    /// A `state`: unguessable, and the same in a URL as outside (RFC 3986 §2.3).
    static let state = FieldRule { text in
        guard text.utf8.count >= 16 else { return "is shorter than 16 characters" }
        return text.utf8.allSatisfy { byte in
            let scalar = Unicode.Scalar(byte)
            return byte < 0x80
                && (scalar.properties.isAlphabetic || (0x30...0x39).contains(byte) || "-._~".utf8.contains(byte))
        } ? nil : "has a character other than letters, digits, '-', '.', '_' and '~'"
    }
}
