extension Preset {
    /// The texts of the presets that this program brings, by name; each stands in a file of its own.
    package static let builtIn: [String: String] = [
        "auth0": auth0, "azure-b2c": azureB2C, "entra-external-id": entraExternalID, "entra-id": entraID,
        "github": github, "gitlab": gitlab, "google": google, "keycloak": keycloak, "okta": okta,
    ]
}
