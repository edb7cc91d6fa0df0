package import CommandLine
import CredentialCore

/// Every command by subject, in the order help shows them. Parser, help, manual page, completion and the program's
/// own dispatch are all made from this list.
enum CommandList {
    static let sections: [Section] = [
        Section("Sign in and out", [InitCommand.self, LoginCommand.self, LogoutCommand.self]),
        Section(
            "Tokens and requests",
            [TokenCommand.self, ClaimsCommand.self, RequestCommand.self, RefreshCommand.self, NotifyCommand.self]),
        Section(
            "Accounts",
            [
                AccountsCommand.self, AccountsShowCommand.self, AccountsDataCommand.self,
                AccountsExportCommand.self,
                AccountsImportCommand.self, StatusCommand.self, UseCommand.self,
                LabelCommand.self, WhichCommand.self, RulesCommand.self, RulesAddCommand.self,
                RulesRemoveCommand.self, GroupsCommand.self, WatchCommand.self,
            ]),
        Section(
            "Groups of several hosts",
            [
                GroupsShareCommand.self, GroupsJoinCommand.self, GroupsAdmitCommand.self, GroupsHostsCommand.self,
                GroupsExpelCommand.self, GroupsLeaveCommand.self,
            ]),
        Section(
            "Account types",
            [
                TypesCommand.self, TypesShowCommand.self, TypesAddCommand.self, TypesSetCommand.self,
                TypesImportCommand.self, TypesTrustCommand.self,
                TypesRemoveCommand.self, PresetsCommand.self, AdaptersCommand.self, AdaptersTestCommand.self,
            ]),
        Section(
            "For other programs",
            [
                ExecCommand.self, RelayCommand.self, MCPCommand.self, GitCredentialCommand.self,
                DockerCredentialCommand.self, KubernetesCommand.self,
                KeyringCommand.self, KeyringShimCommand.self, CargoCommand.self, TerraformCommand.self,
                BazelCommand.self, GoAuthCommand.self, AWSCommand.self, GoogleCommand.self,
                AzureCommands.self, AzureAccountCommands.self, AzureTokenCommand.self, AzureAccountShowCommand.self,
                AzureAccountListCommand.self, AzureVersionCommand.self, OIDCTokenCommand.self,
                SetupCommand.self,
            ]),
        Section(
            "Brokers",
            [
                BrokerCommands.self, BrokerAddCommand.self, BrokerSetCommand.self, BrokerRemoveCommand.self,
                BrokerListCommand.self, BrokerShowCommand.self, BrokerServeCommand.self, BrokerEnvCommand.self,
                BrokerStopCommand.self, BrokerGrantsCommand.self, BrokerForgetCommand.self,
            ]),
        Section(
            "Audit log",
            [
                AuditCommand.self, AuditVerifyCommand.self, AuditHeadCommand.self, AuditPruneCommand.self,
            ]),
        Section(
            "Storage and this program",
            [
                StoreCommands.self, StoreStatusCommand.self, StoreMigrateCommand.self, StoreUnlockCommand.self,
                StoreLockCommand.self, StoreRekeyCommand.self, DoctorCommand.self, DemoCommand.self,
                CompletionCommand.self, HelpCommand.self, ExplainCommand.self, VersionCommand.self,
                CompleteCommand.self,
            ]),
    ]

    /// The commands that most users need.
    static let usual = [
        "login", "logout", "token", "request", "exec", "accounts", "status", "use", "setup", "doctor",
    ]

    /// The commands that lead to a first sign-in; the first of them that the program has is named.
    private static let beginnings = ["init", "login"]

    /// The command to begin with.
    static var beginning: String? {
        beginnings.first { name in sections.contains { $0.commands.contains { $0.spec.path == [name] } } }
    }

    /// Commands about one subject.
    struct Section: Sendable {
        let title: LocalizedMessage
        let commands: [any CommandDescriptor.Type]

        init(_ title: LocalizedMessage, _ commands: [any CommandDescriptor.Type]) {
            self.title = title
            self.commands = commands
        }
    }

    /// The command with this description.
    static func command(_ spec: CommandSpec) -> (any Command.Type)? {
        for section in sections {
            for command in section.commands where command.spec.path == spec.path {
                return command as? any Command.Type
            }
        }
        return nil
    }
}

extension CommandTable {
    /// The commands that this program offers.
    package static let standard = CommandTable(
        sections: CommandList.sections.map { section in
            Section(section.title) { section.commands.map { $0.spec } }
        },
        globalOptions: GlobalOption.all, usual: CommandList.usual.map { [$0] },
        beginning: CommandList.beginning.map { [$0] } ?? [], exitStatuses: ExitStatusText.all,
        environment: EnvironmentText.all,
        files: FileText.all)
}
