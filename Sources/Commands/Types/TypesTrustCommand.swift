import CommandLine
import CredentialCore

/// `credmgr types trust`.
struct TypesTrustCommand: Command {
    static let spec = CommandSpec(
        ["types", "trust"], "confirm an account type's definition",
        details: """
            Shows what the definition reads on this machine, which accounts it sees and where their tokens may go, and \
            confirms it as it is now. The confirmation is the SHA-256 of its file, in trusted.json beside config.json; \
            a definition that another one changes has to be confirmed again. Your own definitions, those of root's \
            directories and those of built-in presets are confirmed.
            """,
        parameters: [name],
        examples: [.init("an imported definition", "credmgr types trust Work")])

    private static let name = Parameter.required("name", .type, "the account type")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let type = try TargetResolver(session).type(named: arguments[Self.name])
        DefinitionReach(of: type, session).tell(session)
        let trust = session.context.machine.trust
        guard !trust.isConfirmed(type.name) else {
            return session.notices.note("account type \(type.name) is confirmed already")
        }
        try trust.confirm(type.name)
        session.notices.note("account type \(type.name) is confirmed, in \(trust.trustedFile)")
    }
}
