import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite(.serialized) struct SingleRefreshTests {
    @Test func `fifty processes at expiry make one token request, with the encrypted file`() throws {
        try raceFifty(Track())
    }

    @Test(.needs(.keyring))
    func `fifty processes at expiry make one token request, with gnome-keyring`() throws {
        let keyring = try PrivateKeyring(.gnomeKeyring)
        defer { keyring.stop() }
        try raceFifty(Track(keyring: keyring))
    }

    /// Two rounds: the second one starts from a token that was refreshed itself.
    private func raceFifty(_ track: Track) throws {
        try track.signIn()
        for _ in 0..<2 {
            let minimum = track.outliveTokens(), before = track.provider.counters
            let calls = try (0..<50).map { _ in try track.start(["token", "--min-valid", minimum]) }
            let results = calls.map { $0.result() }
            #expect(results.allSatisfy { $0.exitStatus == 0 }, "\(results.map(\.errors))")
            #expect(Set(results.map(\.output)).count == 1)
            #expect(results.first?.output.isEmpty == false)
            #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        }
        #expect(track.provider.counters.reusesDetected == 0)
    }

    @Test func `the lock does not depend on folders that cron does not have`() throws {
        let track = try Track()
        try track.signIn()
        let definition = try #require(
            FileManager.default.contents(atPath: track.path(".config/credmgr/types/Reader.json")))
        try track.write(String(decoding: definition, as: UTF8.self), to: "other/config/credmgr/types/Reader.json")
        let minimum = track.outliveTokens(), before = track.provider.counters
        // Cron has neither of the folders' variables; the home is all it knows.
        let worlds: [[String: String?]] = [
            [:],
            [
                "XDG_RUNTIME_DIR": track.path("other/run"), "XDG_CONFIG_HOME": track.path("other/config"),
                "TMPDIR": track.path("other/tmp"),
            ],
            [
                "XDG_RUNTIME_DIR": nil, "XDG_CONFIG_HOME": nil, "XDG_DATA_HOME": nil,
                "TMPDIR": nil, "PATH": nil,
            ],
        ]
        let calls = try (0..<48).map {
            try track.start(["token", "--type", "Reader", "--min-valid", minimum], worlds[$0 % worlds.count])
        }
        let results = calls.map { $0.result() }
        #expect(results.allSatisfy { $0.exitStatus == 0 }, "\(results.map(\.errors))")
        #expect(Set(results.map(\.output)).count == 1)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        #expect(track.provider.counters.reusesDetected == 0)
    }

    @Test func `two types with different scopes share one account and never use a refresh token twice`() throws {
        let track = try Track()
        let account = try track.signIn()
        let minimum = track.outliveTokens(), before = track.provider.counters
        let calls = try (0..<24).map {
            try track.start(["token", "--type", $0 % 2 == 0 ? "Reader" : "Writer", "--min-valid", minimum])
        }
        let results = calls.map { $0.result() }
        #expect(results.allSatisfy { $0.exitStatus == 0 }, "\(results.map(\.errors))")
        // One for each scope.
        #expect(Set(results.map(\.output)).count == 2)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 2)
        #expect(track.provider.counters.reusesDetected == 0)
        let accounts = try JSONValue.parse(Array(try track.run(["accounts", "--json"]).output.utf8)).array
        #expect(accounts?.compactMap { $0.object?["id"]?.string } == [account])
    }

    @Test func `forced refreshes that meet share one request`() throws {
        let track = try Track()
        let account = try track.signIn()
        track.holdReplies()
        let before = track.provider.counters
        let first = try track.start(["token", "--force-refresh"])
        try track.waitForHeldReplies()
        let others = try (0..<4).map { _ in try track.start(["token", "--force-refresh"]) }
        for call in others { try track.waitAtLock(call, of: account) }
        track.provider.releaseTokenReplies()
        let results = [first.result()] + others.map { $0.result() }
        #expect(Set(results.map(\.output)).count == 1, "\(results.map(\.errors))")
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
    }

    @Test func `a refresh token is sent once though a cleaner removes the lock during the refresh`() throws {
        let track = try Track()
        let account = try track.signIn()
        let minimum = track.outliveTokens(), before = track.provider.counters
        track.holdReplies()
        let first = try track.start(["token", "--min-valid", minimum])
        try track.waitForHeldReplies()
        try FileManager.default.removeItem(atPath: track.groupFile("locks/\(account).lock"))
        let second = try track.run(["token", "--min-valid", minimum], exits: 6)
        #expect(second.errors.contains("though the file of its lock was removed"), "\(second.errors)")
        track.provider.releaseTokenReplies()
        #expect(first.result().exitStatus == 0)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        try track.run(["token", "--force-refresh"])
        #expect(track.provider.counters.reusesDetected == 0)
    }

    @Test func `a reader does not wait for a refresh while its token is good`() throws {
        let track = try Track()
        try track.signIn()
        let good = try track.run(["token"]).output
        let minimum = track.outliveTokens()
        track.holdReplies()
        let before = track.provider.counters
        let slow = try track.start(["token", "--min-valid", minimum])
        try track.waitForHeldReplies()
        let readers = try (0..<5).map { _ in try track.start(["token"]) }
        #expect(readers.allSatisfy { $0.result().output == good })
        // The reply is still kept back: the readers did not wait for it.
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        #expect(!slow.hasEnded)
        track.provider.releaseTokenReplies()
        #expect(slow.result().exitStatus == 0)
    }
}
