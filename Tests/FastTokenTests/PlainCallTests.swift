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

    @Test(arguments: PlainCall.Option.allCases)
    func `every option that it reads is one of the command`(option: PlainCall.Option) {
        let listed = TokenCommand.spec.options.map(\.name) + GlobalOption.all.map(\.spec.name)
        #expect(listed.contains { "--" + $0 == option.rawValue })
    }
}
