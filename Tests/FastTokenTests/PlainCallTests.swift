import CommandLine
import CredentialCore
import FastToken
import Testing

@testable import Commands

/// The fast path reads command lines by itself; it must read them as the parser does, or leave them to it.
@Suite struct PlainCallTests {
    @Test(arguments: [
        ["token"], ["token", "--type", "T"], ["token", "--type=T", "--account", "a@b"], ["--group", "g", "token"],
        ["token", "--scope", "b a", "--scope=c", "--resource", "r", "--audience=x"], ["-q", "token", "--no-input"],
        ["token", "--min-valid", "90", "--format", "header", "--policy=p=q"], ["token", "--type", "ä=b"],
        ["token", "--min-valid=30m"], ["token", "--type", "a\nb"],
    ])
    func `plain calls mean the same to both`(words: [String]) throws {
        let call = try #require(PlainCall(words))
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
        ["kubernetes", "--account", "a", "--policy", "p", "--resource=r", "--audience", "x", "--no-input"],
    ])
    func `calls of kubectl mean the same to both`(words: [String]) throws {
        let call = try #require(PlainCall(words))
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
        let call = try #require(PlainCall(words))
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            Issue.record("not a command")
            return
        }
        let target = TargetOptions(arguments)
        #expect(arguments.command.path == ["git-credential"])
        let group = try GlobalOptions(arguments, environment: [:]).group?.name
        let expected = TokenWords(
            group: group, type: target.type, account: target.account, asker: .git(message: []))
        #expect(call.words == expected && call.freshness == Freshness())
    }

    @Test(arguments: [
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
        #expect(PlainCall(words) == nil)
    }

    @Test(arguments: [
        (TokenWords.Asker.caller, TokenCommand.spec), (.kubectl, KubernetesCommand.spec),
        (.git(message: []), GitCredentialCommand.spec),
    ])
    func `every option that it reads is one of the command`(asker: TokenWords.Asker, spec: CommandSpec) {
        let listed = spec.options.map(\.name) + GlobalOption.all.map(\.spec.name)
        for option in PlainCall.options(for: asker) {
            #expect(listed.contains { "--" + $0 == option.rawValue }, "\(option) of \(spec.name)")
        }
    }
}
