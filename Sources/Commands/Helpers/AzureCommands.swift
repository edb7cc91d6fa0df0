import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr az`: holds the commands that are called like those of the Azure CLI.
enum AzureCommands: DescribedCommand {
    static let spec = CommandSpec(["az"], role: .namespace, "the Azure CLI's commands for tokens")
}

/// `credmgr az account`.
enum AzureAccountCommands: DescribedCommand {
    static let spec = CommandSpec(["az", "account"], role: .namespace, "the Azure CLI's commands for tokens")
}

/// Options of the Azure CLI that several commands take.
enum AzureOption {
    static let tenant = Option.value(
        "tenant", short: "t", .any("TENANT"), "take the account type of this tenant")
    static let subscription = Option.value(
        "subscription", short: "s", .any("ID"), "printed again; tokens do not depend on it")
    static let output = Option.value(
        "output", short: "o", .choice("FORMAT", ["json", "jsonc", "tsv", "none"]), "how to print it")
    static let query = Option.value("query", .any("NAME"), "print one value only")
}

/// Tenants as account types name them.
enum AzureTenant {
    /// The account, of a type of this tenant where one is named, and the tenant.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount`` where the type is of another tenant, or of none; what choosing throws.
    static func target(
        _ options: TargetOptions, tenant wanted: String?, _ session: Session
    ) throws(CredentialError) -> (Target, tenant: String?) {
        let resolver = TargetResolver(session)
        var options = options
        if let wanted, try resolver.namedType(options) == nil {
            let types = try session.catalog.entries().compactMap { try? $0.type.get() }
                .filter { Self.tenant(of: $0)?.lowercased() == wanted.lowercased() }
            if types.count == 1 { options.type = types[0].name }
        }
        let target = try resolver.target(options)
        let tenant = Self.tenant(of: target.type)
        if let wanted, wanted.lowercased() != tenant?.lowercased() {
            let type = target.type.name
            throw CredentialError(
                .noSuchAccount,
                tenant.map { "account type \(type) is of tenant \($0)" } ?? "account type \(type) names no tenant",
                hint: "name a type of that tenant with --type; to see them: credmgr types")
        }
        return (target, tenant)
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
}

/// Results as the Azure CLI prints them.
enum AzureText {
    /// All members, or the one that `query` names, as JSON or as text with tabs.
    ///
    /// - Throws: ``ErrorCode/usage`` for a query that is no name.
    static func text(
        _ members: [(name: String, value: JSONValue)], output: String?, query: String?
    ) throws(CredentialError) -> String {
        if output == "none" { return "" }
        let isText = output == "tsv"
        guard let query else {
            return isText ? columns(members.map(\.value)) : object(members).text(.indented) + "\n"
        }
        guard let value = members.first(where: { $0.name == query })?.value else {
            let names = members.map(\.name).joined(separator: ", ")
            throw CredentialError(.usage, "--query takes one of \(names)", hint: "pipe the JSON into jq for more")
        }
        return isText ? columns([value]) : value.text() + "\n"
    }

    static func object(_ members: [(name: String, value: JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { object[name] = value }
        return .object(object)
    }

    private static func columns(_ values: [JSONValue]) -> String {
        values.map { $0.string ?? ($0 == .null ? "None" : $0.text()) }.joined(separator: "\t") + "\n"
    }
}
