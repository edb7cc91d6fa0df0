/// Facts about a provider that its metadata lacks: how a client gets a refresh token there, whether a refresh names
/// its scopes, and whether the provider offers a choice of accounts. One table, by the host of the issuer or an
/// endpoint.
package struct KnownProvider: Sendable {
    /// How a client gets a refresh token.
    package enum RefreshTokens: Sendable, Equatable {
        /// Without asking.
        case always
        /// By the scope `offline_access` (OpenID Connect Core §11).
        case scope
        /// By a parameter of the authorization request.
        case parameter(name: String, value: String)
        /// By a parameter, and only when the person consents.
        case consent(name: String, value: String)
    }

    /// How a client gets a refresh token.
    package let refreshTokens: RefreshTokens
    /// Whether the authorization endpoint takes `prompt=select_account`.
    package let offersAccounts: Bool
    /// Whether a refresh has to name its scopes: Microsoft Entra ID refuses one without for an application that is
    /// its own API, or narrows the token.
    package let refreshNamesScope: Bool

    /// Whether the refresh token ends, too, when an access token is revoked (RFC 7009 §2.1 permits that).
    package let revokesWholeGrant: Bool

    private init(
        _ refreshTokens: RefreshTokens, offersAccounts: Bool = false, refreshNamesScope: Bool = false,
        revokesWholeGrant: Bool = false
    ) {
        self.refreshTokens = refreshTokens
        self.revokesWholeGrant = revokesWholeGrant
        self.offersAccounts = offersAccounts
        self.refreshNamesScope = refreshNamesScope
    }

    /// Looks up the provider of a type; `nil` for a provider that is not in the table.
    package init?(of type: AccountType) {
        let places = [type.issuer, type.endpoints[.authorization], type.endpoints[.token]].compactMap(\.self)
        for place in places {
            guard let address = URI(place) else { continue }
            if let known = Self.hosts[address.host] ?? Self.domain(of: address.host) {
                self = known
                return
            }
            // Every Keycloak has this path: it gives refresh tokens that end with the browser's session.
            if address.path.contains("/realms/") {
                self = KnownProvider(.always)
                return
            }
        }
        return nil
    }

    private static func domain(of host: String) -> KnownProvider? {
        domains.first { host.hasSuffix($0.suffix) }?.provider
    }

    private static let entra = KnownProvider(.scope, offersAccounts: true, refreshNamesScope: true)

    private static let hosts: [String: KnownProvider] = [
        "accounts.google.com": KnownProvider(
            .consent(name: "access_type", value: "offline"), offersAccounts: true, revokesWholeGrant: true),
        "login.microsoftonline.com": entra, "login.microsoft.com": entra, "login.windows.net": entra,
        "sts.windows.net": entra, "login.microsoftonline.us": entra, "login.partner.microsoftonline.cn": entra,
        "login.chinacloudapi.cn": entra,
        "github.com": KnownProvider(.always, offersAccounts: true),
        "gitlab.com": KnownProvider(.always, revokesWholeGrant: true),
        "www.dropbox.com": KnownProvider(.parameter(name: "token_access_type", value: "offline")),
        "www.reddit.com": KnownProvider(.parameter(name: "duration", value: "permanent")),
    ]

    private static let domains: [(suffix: String, provider: KnownProvider)] = [
        (".ciamlogin.com", entra), (".auth0.com", KnownProvider(.scope)), (".okta.com", KnownProvider(.scope)),
    ]
}
