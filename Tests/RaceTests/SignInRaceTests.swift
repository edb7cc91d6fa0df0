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
            // Every reply takes so long that all are under way before the first is there.
            track.provider.change { $0.replyMilliseconds = 1_500 }
            let before = track.provider.counters.tokenRequests
            let calls = try (0..<6).map { _ in try track.start(words) }
            try track.waitForRequest(after: before + 5)
            let results = calls.map { $0.result() }
            #expect(results.allSatisfy { $0.exitStatus == 0 }, "\(results.map(\.errors))")
            #expect(Set(results.map(\.output)).count == 1)
            let accounts = try JSONValue.parse(Array(try track.run(["accounts", "--json"]).output.utf8)).array
            #expect(accounts?.count == 1)
            track.provider.change { $0.replyMilliseconds = 0 }
            try track.run(["token", "--force-refresh"])
            try track.run(["logout", "--all", "--yes"])
        }
        #expect(track.provider.counters.reusesDetected == 0)
    }
}
