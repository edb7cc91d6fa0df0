extension Preset {
    /// GitLab, by its own host.
    static let gitlab = #"""
        {
          "title": "GitLab",
          "summary": "an application of gitlab.com or of your own GitLab server",
          "documentation": "https://docs.gitlab.com/api/oauth2/",
          "placeholders": {
            "host": {"summary": "the server", "default": "gitlab.com", "example": "gitlab.example.com", "form": "host"}
          },
          "notes": [
            "register the redirect URI http://127.0.0.1, clear Confidential, and select the scopes",
            "the device flow needs GitLab 17.1 or later"
          ],
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://{host}",
            "device_authorization_endpoint": "https://{host}/oauth/authorize_device",
            "scope": "openid profile email read_api",
            "api_base": "https://{host}/api/v4/"
          }
        }
        """#
}
