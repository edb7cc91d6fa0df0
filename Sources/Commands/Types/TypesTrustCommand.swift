import CommandLine
import CredentialCore

/// `credmgr types trust`.
struct TypesTrustCommand: Command {
    static let spec = CommandSpec(
        ["types", "trust"], "confirm an account type's definition",
        details: """
            Confirms a definition in its present form. Shows the files, variables and commands that it uses, the \
            accounts that it sees and the origins that their tokens may go to. credmgr stores the SHA-256 of the \
            file in trusted.json beside config.json. If another user changes the definition, confirm it again. \
            Your own definitions, definitions in root's directories and built-in presets are always confirmed.
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
