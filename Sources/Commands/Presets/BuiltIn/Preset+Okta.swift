extension Preset {
    /// Okta, by one of its authorization servers.
    static let okta = #"""
        {
          "title": "Okta",
          "summary": "a native application of an Okta organization, by a custom authorization server",
          "documentation": "https://developer.okta.com/docs/guides/implement-grant-type/authcodepkce/main/",
          "placeholders": {
            "domain": {"summary": "the organization's domain", "example": "example.okta.com", "form": "host"},
            "server": {"summary": "the authorization server's ID", "default": "default"}
          },
          "notes": [
            "register exactly the redirect URI http://127.0.0.1:8400/callback: Okta compares the port",
            "enable the Refresh Token grant; credmgr requires it to refresh tokens",
            "for the organization's own authorization server: --issuer https://DOMAIN"
          ],
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://{domain}/oauth2/{server}",
            "redirect_uri": "http://127.0.0.1:8400/callback",
            "scope": "openid profile email offline_access"
          }
        }
        """#
}
