/// The requirements for a new sign-in so that a protected resource accepts its token: a wider scope (RFC 6750
/// §3.1), a stronger or newer authentication (RFC 9470), or certain claims (OpenID Connect Core §5.5).
public struct StepUp: Sendable, Hashable {
    /// All scopes to ask for, those of the sign-in before among them; empty to leave them as they are.
    public var scope: [String]
    /// `acr_values`, as the resource named them.
    public var acrValues: String?
    /// `max_age`: how many seconds ago the person may have authenticated at most.
    public var maximumAge: Int64?
    /// `claims`, a JSON object.
    public var claims: String?

    /// Makes a demand; empty by default.
    public init(
        scope: [String] = [], acrValues: String? = nil, maximumAge: Int64? = nil, claims: String? = nil
    ) {
        self.scope = scope
        self.acrValues = acrValues
        self.maximumAge = maximumAge
        self.claims = claims
    }

    /// The parameters of an authorization request for it, but for the scope.
    public var parameters: [String: String] {
        var parameters: [String: String] = [:]
        parameters["acr_values"] = acrValues
        parameters["max_age"] = maximumAge.map { String($0) }
        parameters["claims"] = claims
        return parameters
    }

    /// The options of `login` for it, without the scope; `nil` if it needs no option.
    package var options: String? {
        let words = [
            ("--acr-values", acrValues), ("--max-age", maximumAge.map { String($0) }), ("--claims", claims),
        ]
        .compactMap { name, value in value.map { "\(name) \(ShellQuoting.quoted($0))" } }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }
}
