import CommandLine
import CredentialCore

/// `credmgr version`: as `--version`.
struct VersionCommand: Command {
    static let spec = CommandSpec(["version"], "print the version")
    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) { try session.print(Program.versionLine) }
}
