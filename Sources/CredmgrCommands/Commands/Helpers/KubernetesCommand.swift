import CredentialCore
import StrictJSON

/// `credmgr kubernetes`: a credential plugin of `kubectl` (client.authentication.k8s.io).
struct KubernetesCommand: Command {
    let arguments: ParsedArguments

    private static let variable = "KUBERNETES_EXEC_INFO"

    func run(_ session: Session) throws(CredentialError) {
        let info = session.context.environment[Self.variable]
        var query = try TokenQuery(arguments, configuration: session.configuration)
        try fill(&query, from: info)
        let target = try TargetResolver(session).target(query.target)
        let answer = try TokenAccess(session).token(query, target)
        for warning in answer.warnings { session.notices.warning(warning) }
        try session.context.console.writeResult(
            try TokenPresentation(answer, target, wantsIDToken: query.wantsIDToken)
                .bytes(as: .execCredential, execInfo: info))
    }

    /// What the cluster's own settings say, where no option does: with `provideClusterInfo: true`, `kubectl` hands
    /// over the cluster's extension `client.authentication.k8s.io/exec`.
    private func fill(_ query: inout TokenQuery, from info: String?) throws(CredentialError) {
        guard let info, !info.isEmpty,
            let settings = (try? JSONValue.parse(info))?.object?["spec"]?.object?["cluster"]?.object?["config"]
        else { return }
        guard let members = settings.object else {
            throw CredentialError(.configuration, "the cluster's config in \(Self.variable) is not an object")
        }
        let reader = try DefinitionReader(
            members, known: ["type", "account", "policy", "scope", "resource", "audience"],
            place: "the cluster's config in \(Self.variable)")
        let type = try reader.string("type", DefinitionRule.name)
        let account = try reader.string("account")
        let policy = try reader.string("policy")
        let resource = try reader.string("resource")
        let audience = try reader.string("audience")
        query.target.type = query.target.type ?? type
        query.target.account = query.target.account ?? account
        query.policy = query.policy ?? policy
        query.resource = query.resource ?? resource
        query.audience = query.audience ?? audience
        if query.scope.isEmpty, let scope = try reader.string("scope") {
            query.scope = scope.split(separator: " ").map(String.init)
        }
    }
}
