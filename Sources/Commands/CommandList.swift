package import CommandLine
import CredentialCore

/// Every command by subject, in the order help shows them. Parser, help, manual page, completion and the program's own
/// dispatch are all made from this list.
enum CommandList {
    static let sections: [Section] = [
        Section("Sign in and out", [LoginCommand.self, LogoutCommand.self]),
        Section(
            "Tokens and requests",
            [TokenCommand.self, ClaimsCommand.self, RequestCommand.self, RefreshCommand.self, NotifyCommand.self]),
        Section(
            "Accounts",
            [
                AccountsCommand.self, AccountsShowCommand.self, AccountsDataCommand.self,
                AccountsExportCommand.self,
                AccountsImportCommand.self, UseCommand.self,
                LabelCommand.self, WhichCommand.self, GroupsCommand.self, WatchCommand.self,
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
                ExecCommand.self, MCPCommand.self, GitCredentialCommand.self, DockerCredentialCommand.self,
                KubernetesCommand.self,
                KeyringCommand.self, KeyringShimCommand.self, CargoCommand.self, TerraformCommand.self,
                BazelCommand.self, GoAuthCommand.self, AWSCommand.self, GoogleCommand.self,
                AzureCommands.self, AzureAccountCommands.self, AzureTokenCommand.self, AzureAccountShowCommand.self,
                AzureAccountListCommand.self, AzureVersionCommand.self, OIDCTokenCommand.self,
                SetupCommand.self,
            ]),
        Section(
            "Storage and this program",
            [
                StoreCommands.self, StoreStatusCommand.self, StoreMigrateCommand.self, StoreUnlockCommand.self,
                StoreLockCommand.self, StoreRekeyCommand.self, DoctorCommand.self, DemoCommand.self,
                CompletionCommand.self, HelpCommand.self, VersionCommand.self, CompleteCommand.self,
            ]),
    ]

    /// Commands about one subject.
    struct Section: Sendable {
        let title: Message
        let commands: [any DescribedCommand.Type]

        init(_ title: Message, _ commands: [any DescribedCommand.Type]) {
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
        globalOptions: GlobalOption.all, exitStatuses: ExitStatusText.all, environment: EnvironmentText.all,
        files: FileText.all)
}
