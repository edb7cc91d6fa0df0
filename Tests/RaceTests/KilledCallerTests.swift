import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite(.serialized) struct KilledCallerTests {
    /// How many calls are killed; the soak asks for more.
    private static let kills = ProcessInfo.processInfo.environment["RACE_KILLS"].flatMap { Int($0) } ?? 200

    @Test func `no sign-in is lost however often callers are killed`() throws { try killCallers(Track()) }

    /// The worker alone opens the keyring: a caller that dies has done less than with the file.
    @Test(.needs(.keyring))
    func `no sign-in is lost however often callers are killed, with gnome-keyring`() throws {
        let keyring = try PrivateKeyring(.gnomeKeyring)
        defer { keyring.stop() }
        try killCallers(Track(keyring: keyring))
    }

    private func killCallers(_ track: Track) throws {
        let account = try track.signIn()
        var generator = SystemRandomNumberGenerator()
        var begun = 0
        // Calls are killed at any moment of the time that one takes here and now.
        track.provider.change { $0.replyMilliseconds = 20 }
        let duration = try ContinuousClock().measure { _ = try track.run(["token", "--force-refresh"]) }
        let microseconds = UInt32(duration / .microseconds(1))
        for _ in 0..<Self.kills {
            let minimum = track.outliveTokens()
            track.provider.change { $0.replyMilliseconds = .random(in: 0...20, using: &generator) }
            let before = track.provider.counters.tokenRequests
            let call = try track.start(["token", "--min-valid", minimum])
            usleep(.random(in: 0...microseconds, using: &generator))
            call.kill()
            _ = call.result()
            // The next caller waits for the worker of the killed one at most.
            if track.provider.counters.tokenRequests > before { begun += 1 }
        }
        track.provider.change { $0.replyMilliseconds = 0 }
        try track.waitForFreeLock(of: account)
        // The test is worth something only if some calls died before and some after their request.
        #expect(begun > 0 && begun < Self.kills)
        #expect(track.provider.counters.reusesDetected == 0)
        try track.run(["token", "--force-refresh"])
        #expect(track.provider.counters.reusesDetected == 0)
        let accounts = try JSONValue.parse(Array(try track.run(["accounts", "--json"]).output.utf8)).array
        #expect(accounts?.map { $0.object?["status"]?.string } == ["active"])
    }

    @Test func `the reply is kept when its caller is killed after the request`() throws {
        let track = try Track()
        let account = try track.signIn()
        let minimum = track.outliveTokens()
        track.holdReplies()
        let before = track.provider.counters
        let call = try track.start(["token", "--min-valid", minimum])
        try track.waitForHeldReplies()
        call.kill()
        #expect(call.result().exitStatus == 128 + SIGKILL)
        // The next one gets the dead one's token.
        let next = try track.start(["token", "--min-valid", minimum])
        try track.waitAtLock(next, of: account)
        track.provider.releaseTokenReplies()
        #expect(next.result().exitStatus == 0)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        try track.waitForFreeLock(of: account)
    }

    @Test(arguments: [SIGHUP, SIGINT, SIGTERM, SIGQUIT])
    func `terminals and timeouts do not end the worker`(signal: Int32) throws {
        let track = try Track()
        let account = try track.signIn()
        let minimum = track.outliveTokens()
        track.holdReplies()
        let before = track.provider.counters
        let call = try track.start(["token", "--min-valid", minimum])
        try track.waitForHeldReplies()
        call.send(signal)
        #expect(call.result().exitStatus == 128 + signal)
        let next = try track.start(["token", "--min-valid", minimum])
        try track.waitAtLock(next, of: account)
        track.provider.releaseTokenReplies()
        #expect(next.result().exitStatus == 0)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
    }

    @Test func `a refresh does not bring a signed-out account back`() throws {
        let track = try Track(isCaching: true)
        let account = try track.signIn()
        let minimum = track.outliveTokens()
        track.holdReplies()
        let refresh = try track.start(["token", "--min-valid", minimum])
        try track.waitForHeldReplies()
        let waiting = try (0..<3).map { _ in try track.start(["token", "--min-valid", minimum]) }
        for call in waiting { try track.waitAtLock(call, of: account) }
        let logout = try track.start(["logout", "--account", account])
        try track.waitAtLock(logout, of: account)
        track.provider.releaseTokenReplies()
        #expect(logout.result().exitStatus == 0)
        _ = refresh.result()
        // A call that came before the sign-out has a token, a call that came after it has no token.
        for call in waiting { #expect([0, 3, 4].contains(call.result().exitStatus)) }
        try track.run(["token", "--type", "Reader"], exits: 3)
        #expect(try track.run(["accounts", "--json"]).output.filter { !$0.isWhitespace } == "[]")
        try track.waitForFreeLock(of: account)
    }
}
