import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr az account show`: libraries ask it whether anybody is signed in, and for the tenant.
struct AzureAccountShowCommand: Command {
    static let spec = CommandSpec(
        ["az", "account", "show"], "print the account as the Azure CLI does",
        details: """
            The subscription is that of --subscription, AZURE_SUBSCRIPTION_ID or ARM_SUBSCRIPTION_ID. Otherwise, \
            it is the tenant, as in the Azure CLI for tenants without a subscription.
            """,
        options: [
            SharedOption.type, SharedOption.account, AzureOption.tenant, AzureOption.subscription, AzureOption.name,
        ] + AzureOption.global,
        exitStatuses: [3])

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let session = AzureOption.session(arguments, session)
        let (target, tenant) = try AzureTenant.target(
            TargetOptions(arguments), tenant: arguments[AzureOption.tenant], session)
        let subscription = arguments[AzureOption.subscription] ?? arguments[AzureOption.name]
        try AzureOption.print(
            AzureText.object(AzureAccount.members(target, tenant: tenant, subscription: subscription, session)),
            arguments, session)
    }
}

/// `credmgr az account list`.
struct AzureAccountListCommand: Command {
    static let spec = CommandSpec(
        ["az", "account", "list"], "print the account in a list, as the Azure CLI does",
        options: [SharedOption.type, SharedOption.account, AzureOption.tenant, all, refresh] + AzureOption.global,
        exitStatuses: [3])

    private static let all = Option.flag("all", "accepted for compatibility; ignored")
    private static let refresh = Option.flag("refresh", "accepted for compatibility; ignored")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let session = AzureOption.session(arguments, session)
        let (target, tenant) = try AzureTenant.target(
            TargetOptions(arguments), tenant: arguments[AzureOption.tenant], session)
        let members = AzureAccount.members(target, tenant: tenant, subscription: nil, session)
        try AzureOption.print(.array([AzureText.object(members)]), arguments, session)
    }
}

/// `credmgr az version`: libraries ask it whether the Azure CLI is new enough.
struct AzureVersionCommand: Command {
    static let spec = CommandSpec(
        ["az", "version"], "print the version of the Azure CLI that credmgr emulates",
        options: AzureOption.global)

    /// The release whose answers are imitated.
    private static let imitated = "2.60.0"

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        try AzureOption.print(
            AzureText.object([
                ("azure-cli", .string(Self.imitated)), ("azure-cli-core", .string(Self.imitated)),
                ("azure-cli-telemetry", "1.1.0"), ("extensions", .object(JSONObject())),
            ]), arguments, AzureOption.session(arguments, session))
    }
}

/// An account in the form of the Azure CLI.
private enum AzureAccount {
    static func members(
        _ target: Target, tenant: String?, subscription: String?, _ session: CommandSession
    ) -> [(name: String, value: JSONValue)] {
        func variable(_ name: String) -> String? { GlobalOptions.set(name, session.context.environment) }
        let id = subscription ?? variable("AZURE_SUBSCRIPTION_ID") ?? variable("ARM_SUBSCRIPTION_ID") ?? tenant
        let user = JSONObject([
            "name": .string(target.account.username ?? target.account.shownName), "type": "user",
        ])
        return [
            ("environmentName", "AzureCloud"), ("homeTenantId", JSONValue(tenant)), ("id", JSONValue(id)),
            ("isDefault", true), ("managedByTenants", .array([])), ("name", .string(target.type.name)),
            ("state", "Enabled"), ("tenantId", JSONValue(tenant)), ("user", .object(user)),
        ]
    }
}
