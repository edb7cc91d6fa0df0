import CredentialCore
import StrictJSON

/// The options of a command that needs a token.
struct TokenQuery: Sendable {
    var target: TargetOptions
    var policy: String?
    var scope: [String]
    var resource: String?
    var audience: String?
    var freshness: Freshness
    var forceRefresh: Bool
    var wantsIDToken: Bool

    /// The values that `--min-valid` takes.
    static let minimumValidityRange: ClosedRange<Int64> = 0...31_536_000

    /// A query without options.
    init() {
        target = TargetOptions()
        scope = []
        freshness = Freshness()
        forceRefresh = false
        wantsIDToken = false
    }

    init(_ arguments: ParsedArguments, configuration: ProductConfiguration?) throws(CredentialError) {
        let declared = Set(arguments.command.options.map(\.name))
        func string(_ name: String) -> String? { declared.contains(name) ? arguments.string(name) : nil }
        target = TargetOptions(arguments)
        policy = string("policy")
        scope =
            declared.contains("scope")
            ? arguments.strings("scope").flatMap { $0.split(separator: " ").map(String.init) } : []
        resource = string("resource")
        audience = string("audience")
        let minimum =
            declared.contains("min-valid") ? try arguments.integer("min-valid", in: Self.minimumValidityRange) : nil
        freshness = Freshness(minimumValidity: minimum ?? configuration?.minimumValidity)
        forceRefresh = declared.contains("force-refresh") && arguments.flag("force-refresh")
        wantsIDToken = declared.contains("id-token") && arguments.flag("id-token")
    }

    /// What the token is wanted for, with the type's and the adapter's defaults filled in.
    func request(
        for target: Target, adapters: AdapterRegistry
    ) throws(CredentialError) -> TokenService.Request {
        let adapter = try adapters.adapter(of: target.type)
        let type = target.type
        let policy = try adapter.policy(policy, of: type)
        let isOwn = (resource ?? type.resource) == type.resource && (audience ?? type.audience) == type.audience
        let exchanges = type.exchangesTokens && !isOwn
        // A token for somebody else's API is asked for with the scopes given, not with those of the sign-in.
        let wanted = scope.isEmpty && !exchanges ? type.scope : scope
        let effective = adapter.effectiveScope(wanted, of: type)
        let key = TokenRequestKey(
            policy: policy, scope: effective, resource: resource ?? type.resource,
            audience: audience ?? type.audience, parameters: type.tokenShape, bearer: type.bearer)
        var request = TokenService.Request(
            group: target.group, account: target.account, type: type, key: key, scope: effective,
            freshness: freshness, forceRefresh: forceRefresh)
        let further = exchanges ? [] : scope.filter { !type.scope.contains($0) }
        if !further.isEmpty { request.loginScope = type.scope + further }
        if exchanges {
            let own = adapter.effectiveScope(type.scope, of: type)
            request.subject = (
                TokenRequestKey(
                    policy: policy, scope: own, resource: type.resource, audience: type.audience,
                    parameters: type.tokenShape, bearer: type.bearer), own
            )
        }
        return request
    }
}
