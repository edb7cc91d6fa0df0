import CommandLine
import CredentialCore
import FastToken
import Platform
import StrictJSON

/// `credmgr az account get-access-token`: called like the command of the Azure CLI, which Azure's libraries
/// (`AzureCliCredential`) run.
struct AzureTokenCommand: Command {
    static let spec = CommandSpec(
        ["az", "account", "get-access-token"], "print a token as the Azure CLI does",
        details: """
            Prints a token like the Azure CLI, for programs that call the Azure CLI: install a script named az \
            that runs 'credmgr az "$@"'. --query supports the names and indices of JMESPath. A token is valid for \
            at least five minutes.
            """,
        parameters: [furtherScope],
        options: [
            SharedOption.type, SharedOption.account, SharedOption.scope, resource, resourceType, tenant,
            AzureOption.subscription, AzureOption.name,
        ] + AzureOption.global,
        examples: [
            .init("the usual call", "credmgr az account get-access-token --query accessToken -o tsv")
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let furtherScope = Parameter.variadic("further", .any("SCOPE"), "more scopes after --scope")
    private static let resource = Option.value("resource", .any("URI"), "the resource; its scope is URI/.default")
    private static let resourceType = Option.value(
        "resource-type",
        .choice("NAME", ["aad-graph", "arm", "batch", "data-lake", "media", "ms-graph", "oss-rdbms"]),
        "the Azure CLI's name of the resource")
    private static let tenant = AzureOption.tenant

    let arguments: Arguments

    /// The Azure CLI's tokens are valid for at least five minutes; libraries count on it.
    private static let validity: Int64 = 300
    /// The resources that the Azure CLI knows by name.
    private static let resources = [
        "aad-graph": "https://graph.windows.net/", "arm": "https://management.core.windows.net/",
        "batch": "https://batch.core.windows.net/", "data-lake": "https://datalake.azure.net/",
        "media": "https://rest.media.azure.net", "ms-graph": "https://graph.microsoft.com/",
        "oss-rdbms": "https://ossrdbms-aad.database.windows.net",
    ]

    func run(_ session: CommandSession) throws(CredentialError) {
        let session = AzureOption.session(arguments, session)
        let query = try query()
        let (target, tenant) = try AzureTenant.target(query.target, tenant: arguments[Self.tenant], session)
        let answer = try TokenAcquirer(session).token(query, target)
        TokenAcquirer(session).tell(answer)
        let shown = try TokenOutput(answer, target)
        let members: [(name: String, value: JSONValue)] = [
            ("accessToken", .string(try shown.checkedToken())),
            ("expiresOn", .string(LocalTime.text(epochSeconds: shown.expiresAt.epochSeconds) + ".000000")),
            ("expires_on", .integer(shown.expiresAt.epochSeconds)),
            ("subscription", JSONValue(arguments[AzureOption.subscription] ?? arguments[AzureOption.name])),
            ("tenant", JSONValue(arguments[Self.tenant] ?? tenant)),
            ("tokenType", .string(shown.tokenType)),
        ]
        try AzureOption.print(AzureText.object(members), arguments, session)
    }

    private func query() throws(CredentialError) -> TokenQuery {
        var query = TokenQuery()
        query.target = TargetOptions(arguments)
        query.freshness = Freshness(minimumValidity: Self.validity)
        query.scope = arguments[SharedOption.scope]
        // As the Azure CLI takes them: '--scope A B'.
        let further = arguments[Self.furtherScope].flatMap { $0.split(separator: " ").map(String.init) }
        guard further.isEmpty || !query.scope.isEmpty else {
            throw CredentialError(.usage, "unexpected argument: scopes must follow --scope")
        }
        query.scope += further
        var resource = arguments[Self.resource]
        if let name = arguments[Self.resourceType] { resource = Self.resources[name] }
        if let resource {
            guard query.scope.isEmpty else {
                throw CredentialError(.usage, "--scope and --resource exclude each other")
            }
            // As the Azure CLI does it: a resource of the first version is a scope of the second.
            query.scope = [resource + "/.default"]
        }
        return query
    }
}
