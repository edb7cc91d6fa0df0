import CommandLine
import Commands
import CredentialCore
import Testing

@Suite struct ArgumentsTableTests {
    @Test func `the table of commands has no faults`() {
        #expect(CommandTable.standard.problems.isEmpty)
    }

    @Test func `faults of a table are found`() {
        let broken = CommandTable(
            sections: [
                .init("All") {
                    [
                        CommandSpec(["a"], "do a"),
                        CommandSpec(["b"], aliases: [["a"]], "do b"),
                        CommandSpec(["c", "d"], "do d."),
                        CommandSpec(
                            ["e"], "do e",
                            parameters: [
                                Parameter.variadic("x", .any("X"), "x"),
                                Parameter.required("type", .type, "the type"),
                            ],
                            options: [
                                Option.value("type", .type, "the type"), Option.flag("help", short: "v", "help"),
                            ],
                            exitStatuses: [99]),
                        CommandSpec(["f"], role: .namespace, "hold nothing"),
                    ]
                }
            ],
            globalOptions: [Option.flag("verbose", short: "v", "say more")])
        let problems = broken.problems
        for part in [
            "'a' given twice", "'c' is not in the table", "'do d.'", "variadic", "follows an optional",
            "'type' given",
            "letter 'v'", "exit status 99", "namespace",
        ] {
            #expect(problems.contains { $0.contains(part) }, "\(part) is not among \(problems)")
        }
    }

    @Test func `every exit status of an error is in the table`() {
        let told = Set(ExitStatusText.all.map(\.status))
        #expect(ErrorCode.allCases.allSatisfy { told.contains($0.exitStatus) })
    }
}
