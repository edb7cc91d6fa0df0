import DemoProvider
import Foundation
import StrictJSON
import Testing

@Suite(.serialized) struct RefreshTests {
    @Test func `refresh refreshes only tokens that would expire`() throws {
        let track = try Track()
        try track.signIn()
        let before = track.provider.counters
        #expect(try track.run(["refresh", "--all"]).errors.isEmpty)
        #expect(track.provider.counters.tokenRequests == before.tokenRequests)
        let minimum = track.outliveTokens()
        let refreshed = try track.run(["refresh", "--all", "--min-valid", minimum])
        #expect(refreshed.output.isEmpty)
        #expect(refreshed.errors.contains("refreshed"))
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
        try track.run(["refresh", "--type", "Reader", "--min-valid", minimum])
        #expect(track.provider.counters.tokenRequests == before.tokenRequests + 1)
    }

    @Test func `refresh refreshes every account of every group and ends with the worst status`() throws {
        let track = try Track()
        let lost = try track.signIn()
        try track.run(["refresh", "--all", "--account", "x"], exits: 2)
        track.provider.revokeRefreshTokens()
        let words = [
            "--type", "Reader", "--username", "alice@example.com", "--password-file", track.path("password"),
        ]
        try track.run(["login", "--duplicate", "--group", "other"] + words)
        let minimum = track.outliveTokens()
        let result = try track.run(["refresh", "--all", "--min-valid", minimum], exits: 4)
        #expect(result.errors.contains("refreshed"))
        #expect(result.errors.contains("credmgr login"))
        // Which of the accounts failed.
        #expect(
            result.errors.contains("error: account type Reader, alice@example.com (\(lost)): "),
            "\(result.errors)")
        let statuses = try JSONValue.parse(Array(try track.run(["accounts", "--json"]).output.utf8)).array?
            .map { "\($0.object?["group"]?.string ?? "") \($0.object?["status"]?.string ?? "")" }
        #expect(statuses == ["other active", "race needs-login"])
    }

    @Test func `a refresh that fails for now ends with 6, and so does a token that has to live longer`() throws {
        let track = try Track()
        let account = try track.signIn()
        let minimum = track.outliveTokens()
        track.provider.change { $0.failures = -1 }
        let failed = try track.run(["refresh", "--all", "--min-valid", minimum], exits: 6)
        #expect(
            failed.errors.contains("error: account type Reader, alice@example.com (\(account)): "),
            "\(failed.errors)")
        let token = try track.run(["token", "--min-valid", minimum], exits: 6)
        #expect(token.output.isEmpty)
        try track.run(["token"])
    }

    @Test func `watch reports the events of other processes and ends with 130`() throws {
        let track = try Track()
        let watch = try track.start(["watch", "--json"])
        try track.wait(for: "the watch") { watch.errors.contains("watching") }
        let account = try track.signIn()
        try track.run(["token", "--force-refresh"])
        try track.run(["logout", "--account", account])
        for event in ["account.added", "token.refreshed", "account.removed"] {
            let line = try #require(watch.line())
            let object = try #require(try JSONValue.parse(Array(line.utf8)).object)
            #expect(object["event"]?.string == event)
            #expect(object["group"]?.string == Track.group)
            #expect(object["account"]?.string == account)
            #expect(object["type"]?.string == "Reader")
            #expect(object["time"]?.string?.hasSuffix("Z") == true)
        }
        watch.send(SIGINT)
        #expect(watch.result().exitStatus == 130)
    }

    @Test func `groups tells types and accounts of each`() throws {
        let track = try Track()
        try track.signIn()
        let groups = try JSONValue.parse(Array(try track.run(["groups", "--json"]).output.utf8)).array
        let group = try #require(groups?.first?.object)
        #expect(groups?.count == 1)
        #expect(group["group"]?.string == Track.group)
        #expect(group["types"]?.array?.compactMap(\.string) == ["Reader", "Writer"])
        #expect(group["accounts"]?.integer == 1)
        #expect(try track.run(["groups"]).output.contains("Reader, Writer"))
        #expect(try track.run(["groups", "--json", "--group", "none"]).output.filter { !$0.isWhitespace } == "[]")
    }

    @Test func `the cache gives a token again until something makes it stale`() throws {
        let track = try Track(isCaching: true)
        let account = try track.signIn()
        let first = try track.run(["token"]).output
        try #require(!track.cachedFiles.isEmpty, "the kernel keeps no keys here")
        #expect(try track.run(["token"]).output == first)
        // A refresh replaces the entry.
        let second = try track.run(["token", "--force-refresh"]).output
        #expect(second != first)
        #expect(try track.run(["token"]).output == second)
        // Another default account is seen at once.
        let words = [
            "--type", "Reader", "--username", "alice@example.com", "--password-file", track.path("password"),
        ]
        let other = String(try track.run(["login", "--duplicate"] + words).output.prefix { $0 != "\t" })
        try track.run(["use", other, "--type", "Reader"])
        let third = try track.run(["token", "--type", "Reader"]).output
        #expect(third != second)
        try track.run(["use", account, "--type", "Reader"])
        #expect(try track.run(["token", "--type", "Reader"]).output == second)
        // The configured margin counts for the fast path, too.
        let minimum = track.outliveTokens()
        try track.write("{\"min_valid\": \(minimum)}", to: ".config/credmgr/config.json")
        let fourth = try track.run(["token", "--type", "Reader"]).output
        #expect(fourth != second)
        #expect(try track.run(["token", "--type", "Reader"]).output == fourth)
        try track.run(["logout", "--all", "--yes"])
        try track.run(["token", "--type", "Reader"], exits: 3)
    }
}

extension Track {
    /// The files of the cache of this home.
    var cachedFiles: [String] {
        (FileManager.default.enumerator(atPath: path("run/credmgr")) ?? .init()).compactMap { $0 as? String }
            .filter { $0.split(separator: "/").count == 3 }
    }
}
