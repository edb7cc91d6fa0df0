import CredentialCore
import LinuxPlatform

/// `credmgr exec`.
struct ExecCommand: Command {
    let arguments: ParsedArguments

    private static let fileVariable = "CREDMGR_TOKEN_FILE"

    func run(_ session: Session) throws(CredentialError) {
        let variable = try variable()
        let words = [try arguments.required("command")] + arguments.strings("argument")
        guard session.context.programs.isProgram(words[0]) else {
            throw CredentialError(.usage, "no program '\(ForeignText.shown(words[0]))' in PATH")
        }
        let target = try TargetResolver(session).target(TargetOptions(arguments))
        let query = try TokenQuery(arguments, configuration: session.configuration)
        let file = try session.context.programs.runtimeFile("token-")
        let keeper = TokenKeeper(session, query, target, file: file)
        let ending: Result<ProgramEnding, CredentialError>
        do throws(CredentialError) {
            let token = try keeper.start()
            ending = .success(
                try session.context.programs.accompany(
                    words, variables: [variable: token, Self.fileVariable: keeper.path],
                    meanwhile: keeper.keep))
        } catch {
            ending = .failure(error)
        }
        try keeper.end()
        session.context.programs.end(like: try ending.get())
    }

    private func variable() throws(CredentialError) -> String {
        let name = arguments.string("env") ?? "ACCESS_TOKEN"
        guard ShellQuote.isVariable(name) else {
            throw CredentialError(.usage, "--env takes the name of a variable: letters, digits and '_'")
        }
        return name
    }
}
