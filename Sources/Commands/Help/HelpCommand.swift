import CommandLine
import CredentialCore

/// `credmgr help`.
struct HelpCommand: Command {
    static let spec = CommandSpec(
        ["help"], "print help about a command or a topic",
        details: """
            Prints help about a command, or about one of the topics errors, rules, config, groups and environment.
            """,
        parameters: [command],
        options: [all, man, pages])

    private static let command = Parameter.variadic(
        "command", .any("COMMAND"), "the words of the command, or a topic")
    private static let all = Option.flag(
        "all", "print every command and option, the environment and the exit codes")
    private static let man = Option.flag(
        "man", "print the manual page of the command, or the overview, as roff source")

    private static let pages = Option.flag(
        "man-pages", "print the name of each manual page and the words for --man")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let console = session.context.console
        let page = ManualPage(
            .standard, version: Program.version, date: Program.releaseDate, in: console.translations)
        if arguments[Self.pages] {
            return try session.print(page.names.map { "\($0)\t\($1.joined(separator: " "))\n" }.joined())
        }
        if arguments[Self.man] {
            return try session.print(page.source(about: arguments[Self.command]))
        }
        let words = arguments[Self.command]
        let text = HelpText(.standard, width: console.width, in: console.translations)
        if arguments[Self.all] {
            guard words.isEmpty else {
                throw CredentialError(.usage, "--all excludes a command", hint: "credmgr help --all")
            }
            return try session.print(text.everything)
        }
        if words.count == 1, let topic = HelpTopic(rawValue: words[0]) {
            let isCommand = CommandTable.standard.command(words) != nil
            try session.print(
                topic.text(HelpLayout(session))
                    + (isCommand
                        ? "\n" + HelpLayout(session).paragraph("The command: credmgr \(words[0]) --help") : ""))
            return
        }
        try session.print(try text.about(words, topics: HelpTopic.allCases.map(\.rawValue)))
    }
}
