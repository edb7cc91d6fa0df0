package import CredentialCore

/// The location of a B2C tenant, and the form of its URLs.
///
/// Reads every form in Microsoft's documentation and the old samples. The tenant is a name or GUID, and the policy
/// is in the path or in the query parameter `p`, with or without `tfp`. The host is login.microsoftonline.com,
/// b2clogin.com, a sovereign cloud or a custom domain, and the text an authority, endpoint or discovery URL. URLs
/// are built again in the form they were given in.
package struct B2CAuthority: Sendable, Hashable {
    /// Scheme, host and port.
    package private(set) var base: URI
    /// The tenant as written, a domain name or a GUID.
    package let tenant: String
    /// The policy that the URL names, if it names one.
    package let policy: B2CPolicy?
    /// The position of the policy in a URL.
    package private(set) var form: Form
    /// Whether `tfp` precedes the tenant.
    package let hasTFP: Bool
    /// The items of the query other than `p`, as written.
    package let otherQuery: [String]
    /// Whether empty path components (`//`) were left out.
    package let isCollapsed: Bool
    /// Whether the URL is of the first version of the endpoints (`oauth2/authorize`), which B2C no longer serves.
    package let isLegacy: Bool

    /// The possible positions of a policy in a URL.
    package enum Form: Sendable, Hashable {
        /// `…/TENANT/POLICY/…`
        case path
        /// `…/TENANT/…?p=POLICY`
        case query
    }

    /// Why a URL is not one of a B2C tenant, in words that go on after a key's name.
    package struct Problem: Error, Equatable, CustomStringConvertible {
        /// The words.
        let message: LocalizedMessage

        init(_ message: LocalizedMessage) { self.message = message }

        package var description: String { message.description }
    }

    /// Reads a URL in any of the forms.
    ///
    /// - Throws: ``Problem`` for a text that is not a URL, is not secure, or names two policies.
    package init(_ text: String) throws(Problem) {
        guard let address = URI(text) else { throw Problem("is not an absolute URL") }
        guard address.isWeb, address.isSecure else {
            let place = address.isWeb ? address.origin : address.scheme
            throw Problem("must be an https URL: http is only allowed for localhost, not for \(place)")
        }
        guard address.fragment == nil else { throw Problem("must not have a fragment") }
        var components = address.pathComponents[...]
        hasTFP = components.first?.lowercased() == "tfp"
        if hasTFP { components = components.dropFirst() }
        guard let tenant = components.popFirst() else { throw Problem("has no tenant in its path") }
        guard Self.isTenant(tenant) else { throw Problem("does not name a tenant of B2C in its path") }
        self.tenant = tenant
        var pathPolicy: B2CPolicy?
        if let name = components.first, !Self.endingWords.contains(name.lowercased()) {
            guard let policy = B2CPolicy(name) else { throw Problem("has a path that B2C does not support") }
            pathPolicy = policy
            components = components.dropFirst()
        }
        let ending = components.map { $0.lowercased() }
        guard Self.isEnding(ending) else { throw Problem("has a path that B2C does not support") }
        isLegacy = ending.first == "oauth2" && ending.count == 2 && ending.last != "v2.0"
        let (queryPolicy, others) = try Self.split(address.query)
        if let pathPolicy, let queryPolicy, pathPolicy != queryPolicy {
            throw Problem("names one policy in its path and another as 'p'")
        }
        base = address.replacing(path: "")
        policy = pathPolicy ?? queryPolicy
        otherQuery = others
        isCollapsed = address.path.contains("//")
        form =
            if pathPolicy != nil {
                .path
            } else if queryPolicy != nil || Self.queryHosts.contains(address.host) {
                .query
            } else {
                .path
            }
    }

    /// The authority at `base` for `tenant`, in the form usual for that host.
    init(base: URI, tenant: String, hasTFP: Bool = false) {
        self.base = base.replacing(path: "")
        self.tenant = tenant
        self.hasTFP = hasTFP
        policy = nil
        otherQuery = []
        isCollapsed = false
        isLegacy = false
        form = Self.queryHosts.contains(base.host) ? .query : .path
    }

    /// The same authority with policies in the place that `form` gives.
    func with(form: Form) -> B2CAuthority {
        var copy = self
        copy.form = form
        return copy
    }

    /// The same authority at another host, its policies in the same place.
    func at(_ base: URI) -> B2CAuthority {
        var copy = self
        copy.base = base
        return copy
    }

    /// `https://HOST`.
    static func base(_ host: String) -> URI? { host.isEmpty ? nil : URI("https://" + host) }

    /// The tenant's own host in place of one that B2C has left (in December 2020). It is empty if the tenant's name
    /// does not give it, `nil` if the host still serves.
    var ownHost: String? {
        let domain: String
        switch base.host {
        case "login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net":
            domain = "com"
        case "login.microsoftonline.us", "login-us.microsoftonline.com", "login.usgovcloudapi.net": domain = "us"
        case "login.chinacloudapi.cn", "login.partner.microsoftonline.cn": domain = "cn"
        case "login.microsoftonline.de": domain = "de"
        default: return nil
        }
        let labels = tenant.lowercased().split(separator: ".")
        guard labels.count == 3, labels[1] == "onmicrosoft" else { return "" }
        return "\(labels[0]).b2clogin.\(domain)"
    }

    // MARK: Rules of the forms

    /// Hosts at which a policy goes in the query unless its URL says otherwise: those of the time before
    /// b2clogin.com.
    private static let queryHosts: Set<String> = [
        "login.microsoftonline.com", "login.windows.net", "login.microsoft.com", "sts.windows.net",
        "login.microsoftonline.us", "login-us.microsoftonline.com", "login.usgovcloudapi.net",
        "login.microsoftonline.de", "login.chinacloudapi.cn", "login.partner.microsoftonline.cn",
    ]

    /// The first words of the endings that may follow tenant and policy.
    private static let endingWords: Set<String> = ["oauth2", "v2.0", "discovery", "openid", "login"]

    /// Whether `ending` (lower-case) is empty or an ending that may follow tenant and policy.
    private static func isEnding(_ ending: [String]) -> Bool {
        switch ending {
        case [], ["login"], ["v2.0"], ["oauth2", "v2.0"], ["discovery", "v2.0", "keys"],
            ["openid", "v2.0", "userinfo"],
            ["v2.0", ".well-known", "openid-configuration"]:
            return true
        default:
            let operations: Set<String> = ["authorize", "token", "logout"]
            guard ending.first == "oauth2", let last = ending.last, operations.contains(last) else { return false }
            return ending.count == 2 || (ending.count == 3 && ending[1] == "v2.0")
        }
    }

    /// Whether `text` can be a tenant: a domain name or a GUID, not a word for "any tenant", which B2C does not
    /// have.
    static func isTenant(_ text: String) -> Bool {
        DefinitionValidation.tenant(text) == nil
            && !["common", "organizations", "consumers"].contains(text.lowercased())
    }

    /// Whether the tenant is given by its GUID.
    package var isTenantGUID: Bool { Self.isGUID(tenant) }

    static func isGUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 && Character(Unicode.Scalar($0)).isHexDigit } }
    }

    private static func split(_ query: String?) throws(Problem) -> (B2CPolicy?, others: [String]) {
        var policy: B2CPolicy?
        var others: [String] = []
        for item in (query ?? "").split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts[0].lowercased() == "p" else {
                others.append(String(item))
                continue
            }
            guard parts.count == 2, let named = B2CPolicy(String(parts[1])) else {
                throw Problem("has no valid policy name as 'p'")
            }
            if let policy, policy != named { throw Problem("names two policies as 'p'") }
            policy = named
        }
        return (policy, others)
    }
}
