import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite(.serialized, .needs(Need("a C compiler", isThere: Faults.shared != nil))) struct FaultTests {
    @Test func `without locks no token is refreshed, and a fresh one is still returned`() throws {
        let track = try Track()
        try track.signIn()
        let good = try track.run(["token"]).output
        let minimum = track.outliveTokens(), before = track.provider.counters
        let fault = Faults.environment("FLOCK", "unsupported")
        let refused = try track.run(["token", "--min-valid", minimum], fault, exits: 5)
        #expect(refused.errors.contains("locks do not work"))
        #expect(refused.output.isEmpty)
        #expect(try track.run(["token"], fault).output == good)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests)
    }

    @Test func `if the lock directory cannot be used no token is refreshed`() throws {
        let track = try Track()
        try track.signIn()
        let minimum = track.outliveTokens(), before = track.provider.counters
        // Permissions would not stop root, who runs tests in many a container.
        try FileManager.default.removeItem(atPath: track.groupFile("locks"))
        try Data().write(to: URL(fileURLWithPath: track.groupFile("locks")))
        try track.run(["token", "--min-valid", minimum], exits: 5)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests)
    }

    @Test func `a refusal of a token that a peer has replaced changes nothing`() throws {
        let track = try Track()
        let account = try track.signIn()
        let minimum = track.outliveTokens()
        track.provider.revokeRefreshTokens()
        track.holdReplies()
        let refused = try track.start(["token", "--min-valid", minimum])
        try track.waitForHeldReplies()
        // A peer without working locks signs in while the refusal is under way.
        #expect(try track.signIn(Faults.environment("FLOCK", "none")) == account)
        track.provider.releaseTokenReplies()
        let result = refused.result()
        #expect(result.exitStatus == 0, "\(result.errors)")
        #expect(result.output == (try track.run(["token"]).output))
        let accounts = try JSONValue.parse(Array(try track.run(["accounts", "--json"]).output.utf8)).array
        #expect(accounts?.map { $0.object?["status"]?.string } == ["active"])
        try track.run(["token", "--force-refresh"])
    }

    @Test func `a moved clock costs a refresh and never a sign-in`() throws {
        let track = try Track()
        try track.signIn()
        var previous = try track.run(["token"]).output
        for (seconds, refreshes) in [(86_400, 1), (0, 1), (-86_400, 1), (-86_400, 0), (0, 1), (30, 0), (0, 0)] {
            let before = track.provider.counters
            let token = try track.run(["token"], Faults.environment("CLOCK", String(seconds))).output
            #expect(
                track.provider.counters.tokenRequests == before.tokenRequests + Int64(refreshes),
                "\(seconds) s ahead")
            #expect((token == previous) == (refreshes == 0))
            previous = token
        }
        #expect(track.provider.counters.reusesDetected == 0)
    }

    @Test func `tokens that the full disk does not take are journaled and taken up`() throws {
        let track = try Track()
        let account = try track.signIn()
        let before = track.provider.counters
        let printed = try track.run(["token", "--force-refresh"], Faults.environment("RENAME", account))
        #expect(printed.errors.contains("encrypted in the journal"))
        #expect(try track.run(["token"]).output == printed.output)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        try track.run(["token", "--force-refresh"])
        #expect(track.provider.counters.reusesDetected == 0)
    }

    @Test func `without room for new tokens none are asked for`() throws {
        let track = try Track()
        try track.signIn()
        let before = track.provider.counters
        let refused = try track.run(["token", "--force-refresh"], Faults.environment("RESERVE", "1"), exits: 5)
        #expect(refused.errors.contains("not enough space"))
        #expect(track.provider.counters.tokenRequests == before.tokenRequests)
        try track.run(["token", "--force-refresh"])
    }
}
