import CredentialCore
import LoopbackHTTP

/// The purpose of a request to the tenant: every form of URL that Azure AD B2C knows.
struct DemoRoute: Sendable {
    /// The endpoints of a policy.
    enum Endpoint: Sendable {
        /// One endpoint each.
        case authorize, token, signOut, discovery, keys
    }

    /// The endpoint.
    var endpoint: Endpoint
    /// The policy named, in its path or query.
    var policy: DemoPolicy
    /// The tenant as the URL spells it.
    var tenant: String
    /// Whether the policy is in the query (`?p=`).
    var isQueryForm: Bool
    /// Whether the path starts with `/tfp/`.
    var isTFPForm: Bool

    /// Reads a path: `/[tfp/]<tenant name or GUID>/[<policy>/]…`, the policy else in the query's `p`. `nil` for
    /// anything else, an unknown policy and two different ones included.
    init?(_ request: ServerRequest, context: DemoContext) {
        var parts = request.path.split(separator: "/").map(String.init)
        isTFPForm = parts.first == "tfp"
        if isTFPForm { parts.removeFirst() }
        let configuration = context.configuration
        guard let tenant = parts.first,
            [configuration.tenant, configuration.tenantID].contains(tenant.lowercased())
        else { return nil }
        parts.removeFirst()
        let endings: [(tail: [String], endpoint: Endpoint)] = [
            (["oauth2", "v2.0", "authorize"], .authorize), (["oauth2", "v2.0", "token"], .token),
            (["oauth2", "v2.0", "logout"], .signOut),
            (["v2.0", ".well-known", "openid-configuration"], .discovery),
            (["discovery", "v2.0", "keys"], .keys),
        ]
        guard let ending = endings.first(where: { parts.suffix(3).elementsEqual($0.tail) }) else { return nil }
        parts.removeLast(3)
        let inPath = parts.first
        let inQuery = FormFields(query: request.query)["p"]
        guard parts.count <= 1, let name = inPath ?? inQuery, let policy = context.policy(name) else { return nil }
        if inPath != nil, let inQuery, inQuery.lowercased() != name.lowercased() { return nil }
        self.tenant = tenant
        self.policy = policy
        endpoint = ending.endpoint
        isQueryForm = inPath == nil
    }

    /// The URL of another endpoint in the same form.
    func url(_ tail: String, host: String) -> String {
        let name = policy.name.lowercased()
        let prefix = "http://\(host)/" + (isTFPForm ? "tfp/" : "") + tenant
        return isQueryForm ? "\(prefix)/\(tail)?p=\(name)" : "\(prefix)/\(name)/\(tail)"
    }
}
