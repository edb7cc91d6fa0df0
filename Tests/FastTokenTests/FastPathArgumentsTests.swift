import CommandLine
import CredentialCore
import FastToken
import Testing

@testable import Commands

/// The fast path reads command lines by itself; it must read them as the parser does, or leave them to it.
@Suite struct FastPathArgumentsTests {
    @Test(arguments: [
        ["token"], ["token", "--type", "T"], ["token", "--type=T", "--account", "a@b"], ["--group", "g", "token"],
        ["token", "--scope", "b a", "--scope=c", "--resource", "urn:r", "--audience=x"],
        ["-q", "token", "--no-input"],
        ["token", "--min-valid", "90", "--format", "header", "--policy=p", "--audience=x=y"],
        ["token", "--type", "ä=b"],
        ["token", "--min-valid=30m"], ["token", "--type", "a\nb"],
    ])
    func `plain calls mean the same to both`(words: [String]) throws {
        let call = try #require(FastPathArguments(words))
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            Issue.record("not a command")
            return
        }
        let query = TokenQuery(arguments, configuration: nil)
        #expect(arguments.command.path == ["token"])
        #expect(call.words == query.words(in: try GlobalOptions(arguments, environment: [:]).group))
        #expect(call.freshness == query.freshness)
        #expect(!query.forceRefresh && !query.wantsIDToken)
        #expect(call.format == (arguments[TokenCommand.format] ?? .token))
    }

    @Test(arguments: [
        ["kubernetes"], ["--group=g", "kubernetes", "--type", "T", "--scope", "a b", "-q"],
        ["kubernetes", "--account", "a", "--policy", "p", "--resource=urn:r", "--audience", "x", "--no-input"],
    ])
    func `calls of kubectl mean the same to both`(words: [String]) throws {
        let call = try #require(FastPathArguments(words))
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            Issue.record("not a command")
            return
        }
        let query = TokenQuery(arguments, configuration: nil)
        #expect(arguments.command.path == ["kubernetes"])
        let group = try GlobalOptions(arguments, environment: [:]).group
        #expect(call.words == query.words(in: group, of: .kubectl))
        #expect(call.freshness == query.freshness && !query.wantsIDToken)
    }

    @Test(arguments: [
        ["git-credential", "get"], ["-q", "git-credential", "--type", "T", "get", "--account=a@b"],
        ["git-credential", "--group", "g", "get", "--no-input"],
    ])
    func `calls of git mean the same to both`(words: [String]) throws {
        let call = try #require(FastPathArguments(words))
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            Issue.record("not a command")
            return
        }
        let target = TargetOptions(arguments)
        #expect(arguments.command.path == ["git-credential"])
        let group = try GlobalOptions(arguments, environment: [:]).group?.name
        let expected = CallSignature(
            group: group, type: target.type, account: target.account, asker: .git(message: []))
        #expect(call.words == expected && call.freshness == Freshness())
    }

    @Test(arguments: [
        ["exec", "--", "env"],
        ["--group=g", "exec", "--type", "T", "--account=a", "--env", "A", "--", "ls", "-l", "--"],
        [
            "exec", "--file-env=B", "--scope", "b a", "--min-valid", "90", "--format", "header", "-q", "--", "env",
            "--", "x",
        ],
        ["exec", "--policy", "p", "--resource=urn:r", "--audience", "x", "--no-input", "--", "-x", "--type"],
        ["exec", "--env", "A", "--file-env", "A", "--", "", "exec"],
    ])
    func `calls of exec mean the same to both`(words: [String]) throws {
        let call = try #require(FastPathArguments(words)), program = try #require(call.program)
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            Issue.record("not a command")
            return
        }
        let query = TokenQuery(arguments, configuration: nil), command = ExecCommand(arguments: arguments)
        #expect(arguments.command.path == ["exec"])
        #expect(call.words == query.words(in: try GlobalOptions(arguments, environment: [:]).group))
        #expect(call.freshness == query.freshness && !query.wantsIDToken)
        #expect(call.format == command.format)
        #expect(program.words == command.words)
        #expect(program.environment == (try command.tokenEnvironment()))
        #expect(FastToken.answer(words, message: { nil }, in: { nil }) == nil)
    }

    @Test(arguments: [
        ["exec"], ["exec", "--"], ["exec", "env"], ["exec", "env", "--", "x"], ["--", "exec", "env"],
        ["exec", "--env", "1", "--", "env"], ["exec", "--env=A", "--env=A", "--", "env"],
        ["exec", "--env", "--", "env"],
        ["exec", "--file-env", "A-B", "--", "env"], ["exec", "--file-env=A", "--file-env=B", "--", "env"],
        ["exec", "--env=", "--", "env"], ["exec", "--id-token", "--", "env"], ["exec", "--help", "--", "env"],
        ["exec", "--format", "exec-credential", "--", "env"], ["exec", "-v", "--", "env"], ["token", "--env", "A"],
        ["exec", "--timeout", "5", "--", "env"], ["--type", "T", "exec", "--", "env"], ["token", "--", "env"],
        ["--type", "T", "token"], ["kubernetes", "--file-env", "A"], ["__exec", "--", "env"],
        ["kubernetes", "--min-valid", "9"], ["kubernetes", "--format", "json"], ["kubernetes", "--id-token"],
        ["kubernetes", "get"], ["kubernetes", "token"], ["git-credential"], ["git-credential", "store"],
        ["git-credential", "erase"], ["git-credential", "capability"], ["get", "git-credential"], ["get"],
        ["git-credential", "get", "get"], ["git-credential", "get", "--scope", " "],
        ["git-credential", "get", "--policy", "p"], ["git-credential", "get", "--verbose"],
        ["git-credential", "get", "--type="], ["git-credential", "--", "get"], ["git-credential", "get", "--help"],
        [], ["accounts"], ["token", "extra"], ["token", "token"], ["token", "--force-refresh"],
        ["token", "--id-token"],
        ["token", "--type"], ["token", "--type", "-x"], ["token", "--type", "a", "--type", "b"],
        ["token", "--typ", "a"],
        ["token", "--type="], ["token", "--min-valid", "x"], ["token", "--min-valid=1", "--min-valid=1"],
        ["token", "--min-valid=-1"],
        ["token", "--format", "exec-credential"], ["token", "--format", "xml"], ["token", "--"], ["token", "-h"],
        ["token", "--help"], ["token", "-v"], ["token", "--version"], ["token", "--format=json", "--format=json"],
        ["--type", "token"], ["token", "--group", "a", "--group", "b"], ["token", "--quiet=1"],
    ])
    func `all others are left to the parser`(words: [String]) {
        #expect(FastPathArguments(words) == nil)
    }

    @Test(arguments: [
        (CallSignature.Caller.caller, TokenCommand.spec), (.kubectl, KubernetesCommand.spec),
        (.git(message: []), GitCredentialCommand.spec),
    ])
    func `every option that it reads is one of the command`(asker: CallSignature.Caller, spec: CommandSpec) {
        let listed = spec.options.map(\.name) + GlobalOption.all.map(\.spec.name)
        for option in FastPathArguments.options(for: asker) {
            #expect(listed.contains { "--" + $0 == option.rawValue }, "\(option) of \(spec.name)")
        }
    }

    @Test func `every option that it reads of exec is one of that`() {
        let listed = (ExecCommand.spec.options + GlobalOption.all.map(\.spec)).map { "--" + $0.name }
        #expect(FastPathArguments.optionsOfExec.allSatisfy { listed.contains($0.rawValue) })
    }

    @Test func `a command of the small program is passed on without loss`() throws {
        let begun = ExecHandover(
            process: 4711, lock: 5, directory: "token-1", group: "g", type: "T", account: "a",
            words: ["exec", "--type", "T", "--", "ls", ""])
        #expect(ExecHandover(begun.commandLine) == begun)
        for count in 0...7 { #expect(ExecHandover(Array(begun.commandLine.prefix(count))) == nil) }
        for (place, word) in [(0, "exec"), (1, "0"), (1, "-1"), (1, "x"), (1, "99999999999"), (2, "")] {
            var words = begun.commandLine
            words[place] = word
            #expect(ExecHandover(words) == nil, "\(word)")
        }
    }
}
