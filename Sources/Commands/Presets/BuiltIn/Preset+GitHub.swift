extension Preset {
    /// GitHub: OAuth apps without OpenID Connect.
    static let github = #"""
        {
          "title": "GitHub",
          "summary": "an OAuth app of github.com or of GitHub Enterprise Server",
          "documentation": "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
          "placeholders": {
            "host": {"summary": "the server", "default": "github.com", "example": "github.example.com", "form": "host"},
            "api": {
              "summary": "the API",
              "default": "https://{host}/api/v3",
              "default_where": {"github.com": "https://api.github.com", "*.ghe.com": "https://api.{host}"},
              "example": "https://github.example.com/api/v3",
              "form": "url"
            }
          },
          "notes": [
            "enable the device flow in the settings of the OAuth app",
            "OAuth app tokens do not expire and are not refreshed; expiring tokens of GitHub Apps are refreshed",
            "--flow code needs the client secret, and \"token_endpoint_auth_method\": \"client_secret_post\""
          ],
          "definition": {
            "adapter": "oauth2",
            "authorization_endpoint": "https://{host}/login/oauth/authorize",
            "token_endpoint": "https://{host}/login/oauth/access_token",
            "device_authorization_endpoint": "https://{host}/login/device/code",
            "userinfo_endpoint": "{api}/user",
            "flow": "device",
            "scope": "read:user",
            "api_base": "{api}/"
          }
        }
        """#
}
