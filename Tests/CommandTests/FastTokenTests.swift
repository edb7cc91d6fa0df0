import CredentialCore
import Testing

@testable import CredmgrCommands

/// The fast path reads command lines by itself; it must read them as the parser does, or leave them to it.
@Suite struct FastTokenTests {
    @Test(arguments: [
        ["token"], ["token", "--type", "T"], ["token", "--type=T", "--account", "a@b"], ["--group", "g", "token"],
        ["token", "--scope", "b a", "--scope=c", "--resource", "r", "--audience=x"], ["-q", "token", "--no-input"],
        ["token", "--min-valid", "90", "--format", "header", "--policy=p=q"], ["token", "--type", "ä=b"],
    ])
    func `plain calls mean the same to both`(words: [String]) throws {
        let call = try #require(FastTokenCall(words))
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            Issue.record("not a command")
            return
        }
        let query = try TokenQuery(arguments, configuration: nil)
        #expect(arguments.command.path == ["token"])
        #expect(call.query.target.type == query.target.type)
        #expect(call.query.target.account == query.target.account)
        #expect(call.query.policy == query.policy)
        #expect(call.query.scope == query.scope)
        #expect(call.query.resource == query.resource)
        #expect(call.query.audience == query.audience)
        #expect(call.query.freshness == query.freshness)
        #expect(!query.forceRefresh && !query.wantsIDToken)
        #expect(call.group == arguments.string("group"))
        #expect(call.format == (try arguments.choice("format") ?? .token))
    }

    @Test(arguments: [
        [], ["accounts"], ["token", "extra"], ["token", "token"], ["token", "--force-refresh"],
        ["token", "--id-token"],
        ["token", "--type"], ["token", "--type", "-x"], ["token", "--type", "a", "--type", "b"],
        ["token", "--typ", "a"],
        ["token", "--type="], ["token", "--type", "a\nb"], ["token", "--min-valid", "x"],
        ["token", "--min-valid=-1"],
        ["token", "--format", "exec-credential"], ["token", "--format", "xml"], ["token", "--"], ["token", "-h"],
        ["token", "--help"], ["token", "-v"], ["token", "--version"], ["token", "--format=json", "--format=json"],
        ["--type", "token"], ["token", "--group", "a", "--group", "b"], ["token", "--quiet=1"],
    ])
    func `all others are left to the parser`(words: [String]) {
        #expect(FastTokenCall(words) == nil)
    }
}
