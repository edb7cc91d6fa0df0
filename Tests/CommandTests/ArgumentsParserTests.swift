import CommandLine
import CredentialCore
import Testing

@testable import Commands

@Suite struct ArgumentsParserTests {
    private let parser = ArgumentParser(.standard)

    private func command(_ words: String...) throws -> Arguments {
        guard case .command(let arguments) = try parser.parse(words) else {
            throw CredentialError(.internalFault, "no command in \(words)")
        }
        return arguments
    }

    // An option is read by its name, independent of the command that declares it.
    private func value(_ name: String) -> Option<String?> { .value(name, .any("VALUE"), "a value") }
    private func list(_ name: String) -> Option<[String]> { .list(name, .any("VALUE"), "values") }
    private func flag(_ name: String) -> Option<Bool> { .flag(name, "a flag") }

    private func fault(_ words: [String]) -> CredentialError? {
        #expect(throws: CredentialError.self) { _ = try parser.parse(words) }
    }

    @Test func `a command of two words wins over one of one`() throws {
        #expect(try command("types").command.path == ["types"])
        #expect(try command("types", "show", "ToDo").command.path == ["types", "show"])
        #expect(try command("store", "status").command.path == ["store", "status"])
    }

    @Test func `an alias names the same command`() throws {
        #expect(try command("accounts", "list", "--json").command.path == ["accounts"])
        #expect(try command("types", "ls").command.path == ["types"])
    }

    @Test func `both spellings of a value are the same`() throws {
        for words in [["token", "--type", "ToDo"], ["token", "--type=ToDo"]] {
            guard case .command(let arguments) = try parser.parse(words) else {
                Issue.record("no command in \(words)")
                continue
            }
            #expect(arguments[value("type")] == "ToDo")
        }
        #expect(try command("token", "--type=")[value("type")] == "")
        #expect(try command("request", "GET", "/", "--query=a=b=c")[list("query")] == ["a=b=c"])
    }

    @Test func `global options stand before and after the command`() throws {
        #expect(try command("--group", "work", "token")[value("group")] == "work")
        #expect(try command("token", "--group", "work")[value("group")] == "work")
        #expect(try command("--no-input", "types", "show", "-q", "ToDo")[flag("no-input")])
    }

    @Test func `an option may stand between the words of a command`() throws {
        let arguments = try command("types", "--json", "show", "ToDo")
        #expect(arguments.command.path == ["types", "show"])
        #expect(arguments[flag("json")])
        #expect(fault(["types", "--json", "remove", "ToDo"])?.message == "'types remove' has no option --json")
    }

    @Test func `letters cluster and take a value behind them`() throws {
        let arguments = try command("request", "GET", "/tasks", "-vqi", "-ofile", "-q")
        #expect(arguments[flag("verbose")] && arguments[flag("quiet")] && arguments[flag("include")])
        #expect(arguments[value("output")] == "file")
        #expect(try command("request", "GET", "/", "-io", "x")[value("output")] == "x")
    }

    @Test func `two dashes end the options`() throws {
        let arguments = try command("label", "ann", "--", "--work")
        #expect(arguments[value("text")] == "--work")
        #expect(try command("label", "--", "--", "-h")[value("account")] == "--")
    }

    @Test func `a dash and negative numbers are values and positionals`() throws {
        #expect(try command("login", "--complete", "-")[value("complete")] == "-")
        #expect(try command("login", "--username", "-5")[value("username")] == "-5")
        #expect(try command("label", "-", "-12")[value("text")] == "-12")
    }

    @Test func `a word with a dash is no value unless it is attached`() throws {
        #expect(fault(["token", "--type", "--json"])?.message == "option --type requires a value")
        #expect(fault(["token", "--type", "--json"])?.hint?.contains("--type=VALUE") == true)
        #expect(try command("token", "--type=--json")[value("type")] == "--json")
    }

    @Test func `repeatable options keep their order and flags may repeat`() throws {
        #expect(try command("token", "--scope", "a b", "--scope=c")[list("scope")] == ["a b", "c"])
        #expect(try command("token", "-v", "-v")[flag("verbose")])
        #expect(fault(["token", "--type=A", "--type=B"])?.message == "option --type given twice")
        #expect(fault(["--group=A", "token", "--group=A"])?.message == "option --group given twice")
    }

    @Test(arguments: [
        (["tokne"], "unknown command 'tokne'", "did you mean 'credmgr token'?"),
        (["types", "shwo", "X"], "unknown command 'types shwo'", "did you mean 'credmgr types show'?"),
        (["store", "stats"], "unknown command 'store stats'", "did you mean 'credmgr store status'?"),
        (["frobnicate"], "unknown command 'frobnicate'", "credmgr --help"),
        (["token", "--tpye", "X"], "unknown option '--tpye'", "did you mean '--type'?"),
        (["token", "--type"], "option --type requires a value", "credmgr token --help"),
        (["token", "-x"], "unknown option '-x'", "credmgr token --help"),
        (["token", "--json=1"], "unknown option '--json'", "credmgr token --help"),
        (["claims", "--json=1"], "option --json does not accept a value", "credmgr claims --help"),
        (["--type", "X", "token"], "unknown option '--type'", "put the options of a command after its name"),
        (["label"], "ACCOUNT and TEXT are missing", "credmgr label --help"),
        (["use", "a", "b"], "unexpected argument 'b'", "credmgr use --help"),
        (["token", "http://localhost/?code=secret"], "unexpected argument", "credmgr token --help"),
        (["login", "--flow", "devise"], "--flow must be one of", "did you mean 'device'?"),
        (["completion", "zhs"], "SHELL must be one of bash, zsh, fish", "did you mean 'zsh'?"),
        (["--store", "disk", "token"], "--store must be one of auto, secret-service, file", "credmgr --help"),
    ])
    func `an invalid command line names the error and the remedy`(
        _ words: [String], _ message: String, _ hint: String
    ) {
        let error = fault(words)
        #expect(error?.code == .usage)
        #expect(error?.message.hasPrefix(message) == true)
        #expect(error?.message.contains("secret=") == false)
        #expect(error?.hint == hint)
    }

    @Test func `a usage error never shows the value of an unknown option`() {
        let error = fault(["token", "--passwrd=hunter2"])
        #expect(error?.message == "unknown option '--passwrd'")
    }

    @Test(arguments: [
        (["-h"], []), (["--help"], []), (["store"], ["store"]),
        (["token", "-h"], ["token"]), (["types", "show", "--help"], ["types", "show"]),
        (["token", "--unknown", "--type", "-h"], ["token"]), (["-vh", "use", "a", "b", "c"], ["use"]),
        (["store", "-h"], ["store"]),
    ])
    func `help wins over other faults`(_ words: [String], _ topic: [String]) throws {
        guard case .help(let path) = try parser.parse(words) else {
            Issue.record("no help for \(words)")
            return
        }
        #expect(path == topic)
    }

    @Test(arguments: [[], ["-q"], ["--group", "work"]])
    func `no command is nothing`(_ words: [String]) throws {
        guard case .nothing = try parser.parse(words) else {
            Issue.record("not nothing: \(words)")
            return
        }
    }

    @Test func `help does not win behind two dashes or over an unknown command`() {
        #expect(fault(["use", "a", "--", "-h"])?.message == "unexpected argument")
        #expect(fault(["tokne", "--help"])?.message == "unknown command 'tokne'")
    }

    @Test func `the version is asked for anywhere`() throws {
        for words in [["--version"], ["token", "--version"]] {
            guard case .version = try parser.parse(words) else {
                Issue.record("no version for \(words)")
                continue
            }
        }
    }

    @Test func `numbers are read within their range`() throws {
        let arguments = try command("token", "--min-valid", "90", "--timeout=10m")
        #expect(arguments[SharedOption.minValid] == 90)
        #expect(arguments[GlobalOption.timeout] == 600)
        for text in ["0", "366d", "m", "1w", "-5", "1.5", "9999999999999999999", "0x10", "", " 1", "١"] {
            let error = fault(["--timeout=\(text)", "token"])
            #expect(error?.message == "--timeout must be a time such as 90, 90s, 30m, 8h or 2d, from 1 s to a year")
            #expect(error?.hint == "credmgr token --help")
        }
    }

    @Test(arguments: [
        ["token"], ["exec", "--", "true"], ["claims"], ["kubernetes"], ["aws"], ["types", "add", "Work"],
    ])
    func `a resource is an absolute URI without a fragment`(words: [String]) throws {
        let own = words.prefix { $0 != "--" }
        func with(_ resource: String) -> [String] { own + ["--resource=\(resource)"] + words[own.endIndex...] }
        let name = own.prefix(2).joined(separator: " ")
        for (text, problem) in [
            ("foo", "is not an absolute URI"), ("", "is not an absolute URI"), ("/v1", "is not an absolute URI"),
            ("580e250c-8f26-49d0-bee8-1c078add1609", "is not an absolute URI"),
            ("https://api.example.com/ a", "is not an absolute URI"),
            ("https://api.example.com/#a", "must not have a fragment"),
        ] {
            let error = fault(with(text))
            #expect(error?.code == .usage && error?.message == "--resource \(problem)", "\(text)")
            #expect(error?.hint == "credmgr \(name) --help", "\(text)")
        }
        // A name of an API need not be an address.
        for text in [
            "https://api.example.com/v1?a=b", "api://580e250c-8f26-49d0-bee8-1c078add1609", "urn:example:api",
        ] {
            guard case .command = try parser.parse(with(text)) else {
                Issue.record("\(text) is refused")
                continue
            }
        }
    }

    @Test func `pairs part at the first separator and are never quoted in errors`() throws {
        let arguments = try command(
            "request", "GET", "/", "--query", "a=b=c", "--query", "k=", "--form", "accent=\u{301}x")
        let pairs = arguments[RequestCommand.query]
        #expect(pairs.map(\.name) == ["a", "k"])
        #expect(pairs.map(\.value) == ["b=c", ""])
        #expect(arguments[RequestCommand.form].first?.name == "accent")
        #expect(fault(["request", "GET", "/", "--header", "hunter2"])?.message == "--header must be NAME:VALUE")
    }

    @Test func `choices come back as cases`() throws {
        #expect(try command("token", "--format", "exec-credential")[TokenCommand.format] == .execCredential)
        #expect(try command("token")[TokenCommand.format] == nil)
    }

    @Test func `JSON is detected by its flag, even on an invalid command line`() throws {
        #expect(parser.wantsJSON(["accounts", "--json", "--unknown"]))
        #expect(parser.wantsJSON(["types", "show", "--json"]))
        #expect(!parser.wantsJSON(["request", "GET", "/", "--json", "{}"]))
        #expect(!parser.wantsJSON(["accounts", "--", "--json"]))
        #expect(try command("accounts", "--json").wantsJSON)
        #expect(try !command("request", "GET", "/", "--json", "{}").wantsJSON)
    }

    @Test func `the command after two dashes is taken verbatim`() throws {
        let exec = CommandSpec(
            ["exec"], "run a command", parameters: [Parameter.variadic("words", .any("WORD"), "the command")],
            options: [Option.value("type", .type, "the type")])
        let table = CommandTable(sections: [.init("All") { [exec] }], globalOptions: [])
        guard
            case .command(let arguments) = try ArgumentParser(table).parse(
                ["exec", "--type", "T", "--", "curl", "-h", "--type", "x", "--", "-5"])
        else {
            Issue.record("no command")
            return
        }
        #expect(arguments[list("words")] == ["curl", "-h", "--type", "x", "--", "-5"])
        #expect(arguments[value("type")] == "T")
    }
}
