/// Definitions of a GitHub Enterprise Server that name GitHub's own API, as the preset `github` once wrote them:
/// they would show a token of that server to another party.
extension AccountType {
    /// A key that can be such.
    package enum IgnoredKey: String, CaseIterable, Sendable {
        /// The endpoint that identifies the user who has signed in.
        case userInfo = "userinfo_endpoint"
        /// The base of the URLs of `request`.
        case apiBase = "api_base"
    }

    /// The keys that lead a token astray, each with the address that is meant: that of the server's own API.
    ///
    /// GitHub is distinguished from others by the path of its token endpoint; that of github.com itself belongs to
    /// the API.
    package var strayKeys: [IgnoredKey: String] {
        guard let endpoint = endpoints[.token].flatMap(URI.init), !Self.isGitHub(endpoint.host),
            endpoint.path == "/login/oauth/access_token"
        else { return [:] }
        let api =
            endpoint.host.hasSuffix(".ghe.com") ? "https://api.\(endpoint.host)" : endpoint.origin + "/api/v3"
        var keys: [IgnoredKey: String] = [:]
        for (key, text) in [(IgnoredKey.userInfo, endpoints[.userInfo]), (.apiBase, apiBase)] {
            guard let host = text.flatMap(URI.init)?.host, Self.isGitHub(host) else { continue }
            keys[key] = api + (key == .userInfo ? "/user" : "/")
        }
        return keys
    }

    private static func isGitHub(_ host: String) -> Bool { host == "github.com" || host.hasSuffix(".github.com") }
}
