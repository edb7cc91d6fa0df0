extension Preset {
    /// Gmail by mail programs.
    static let gmail = #"""
        {
          "title": "Gmail",
          "summary": "mail programs with a Google account",
          "documentation": "https://developers.google.com/workspace/gmail/imap/xoauth2-protocol",
          "notes": [
            "an OAuth client of the type Desktop app in Google Cloud; pass its secret with --client-secret-file",
            "while the consent screen is in testing, refresh tokens expire after seven days",
            "mail programs run 'credmgr token', or 'credmgr token --format xoauth2'; see docs/how-to/mail.md"
          ],
          "needs_client_secret": true,
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://accounts.google.com",
            "scope": "openid email https://mail.google.com/",
            "extra_parameters": {"authorize": {"access_type": "offline"}},
            "api_origins": [
              "https://gmail.googleapis.com", "smtp://smtp.gmail.com", "smtps://smtp.gmail.com",
              "imaps://imap.gmail.com"
            ]
          }
        }
        """#
}
