/// A refusal in OAuth's own words (RFC 6749 §4.1.2.1 and §5.2), as it came; foreign text throughout.
public struct ProviderError: Sendable, Equatable {
    /// `error`.
    public var code: String
    /// `error_description`.
    public var description: String?
    /// `error_uri`.
    public var uri: String?
    /// The HTTP status it came with; `nil` for a redirect.
    public var status: Int?
    /// `Retry-After`, as it came.
    public var retryAfter: String?

    /// Makes a refusal.
    public init(
        code: String, description: String? = nil, uri: String? = nil, status: Int? = nil, retryAfter: String? = nil
    ) {
        self.code = code
        self.description = description
        self.uri = uri
        self.status = status
        self.retryAfter = retryAfter
    }
}
