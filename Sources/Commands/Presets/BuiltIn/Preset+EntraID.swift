extension Preset {
    /// Microsoft Entra ID, one tenant.
    static let entraID = #"""
        {
          "title": "Microsoft Entra ID",
          "summary": "work and school accounts of one tenant, with Microsoft Graph",
          "documentation": "https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow",
          "placeholders": {
            "tenant": {
              "summary": "the tenant's ID from its issuer, not a domain name or 'common'",
              "example": "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77",
              "form": "guid"
            }
          },
          "notes": [
            "register http://localhost under 'Mobile and desktop applications'; the port does not matter",
            "the device flow needs 'Allow public client flows'",
            "one access token serves one API: request the scopes of another API with token --scope"
          ],
          "definition": {
            "adapter": "oauth2",
            "issuer": "https://login.microsoftonline.com/{tenant}/v2.0",
            "redirect_uri": "http://localhost",
            "scope": "openid profile offline_access https://graph.microsoft.com/User.Read",
            "api_base": "https://graph.microsoft.com/v1.0/"
          }
        }
        """#
}
