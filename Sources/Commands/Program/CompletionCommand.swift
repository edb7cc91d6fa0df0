import CommandLine
import CredentialCore

/// `credmgr completion`.
struct CompletionCommand: Command {
    static let spec = CommandSpec(
        ["completion"], "print a completion script for a shell",
        parameters: [shell],
        examples: [
            .init("in ~/.bashrc", "eval \"$(credmgr completion bash)\""),
            .init("for fish", "credmgr completion fish > ~/.config/fish/completions/credmgr.fish"),
        ])

    private static let shell = Parameter.choice("shell", "SHELL", of: Shell.self, "bash, zsh or fish")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        guard let shell: Shell = arguments[Self.shell] else {
            throw CredentialError(.usage, "name the shell: bash, zsh or fish")
        }
        try session.print(shell.completionScript)
    }
}
