extension Preset {
    /// Microsoft Entra External ID, the successor of Azure AD B2C.
    static let entraExternalID = #"""
        {
          "title": "Microsoft Entra External ID",
          "summary": "customers' accounts of an external tenant",
          "documentation": "https://learn.microsoft.com/entra/external-id/customers/",
          "placeholders": {
            "tenant": {
              "summary": "the external tenant's ID, which is in its issuer",
              "example": "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77",
              "form": "guid"
            }
          },
          "notes": [
            "register http://localhost under 'Mobile and desktop applications'; the port does not matter",
            "link the application to a user flow; otherwise users cannot sign in"
          ],
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://{tenant}.ciamlogin.com/{tenant}/v2.0",
            "redirect_uri": "http://localhost",
            "scope": "openid profile offline_access"
          }
        }
        """#
}
