import CommandLine
import CredentialCore

/// `credmgr init`.
struct InitCommand: Command {
    static let spec = CommandSpec(
        ["init"], "sign in for the first time, guided",
        details: """
            Asks for the provider and its values, shows what to register at the provider, then signs you in and \
            shows the command for a script. It checks each value at once. Press Ctrl-C to stop without saving. The \
            last lines are the commands that do the same without prompts.

            Requires a terminal. If no account type is defined, 'login' and 'types add' without arguments also \
            start it.
            """,
        options: [name],
        examples: [.init("sign in for the first time", "credmgr init")],
        exitStatuses: [4, 5, 6, 7, 130])

    private static let name = Option.value("name", .any("NAME"), "the name of the new account type")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        try Self.guide(session, name: arguments[Self.name])
    }

    /// Whether a command without arguments begins the guided sign-in: a user is there, and no account type is
    /// defined.
    static func isMeant(by arguments: Arguments, _ session: CommandSession) throws(CredentialError) -> Bool {
        guard arguments.isBare, session.mayAsk else { return false }
        return try session.catalog.entries().isEmpty
    }

    /// Guides the user through the first sign-in.
    ///
    /// - Parameters:
    ///   - name: the name of the new account type; `nil` to ask for it.
    ///   - issuer: the issuer; `nil` to ask for the provider.
    /// - Throws: ``ErrorCode/usage`` without a terminal, or for a name that is taken; ``ErrorCode/cancelled``;
    ///   ``ErrorCode/interrupted``; a failure that no other input can fix.
    static func guide(
        _ session: CommandSession, name: String? = nil, issuer: String? = nil
    ) throws(CredentialError) {
        guard session.mayAsk else {
            var error = CredentialError(
                .usage, "init asks questions and requires a terminal",
                hint: "for example: credmgr login https://login.example.com --client-id 0a1b --name Work")
            error.additionalHints = [
                "for example: "
                    + "credmgr types add Work --issuer https://login.example.com --client-id 0a1b --scope \"openid profile\""
            ]
            throw error
        }
        if let name {
            guard try !session.catalog.isDefined(Identifier.checked(name, kind: .accountType)) else {
                throw CredentialError(
                    .usage, "account type '\(name)' is already defined", hint: "credmgr login --type \(name)")
            }
        }
        let presets = try session.context.presets.entries().compactMap { try? $0.preset.get() }
        let taken = Set(try session.catalog.entries().map(\.name))
        let setup = GuidedSetup(
            presets: presets, taken: taken, name: name, issuer: issuer, in: session.context.console.translations)
        try InitDialogue(session).run(setup)
    }
}
