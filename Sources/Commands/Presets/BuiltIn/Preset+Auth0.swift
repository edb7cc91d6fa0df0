extension Preset {
    /// Auth0, whose issuer ends with a slash.
    static let auth0 = #"""
        {
          "title": "Auth0",
          "summary": "a native application of an Auth0 tenant",
          "documentation": "https://auth0.com/docs/get-started/authentication-and-authorization-flow",
          "placeholders": {
            "domain": {"summary": "the tenant's domain", "example": "example.eu.auth0.com", "form": "host"}
          },
          "notes": [
            "register the redirect URI http://127.0.0.1:8400/callback, and enable the Refresh Token grant",
            "an API gets its own tokens only with \"audience\" in the definition; allow offline access for the API"
          ],
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://{domain}/",
            "redirect_uri": "http://127.0.0.1:8400/callback",
            "scope": "openid profile email offline_access"
          }
        }
        """#
}
