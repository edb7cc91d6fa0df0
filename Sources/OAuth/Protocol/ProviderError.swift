/// A refusal in OAuth's own words (RFC 6749 §4.1.2.1 and §5.2), as it came; foreign text throughout.
package struct ProviderError: Sendable, Equatable {
    /// `error`.
    package var code: String
    /// `error_description`.
    package var description: String?
    /// `error_uri`.
    package var uri: String?
    /// The HTTP status it came with; `nil` for a redirect.
    package var status: Int?
    /// `Retry-After`, as it came.
    package var retryAfter: String?

    /// Makes a refusal.
    package init(
        code: String, description: String? = nil, uri: String? = nil, status: Int? = nil, retryAfter: String? = nil
    ) {
        self.code = code
        self.description = description
        self.uri = uri
        self.status = status
        self.retryAfter = retryAfter
    }
}
