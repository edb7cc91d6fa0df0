package import CredentialCore
package import StrictJSON

/// The metadata that a client publishes of itself at the URL that is its ID (OAuth Client ID Metadata Document,
/// draft -02).
package struct ClientIDMetadataDocument: Sendable {
    /// The redirect URIs that it lists.
    package let redirectURIs: [String]

    /// Why a text cannot be the URL of such a document; `nil` if it can (§3).
    package static func problem(of text: String) -> String? {
        guard let address = URI(text), address.scheme == "https", !address.host.isEmpty else {
            return "is not an https URL"
        }
        if address.pathComponents.isEmpty { return "has no path" }
        if address.fragment != nil { return "has a fragment" }
        return address.pathComponents.contains { $0 == "." || $0 == ".." } ? "has a path with dots" : nil
    }

    /// Whether a client id is the URL of a document.
    package static func isAddress(_ clientID: String) -> Bool { problem(of: clientID) == nil }

    /// Reads a document (§4).
    ///
    /// - Parameter address: the URL of the document.
    /// - Throws: ``ErrorCode/configuration`` for one that is about another client, or that no server will take.
    package init(_ document: JSONObject, at address: String) throws(CredentialError) {
        func refused(_ reason: LocalizedMessage) -> CredentialError {
            AddressAuthor.refusal(
                "the client's document \(UntrustedText.shown(address)) \(reason)", of: address,
                by: LocalizedMessage(verbatim: "the client's document"), rule: .clientDocument,
                code: .configuration, hint: "see the example document in docs/how-to/mcp.md")
        }
        guard let clientID = document["client_id"]?.string, ConstantTime.equal(clientID, address) else {
            throw refused("must have its own URL as client_id")
        }
        guard document["client_secret"] == nil,
            ["none", "private_key_jwt"].contains(document["token_endpoint_auth_method"]?.string ?? "none")
        else { throw refused("is for a client with a secret, but client documents are public") }
        redirectURIs = (document["redirect_uris"]?.array ?? []).compactMap(\.string)
        guard !redirectURIs.isEmpty else { throw refused("lists no redirect_uris") }
    }

    /// The loopback redirect to use: with a fixed port before one without, which not every server accepts for any
    /// port (RFC 8252 §7.3); an address before the name. `nil` if no such redirect is listed.
    package var loopbackRedirect: String? {
        let loopback = redirectURIs.compactMap { text in
            URI(text).flatMap { $0.scheme == "http" && $0.isLoopback ? (text: text, address: $0) : nil }
        }
        func rank(_ address: URI) -> Int {
            (address.port == nil ? 2 : 0) + (address.host == "localhost" ? 1 : 0)
        }
        return loopback.min { rank($0.address) < rank($1.address) }?.text
    }

    /// The document at a URL.
    ///
    /// - Returns: `nil` if it cannot be reached from here, as it is the provider that has to.
    /// - Throws: ``ErrorCode/configuration`` if there is no document, or as ``init(_:at:)``.
    package static func fetch(_ clientID: String, in context: AdapterContext) throws(CredentialError) -> Self? {
        guard let address = URI(clientID) else { return nil }
        let response: HTTPResponse
        do throws(CredentialError) {
            response = try context.transport.send(
                HTTPRequest(
                    address: address, headers: [("accept", "application/json")], maximumReplySize: 1 << 16,
                    timeout: 5))
        } catch {
            context.note("the client's document cannot be looked at from here: \(error)")
            return nil
        }
        guard response.status == 200, let document = try? JSONValue.parse(response.body).object else {
            if (500...599).contains(response.status) { return nil }
            throw CredentialError(
                .configuration,
                "no valid client document at \(UntrustedText.shown(clientID)): expected JSON with status 200 and "
                    + "no redirect (\(response.status))", hint: "see the example document in docs/how-to/mcp.md")
        }
        return try ClientIDMetadataDocument(document, at: clientID)
    }
}
