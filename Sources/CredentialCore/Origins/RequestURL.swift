/// The address of a request as a user or a program gives it: a URL, or a path at the API of a type.
package enum RequestURL {
    /// The absolute URL that `text` is; `nil` for a path.
    ///
    /// - Throws: ``ErrorCode/usage`` for text with a scheme, or with an authority, that is no `https` or `http`
    ///   URL: it must never be taken for a path, with a body that was meant for another server.
    package static func absolute(_ text: String) throws(CredentialError) -> URI? {
        guard URI.hasScheme(text) || text.hasPrefix("//") || text.hasPrefix("\\") else { return nil }
        guard let address = URI(text), address.isWeb, Destination(address) != nil else {
            throw CredentialError(
                .usage, "'\(UntrustedText.shown(text, limit: 200))' is not an https URL",
                hint: "begin a path with a slash; use a URL without user name and with a port below 65536")
        }
        return address.withoutDotSegments
    }

    /// A path joined to the `api_base` of `type`; an empty one means the `api_base` as it is.
    ///
    /// - Throws: ``ErrorCode/usage``.
    package static func joined(_ path: String, to type: AccountType) throws(CredentialError) -> URI {
        guard let base = type.apiBase.flatMap(URI.init) else {
            throw CredentialError(
                .usage, "a relative URL requires an api_base: account type \(type.name) has none",
                hint: "such as: credmgr types set \(ShellQuoting.word(type.name)) api_base=https://api.example.com")
        }
        if path.isEmpty { return base }
        // A query alone is one of the api_base itself.
        let isQuery = path.hasPrefix("?")
        let basePath = !isQuery && base.path.hasSuffix("/") ? String(base.path.dropLast()) : base.path
        let separator = isQuery || path.hasPrefix("/") ? "" : "/"
        guard let whole = URI(base.origin + basePath + separator + path), whole.origin == base.origin
        else { throw CredentialError(.usage, "'\(UntrustedText.shown(path))' is not a URL or a path") }
        return whole.withoutDotSegments
    }
}
