import CredentialCore
import LinuxPlatform
import StrictJSON

/// `credmgr az account get-access-token`: called like the command of the Azure CLI, which Azure's libraries
/// (`AzureCliCredential`) run.
struct AzureTokenCommand: Command {
    let arguments: ParsedArguments

    /// The Azure CLI's tokens are valid for at least five minutes; libraries count on it.
    private static let validity: Int64 = 300
    /// The resources that the Azure CLI knows by name.
    private static let resources = [
        "aad-graph": "https://graph.windows.net/", "arm": "https://management.core.windows.net/",
        "batch": "https://batch.core.windows.net/", "data-lake": "https://datalake.azure.net/",
        "media": "https://rest.media.azure.net", "ms-graph": "https://graph.microsoft.com/",
        "oss-rdbms": "https://ossrdbms-aad.database.windows.net",
    ]

    func run(_ session: Session) throws(CredentialError) {
        let query = try query()
        let target = try TargetResolver(session).target(query.target)
        let tenant = Self.tenant(of: target.type)
        if let wanted = arguments.string("tenant"), let tenant, wanted.lowercased() != tenant.lowercased() {
            throw CredentialError(
                .noSuchAccount, "account type \(target.type.name) is of tenant \(tenant)",
                hint: "name a type of the other tenant: --type TYPE")
        }
        let answer = try TokenAccess(session).token(query, target)
        for warning in answer.warnings { session.notices.warning(warning) }
        let shown = try TokenPresentation(answer, target)
        let members: [(name: String, value: JSONValue)] = [
            ("accessToken", .string(try shown.checkedToken())),
            ("expiresOn", .string(LocalTime.text(epochSeconds: shown.expiresAt.epochSeconds) + ".000000")),
            ("expires_on", .integer(shown.expiresAt.epochSeconds)),
            ("subscription", JSONValue(arguments.string("subscription"))),
            ("tenant", JSONValue(arguments.string("tenant") ?? tenant)),
            ("tokenType", .string(shown.tokenType)),
        ]
        try session.print(try text(members))
    }

    private func query() throws(CredentialError) -> TokenQuery {
        var query = TokenQuery()
        query.target = TargetOptions(arguments)
        query.freshness = Freshness(minimumValidity: Self.validity)
        query.scope = arguments.strings("scope").flatMap { $0.split(separator: " ").map(String.init) }
        var resource = arguments.string("resource")
        if let name = arguments.string("resource-type") { resource = Self.resources[name] }
        if let resource {
            guard query.scope.isEmpty else {
                throw CredentialError(.usage, "--scope and --resource exclude each other")
            }
            // As the Azure CLI does it: a resource of the first version is a scope of the second.
            query.scope = [resource + "/.default"]
        }
        return query
    }

    /// The tenant that a type names: as such, or in the issuer's path as Entra ID has it.
    private static func tenant(of type: AccountType) -> String? {
        if let tenant = type.tenant { return tenant }
        guard let issuer = type.issuer.flatMap(WebAddress.init), issuer.host.contains("login.microsoftonline")
        else {
            return nil
        }
        return issuer.pathComponents.first
    }

    private func text(_ members: [(name: String, value: JSONValue)]) throws(CredentialError) -> String {
        let isText = arguments.string("output") == "tsv"
        guard let query = arguments.string("query") else {
            return isText
                ? Self.columns(members.map(\.value)) : Self.object(members).text(.indented) + "\n"
        }
        guard let value = members.first(where: { $0.name == query })?.value else {
            let names = members.map(\.name).joined(separator: ", ")
            throw CredentialError(.usage, "--query takes one of \(names)", hint: "pipe the JSON into jq for more")
        }
        return isText ? Self.columns([value]) : value.text() + "\n"
    }

    private static func object(_ members: [(name: String, value: JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { object[name] = value }
        return .object(object)
    }

    private static func columns(_ values: [JSONValue]) -> String {
        values.map { $0.string ?? ($0 == .null ? "None" : $0.text()) }.joined(separator: "\t") + "\n"
    }
}
