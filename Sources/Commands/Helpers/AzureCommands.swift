import CommandLine
import CredentialCore

/// `credmgr az`: holds the commands that are called like those of the Azure CLI, which takes its global options in
/// front of a command, too.
enum AzureCommands: CommandDescriptor {
    static let spec = CommandSpec(
        ["az"], role: .namespace, "the Azure CLI's commands for tokens", options: AzureOption.global)
}

/// `credmgr az account`.
enum AzureAccountCommands: CommandDescriptor {
    static let spec = CommandSpec(
        ["az", "account"], role: .namespace, "the Azure CLI's commands for tokens", options: AzureOption.global)
}

/// Tenants as account types name them.
enum AzureTenant {
    /// The account, of a type of this tenant if one is named, and the tenant.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount`` if the type is of another tenant, or has no tenant; the errors of
    ///   choosing.
    static func target(
        _ options: TargetOptions, tenant query: String?, _ session: CommandSession
    ) throws(CredentialError) -> (Target, tenant: String?) {
        let resolver = TargetResolver(session)
        var options = options
        if let query, try resolver.namedType(options) == nil {
            let types = try session.catalog.entries().compactMap { try? $0.type.get() }
                .filter { Self.tenant(of: $0)?.lowercased() == query.lowercased() }
            if types.count == 1 { options.type = types[0].name }
        }
        let target = try resolver.target(options)
        let tenant = Self.tenant(of: target.type)
        if let query, query.lowercased() != tenant?.lowercased() {
            let type = target.type.name
            throw CredentialError(
                .noSuchAccount,
                tenant.map { "account type \(type) is for tenant \($0)" } ?? "account type \(type) names no tenant",
                hint: "name an account type of the tenant with --type; list the types: credmgr types")
        }
        return (target, tenant)
    }

    /// The tenant that a type names: as such, or in the issuer's path as Entra ID has it.
    private static func tenant(of type: AccountType) -> String? {
        if let tenant = type.tenant { return tenant }
        guard let issuer = type.issuer.flatMap(URI.init), issuer.host.contains("login.microsoftonline")
        else {
            return nil
        }
        return issuer.pathComponents.first
    }
}
