/// The words of `token --format`.
package enum TokenFormat: String, Sendable, CaseIterable {
    /// The token alone.
    case token
    /// A JSON object with what is known of it.
    case json
    /// A header field: `Authorization: Bearer …`.
    case header
    /// What stands in the header field: `Bearer …`.
    case bearer
    /// Shell commands that export `ACCESS_TOKEN` and `ACCESS_TOKEN_EXPIRES_ON`.
    case env
    /// A Kubernetes ExecCredential.
    case execCredential = "exec-credential"
}
