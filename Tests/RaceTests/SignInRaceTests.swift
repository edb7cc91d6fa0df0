import DemoProvider
import StrictJSON
import TestSupport
import Testing

@Suite(.serialized) struct SignInRaceTests {
    @Test func `first sign-ins of one person that meet make one account`() throws {
        let track = try Track()
        let words = [
            "login", "--type", "Reader", "--username", "alice@example.com", "--password-file",
            track.path("password"),
        ]
        for _ in 0..<4 {
            // All are under way before the first has its reply.
            track.holdReplies(6)
            let calls = try (0..<6).map { _ in try track.start(words) }
            try track.waitForHeldReplies(6)
            track.provider.releaseTokenReplies()
            let results = calls.map { $0.result() }
            #expect(results.allSatisfy { $0.exitStatus == 0 }, "\(results.map(\.errors))")
            #expect(Set(results.map(\.output)).count == 1)
            let accounts = try JSONValue.parse(Array(try track.run(["accounts", "--json"]).output.utf8)).array
            #expect(accounts?.count == 1)
            try track.run(["token", "--force-refresh"])
            try track.run(["logout", "--all", "--yes"])
        }
        #expect(track.provider.counters.reusesDetected == 0)
    }
}
