import CommandLine
import CredentialCore
import FastToken
import Platform

/// `credmgr exec`.
struct ExecCommand: Command {
    static let spec = CommandSpec(
        ["exec"], "run a command with a token",
        details: """
            Runs the command with a token in its environment as ACCESS_TOKEN, and with CREDMGR_TOKEN_FILE naming a \
            private file that holds a token, too, and is kept valid while the command runs. The file is in memory and \
            goes with the command. With --file-env its name stands in that variable as well, and the token in it \
            ends without a newline. Exit status and signals pass through.
            """,
        parameters: [command, argument],
        options: [
            SharedOption.type, SharedOption.account, SharedOption.policy, SharedOption.scope, SharedOption.resource,
            SharedOption.audience, SharedOption.minValid, SharedOption.idToken, TokenCommand.format,
            environmentVariable, fileVariable,
        ],
        examples: [
            .init("a script that reads ACCESS_TOKEN", "credmgr exec --type ToDoList -- ./backup.sh"),
            .init("under another name", "credmgr exec --type GitHub --env GH_TOKEN -- gh pr list"),
            .init(
                "for programs that read a file",
                "credmgr exec --type Work --id-token --file-env AWS_WEB_IDENTITY_TOKEN_FILE -- aws s3 ls"),
        ],
        exitStatuses: [3, 4, 5, 6, 7], runsProgram: true)

    private static let command = Parameter.required("command", .any("COMMAND", .file), "the command")
    private static let argument = Parameter.variadic("argument", .any("ARGUMENT", .file), "its arguments")
    private static let environmentVariable = Option.value(
        "env", .any("NAME"), "the variable to use instead of ACCESS_TOKEN")
    private static let fileVariable = Option.value(
        "file-env", .any("NAME"), "a variable for the name of the file, beside CREDMGR_TOKEN_FILE")

    let arguments: Arguments

    private static let standardFileVariable = "CREDMGR_TOKEN_FILE"

    func run(_ session: Session) throws(CredentialError) {
        let variable = try name(Self.environmentVariable) ?? "ACCESS_TOKEN"
        let fileVariable = try name(Self.fileVariable)
        let words = [arguments[Self.command]] + arguments[Self.argument]
        guard session.context.programs.isProgram(words[0]) else {
            throw CredentialError(.usage, "no program '\(ForeignText.shown(words[0]))' in PATH")
        }
        let target = try TargetResolver(session).target(TargetOptions(arguments))
        let query = TokenQuery(arguments, configuration: session.configuration)
        let file = try session.context.programs.runtimeFile("token-", suffix: "")
        let format = arguments[TokenCommand.format] ?? .token
        let keeper = TokenKeeper(
            session, query, target, file: file, format: format, endsLine: fileVariable == nil)
        let ending: Result<ProgramEnding, CredentialError>
        do throws(CredentialError) {
            let token = try keeper.start(isForEnvironment: true)
            var variables = [variable: token, Self.standardFileVariable: keeper.path]
            if let fileVariable { variables[fileVariable] = keeper.path }
            // The terminal is the program's now, also while its token is renewed.
            session.notices.waiting.retire()
            ending = .success(
                try session.context.programs.accompany(
                    words, variables: variables, meanwhile: { _ = keeper.keep() }))
        } catch {
            ending = .failure(error)
        }
        try keeper.end()
        try session.context.programs.end(like: try ending.get())
    }

    private func name(_ option: Option<String?>) throws(CredentialError) -> String? {
        guard let name = arguments[option] else { return nil }
        guard ShellQuote.isVariable(name) else {
            throw CredentialError(
                .usage, "\(option.spec.written) takes the name of a variable: letters, digits and '_'")
        }
        return name
    }
}
