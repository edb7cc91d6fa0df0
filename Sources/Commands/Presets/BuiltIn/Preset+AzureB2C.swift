extension Preset {
    /// Azure AD B2C, one user flow.
    static let azureB2C = #"""
        {
          "title": "Azure AD B2C",
          "summary": "a tenant of Azure AD B2C with one user flow to sign in",
          "documentation": "https://learn.microsoft.com/azure/active-directory-b2c/authorization-code-flow",
          "placeholders": {
            "tenant": {"summary": "the tenant's domain", "example": "exampleb2c.onmicrosoft.com", "form": "host"},
            "policy": {"summary": "the user flow that signs in", "example": "B2C_1_sign_in"}
          },
          "notes": [
            "register http://localhost under 'Mobile and desktop applications'; the port does not matter",
            "an access token needs a scope of an API, such as https://TENANT/tasks/read: add it with --scope",
            "more user flows: --policy ALIAS=POLICY"
          ],
          "definition": {
            "adapter": "azure-b2c",
            "tenant": "{tenant}",
            "policies": {"sign-in": "{policy}"},
            "default_policy": "sign-in",
            "scope": "openid offline_access"
          }
        }
        """#
}
