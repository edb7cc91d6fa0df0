extension Preset {
    /// Google accounts.
    static let google = #"""
        {
          "title": "Google",
          "summary": "an OAuth client of the type Desktop app in Google Cloud",
          "documentation": "https://developers.google.com/identity/protocols/oauth2/native-app",
          "notes": [
            "Google requires the client secret of desktop apps too: use --client-secret-file",
            "while the consent screen is in testing, refresh tokens expire after seven days",
            "the device flow needs a client of the type TVs and limited-input devices, and supports few scopes"
          ],
          "needs_client_secret": true,
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://accounts.google.com",
            "scope": "openid email profile",
            "extra_parameters": {"authorize": {"access_type": "offline"}},
            "api_base": "https://www.googleapis.com/"
          }
        }
        """#
}
