import CredentialCore

extension HTTPResponse {
    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
}
