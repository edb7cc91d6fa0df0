extension Preset {
    /// Keycloak, one realm.
    static let keycloak = #"""
        {
          "title": "Keycloak",
          "summary": "a realm of a Keycloak server",
          "documentation": "https://www.keycloak.org/securing-apps/oidc-layers",
          "placeholders": {
            "url": {
              "summary": "the server's address, with /auth before Keycloak 17",
              "example": "https://sso.example.com",
              "form": "url"
            },
            "realm": {"summary": "the realm", "example": "staff"}
          },
          "notes": [
            "create a client with Client authentication off and Standard flow on, and register http://127.0.0.1/*",
            "the device flow is enabled for each client: OAuth 2.0 Device Authorization Grant",
            "a grant ends with the browser's session unless offline_access is in the scope"
          ],
          "definition": {
            "adapter": "oauth2",
            "issuer": "{url}/realms/{realm}",
            "scope": "openid profile email"
          }
        }
        """#
}
