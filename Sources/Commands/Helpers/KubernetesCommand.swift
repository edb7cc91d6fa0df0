import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr kubernetes`: a credential plugin of `kubectl` (client.authentication.k8s.io).
struct KubernetesCommand: Command {
    static let spec = CommandSpec(
        ["kubernetes"], "give tokens to kubectl",
        details: """
            A credential plugin of kubectl (client.authentication.k8s.io/v1 and v1beta1). With provideClusterInfo, \
            the cluster's extension client.authentication.k8s.io/exec may name type, account, policy, scope, \
            resource and audience; options count more.
            """,
        options: [
            SharedOption.type, SharedOption.account, SharedOption.policy, SharedOption.scope, SharedOption.resource,
            SharedOption.audience, idToken,
        ],
        examples: [
            .init(
                "set up a user",
                "kubectl config set-credentials me --exec-api-version=client.authentication.k8s.io/v1 "
                    + "--exec-interactive-mode=Never --exec-command=credmgr --exec-arg=kubernetes --exec-arg=--type=Cluster"
            )
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let idToken = SharedOption.idToken.described("give the id token")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let info = session.context.environment[ExecCredential.variable]
        var query = TokenQuery(arguments, configuration: session.configuration)
        // Before the cluster's settings are added: what they are is in the variable, too.
        let words = query.words(in: session.options.group, of: .kubectl)
        try fill(&query, from: info)
        let target = try Self.target(query.target, info, session)
        let answer = try TokenAccess(session).token(query, target, for: RememberedCall(words: words))
        TokenAccess(session).tell(answer)
        try session.context.console.writeResult(
            try TokenPresentation(answer, target, wantsIDToken: query.wantsIDToken)
                .bytes(as: .execCredential, execInfo: info))
    }

    /// The account: with `provideClusterInfo: true` the one whose token the cluster's server may have; a kubeconfig from
    /// elsewhere must not send a token where its author likes. Without, `kubectl` does not say where the token goes.
    static func target(
        _ options: TargetOptions, _ info: String?, _ session: Session
    ) throws(CredentialError) -> Target {
        guard let server = server(in: info) else { return try TargetResolver(session).target(options) }
        guard let destination = WebAddress(server).flatMap(Destination.init) else {
            throw CredentialError(.denied, "no token goes to '\(ForeignText.shown(server, limit: 200))'")
        }
        switch try HelperFront(session).find(HelperFront.Wanted(destination: destination), options) {
        case .account(let target): return target
        case .nothing(let refusal): throw CredentialError(.denied, refusal.text, hint: refusal.advice)
        }
    }

    /// `spec.cluster.server`; empty where there is a cluster, and no such string in it.
    private static func server(in info: String?) -> String? {
        let cluster = info.flatMap { try? JSONValue.parse($0) }?.object?["spec"]?.object?["cluster"]
        guard let cluster, cluster != .null else { return nil }
        return cluster.object?["server"]?.string ?? ""
    }

    /// What the cluster's own settings say, where no option does: with `provideClusterInfo: true`, `kubectl` hands
    /// over the cluster's extension `client.authentication.k8s.io/exec`.
    private func fill(_ query: inout TokenQuery, from info: String?) throws(CredentialError) {
        // Without that extension kubectl says null.
        let place: Message = "the cluster's config in \(ExecCredential.variable)"
        guard let info, !info.isEmpty,
            let settings = (try? JSONValue.parse(info))?.object?["spec"]?.object?["cluster"]?.object?["config"],
            settings != .null
        else { return }
        guard let members = settings.object else {
            throw CredentialError(.configuration, "\(place) is not an object")
        }
        let reader = try DefinitionReader(
            members, known: ["type", "account", "policy", "scope", "resource", "audience"], place: place)
        let type = try reader.string("type", DefinitionRule.name)
        let account = try reader.string("account")
        let policy = try reader.string("policy")
        let resource = try reader.string("resource", DefinitionRule.resource)
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
