import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// `credmgr kubernetes`: a credential plugin of `kubectl` (client.authentication.k8s.io).
struct KubernetesCommand: Command {
    static let spec = CommandSpec(
        ["kubernetes"], "run as a credential plugin of kubectl",
        details: """
            A credential plugin of kubectl (client.authentication.k8s.io/v1 and v1beta1). With provideClusterInfo, \
            the cluster's extension client.authentication.k8s.io/exec may name type, account, policy, scope, \
            resource and audience. Options take precedence. The extension cannot request more than the type does. \
            For another scope, resource or audience, use an option.
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

    private static let idToken = SharedOption.idToken.described("print the ID token")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let info = session.context.environment[ExecCredential.variable]
        var query = TokenQuery(arguments, configuration: session.configuration)
        // Before the cluster's settings are added: the variable has those, too.
        let words = query.words(in: session.options.group, of: .kubectl)
        let settings = try ClusterSettings(info)
        settings?.fill(&query)
        let target = try Self.target(query.target, info, session)
        try settings?.check(against: target.type, arguments)
        let answer = try TokenAcquirer(session).token(query, target, for: MemoizedCall(words: words))
        TokenAcquirer(session).tell(answer)
        try session.context.console.writeResult(
            try TokenOutput(answer, target, wantsIDToken: query.wantsIDToken)
                .bytes(as: .execCredential, execInfo: info))
    }

    /// The account: with `provideClusterInfo: true` the one whose token the cluster's server may have. A kubeconfig
    /// from another author must not send a token to a server of that author's choice. Without, `kubectl` does not
    /// give the server that receives the token.
    static func target(
        _ options: TargetOptions, _ info: String?, _ session: CommandSession
    ) throws(CredentialError) -> Target {
        guard let server = server(in: info) else { return try TargetResolver(session).target(options) }
        guard let destination = URI(server).flatMap(Destination.init) else {
            throw AddressAuthor.refusal(
                "the kubeconfig names the server '\(UntrustedText.shown(server, limit: 200))', which is not a URL "
                    + "for tokens",
                of: server, by: kubeconfig, rule: .destination, code: .denied)
        }
        switch try CredentialHelper(session).find(CredentialHelper.Query(destination: destination), options) {
        case .account(let target): return target
        case .nothing(let refusal):
            throw AddressAuthor.refusal(
                "the kubeconfig names the server \(destination): \(refusal.text)", of: destination.description,
                by: kubeconfig, rule: .destination, code: .denied, hint: refusal.advice)
        }
    }

    /// The author of a server, in the details of an error.
    private static var kubeconfig: LocalizedMessage { LocalizedMessage(verbatim: "the kubeconfig") }

    /// `spec.cluster.server`; empty if there is a cluster without such a string.
    private static func server(in info: String?) -> String? {
        let cluster = info.flatMap { try? JSONValue.parse($0) }?.object?["spec"]?.object?["cluster"]
        guard let cluster, cluster != .null else { return nil }
        return cluster.object?["server"]?.string ?? ""
    }
}

/// The cluster's own settings: with `provideClusterInfo: true`, `kubectl` hands over the cluster's extension
/// `client.authentication.k8s.io/exec`. The author of the kubeconfig wrote them, and may be anybody.
private struct ClusterSettings {
    let type: String?
    let account: String?
    let policy: String?
    let scope: [String]
    let resource: String?
    let audience: String?

    private static var place: LocalizedMessage { "the cluster's config in \(ExecCredential.variable)" }

    /// Gives `nil` if there are no settings.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    init?(_ info: String?) throws(CredentialError) {
        // Without that extension kubectl says null.
        guard let info, !info.isEmpty,
            let settings = (try? JSONValue.parse(info))?.object?["spec"]?.object?["cluster"]?.object?["config"],
            settings != .null
        else { return nil }
        guard let members = settings.object else {
            throw CredentialError(.configuration, "\(Self.place) is not an object")
        }
        let reader = try DefinitionReader(
            members, known: ["type", "account", "policy", "scope", "resource", "audience"], place: Self.place)
        type = try reader.string("type", DefinitionValidation.name)
        account = try reader.string("account")
        policy = try reader.string("policy")
        resource = try reader.string("resource", DefinitionValidation.resource)
        audience = try reader.string("audience")
        scope = try reader.string("scope").map { $0.split(separator: " ").map(String.init) } ?? []
    }

    /// Fills in the values that no option gives.
    func fill(_ query: inout TokenQuery) {
        query.target.type = query.target.type ?? type
        query.target.account = query.target.account ?? account
        query.policy = query.policy ?? policy
        query.resource = query.resource ?? resource
        query.audience = query.audience ?? audience
        if query.scope.isEmpty { query.scope = scope }
    }

    /// Refuses settings that ask for another API's token, or for more than the type does, if no option decides.
    ///
    /// - Throws: ``ErrorCode/denied``.
    func check(against type: AccountType, _ arguments: Arguments) throws(CredentialError) {
        if arguments[SharedOption.scope].isEmpty, let other = scope.first(where: { !type.scope.contains($0) }) {
            throw Self.refused("scope", other, type, line: (type.scope + [other]).joined(separator: " "))
        }
        if arguments[SharedOption.resource] == nil, let resource, resource != type.resource {
            throw Self.refused("resource", resource, type, line: resource)
        }
        if arguments[SharedOption.audience] == nil, let audience, audience != type.audience {
            throw Self.refused("audience", audience, type, line: audience)
        }
    }

    private static func refused(
        _ key: String, _ value: String, _ type: AccountType, line: String
    ) -> CredentialError {
        let command = ShellQuoting.line([
            "credmgr", "types", "set", type.name, "\(key)=\(UntrustedText.shown(line))",
        ])
        return CredentialError(
            .denied,
            "\(place) requests '\(UntrustedText.shown(value))' as \(LocalizedMessage(verbatim: key)): account type "
                + "\(type.name) does not name this value",
            hint: "if this cluster may request this value: \(LocalizedMessage(verbatim: command))")
    }
}
