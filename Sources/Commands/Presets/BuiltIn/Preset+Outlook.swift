extension Preset {
    /// Outlook.com and Exchange Online by mail programs.
    static let outlook = #"""
        {
          "title": "Outlook",
          "summary": "mail programs with Outlook.com or Microsoft 365",
          "documentation": "https://learn.microsoft.com/en-us/exchange/client-developer/legacy-protocols/how-to-authenticate-an-imap-pop-smtp-application-by-using-oauth",
          "placeholders": {
            "tenant": {
              "summary": "the tenant's ID; for Outlook.com 9188040d-6c67-4c5b-b112-36a304b66dad",
              "example": "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77",
              "form": "guid"
            }
          },
          "notes": [
            "register a mobile and desktop application with the redirect URI http://localhost",
            "the administrator may have to allow SMTP AUTH and IMAP for the mailbox",
            "mail programs run 'credmgr token', or 'credmgr token --format xoauth2'; see docs/how-to/mail.md"
          ],
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://login.microsoftonline.com/{tenant}/v2.0",
            "scope": "openid profile email offline_access https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send",
            "redirect_uri": "http://localhost",
            "api_origins": [
              "smtp://smtp.office365.com", "smtp://smtp-mail.outlook.com", "imaps://outlook.office365.com"
            ]
          }
        }
        """#
}
