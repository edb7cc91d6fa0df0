import CredentialCore

/// The access that the scopes of a request ask for.
struct DemoScopes: Sendable {
    /// The scopes as sent, in order.
    var requested: [String]
    /// Whether a refresh token was asked for.
    var wantsRefreshToken: Bool
    /// The `aud` of the requested access token; `nil` if no access token is requested.
    var audience: String?
    /// The claim `scp`, for scopes of an API.
    var permissions: [String]

    /// Reads scopes.
    ///
    /// - Throws: AADB2C90010 for no scopes, 90117 for unknown ones, 90055 for one that names no resource, 90146 for
    ///   several resources.
    init(_ scopes: [String], client: DemoClient, api: DemoResource) throws(B2CError) {
        guard !scopes.isEmpty else {
            throw B2CError(
                error: "invalid_request", number: 90010, text: "The request does not contain a scope parameter.")
        }
        var audiences: Set<String> = []
        var permissions: [String] = []
        for scope in scopes where !["openid", "offline_access", "profile", "email"].contains(scope) {
            if scope == client.id {
                audiences.insert(client.id)
            } else if scope.hasPrefix(api.identifier + "/"),
                let name = api.scopes.first(where: { scope == api.identifier + "/" + $0 })
            {
                audiences.insert(api.clientID)
                permissions.append(name)
            } else if scope.contains("://") || scope.contains("-") {
                throw B2CError(
                    error: "invalid_scope", number: 90117,
                    text: "The scope '\(scope)' provided in the request is not supported.")
            } else {
                throw B2CError(
                    error: "invalid_scope", number: 90055,
                    text: "The scope '\(scope)' provided in request must specify a resource, such as "
                        + "'https://example.com/calendar.read'.")
            }
        }
        guard audiences.count <= 1 else {
            throw B2CError(
                error: "invalid_request", number: 90146,
                text: "The scope '\(scopes.joined(separator: " "))' provided in request specifies more than one "
                    + "resource for an access token, which is not supported.")
        }
        requested = scopes
        wantsRefreshToken = scopes.contains("offline_access")
        audience = audiences.first
        self.permissions = permissions
    }

    /// Splits the parameter `scope`.
    static func split(_ text: String?) -> [String] { (text ?? "").split(separator: " ").map(String.init) }
}
