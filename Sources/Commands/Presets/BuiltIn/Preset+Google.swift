extension Preset {
    /// Google accounts.
    static let google = #"""
        {
          "title": "Google",
          "summary": "an OAuth client of the type Desktop app in Google Cloud",
          "documentation": "https://developers.google.com/identity/protocols/oauth2/native-app",
          "notes": [
            "Google wants the client secret of desktop apps too: give --client-secret-file",
            "while the consent screen is in testing, sign-ins end after seven days",
            "the device flow needs a client of the type TVs and limited-input devices, and has few scopes"
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
