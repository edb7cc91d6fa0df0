import CredentialCore
import Testing

@testable import Broker

@Suite struct ConsentTextTests {
    private let caller = Caller(
        uid: 1_000, pid: 42, executable: "/usr/bin/git", key: CallerKey(kind: .exe, value: "801:7"))

    @Test func `ConsentText names caller, account, type, scopes, origin and broker`() {
        let question = ConsentQuestion(
            caller: caller, entry: "work", account: "ada@example.com", type: "Work", scope: ["read", "write"],
            origin: "https://api.example.com", broker: "agents")
        let text = ConsentText(question) { $0.description }
        #expect(text.title == "credmgr: /usr/bin/git requests a token")
        #expect(
            text.lines == [
                "Caller: /usr/bin/git (pid 42), exe:801:7", "Account: ada@example.com", "Type: Work",
                "Scopes: read write", "Origin: https://api.example.com", "Broker: agents",
            ])
        #expect(text.choices.map(\.choice) == [.once, .remember, .no, .close])
    }

    @Test func `ConsentText names resource, audience and ID token when the request has them`() {
        let question = ConsentQuestion(
            caller: caller, entry: "work", account: "ada@example.com", type: "Work", scope: ["read"],
            origin: "https://api.example.com", resource: "https://r.example", audience: "api", wantsIDToken: true,
            broker: "agents")
        let text = ConsentText(question) { $0.description }
        #expect(
            text.lines.dropFirst(3) == [
                "Scopes: read", "Resource: https://r.example", "Audience: api",
                "Tokens: access token and ID token", "Origin: https://api.example.com", "Broker: agents",
            ])
    }

    @Test func `ConsentText has no control characters when names have them`() {
        var hostile = caller
        hostile.executable = "/tmp/a\u{1B}[2J\n\u{202E}b\u{0}<b>"
        let question = ConsentQuestion(
            caller: hostile, entry: "e", account: "x\r\ny", type: "T\u{7}", scope: ["a\u{9B}"], origin: "o\u{200B}",
            broker: "b", always: true)
        let text = ConsentText(question) { $0.description }
        let all = ([text.title] + text.lines).joined()
        #expect(all.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
        #expect(!all.unicodeScalars.contains { $0.properties.generalCategory == .format })
        #expect(text.choices.map(\.choice) == [.once, .no, .close])
    }

    private func question(_ scope: [String], origin: String? = nil) -> ConsentQuestion {
        ConsentQuestion(
            caller: caller, entry: "e", account: "a", type: "T", scope: scope, origin: origin, broker: "b")
    }

    @Test func `ConsentText shows each scope when there are many`() {
        let question = question((0..<60).map { "scope\($0)" } + ["admin"])
        #expect(ConsentText.isShownWhole(question))
        let text = ConsentText(question) { $0.description }
        #expect(text.lines.contains { $0.hasPrefix("Scopes: scope0 ") && $0.hasSuffix(" scope59 admin") })
    }

    @Test func `ConsentText is not whole when a scope or an origin is cut`() {
        #expect(ConsentText.isShownWhole(question([String(repeating: "x", count: 200)])))
        #expect(!ConsentText.isShownWhole(question([String(repeating: "x", count: 500)])))
        #expect(!ConsentText.isShownWhole(question((0..<500).map { "scope\($0)" })))
        #expect(!ConsentText.isShownWhole(question(["a"], origin: "https://" + String(repeating: "x", count: 500))))
        var other = question(["a"])
        other.resource = String(repeating: "x", count: 500)
        #expect(!ConsentText.isShownWhole(other))
        other.resource = nil
        other.audience = String(repeating: "x", count: 500)
        #expect(!ConsentText.isShownWhole(other))
        let many = (0..<100).map { "s\($0)" + String(repeating: "x", count: 500) }
        #expect(ConsentText(question(many)) { $0.description }.lines.allSatisfy { $0.utf8.count < 4_000 })
    }
}

@Suite struct ConsentRefusalsTests {
    private let key = CallerKey(kind: .uid, value: "1")

    /// The macro cannot call a mutating function.
    private func isBlocked(_ key: CallerKey, at time: Int64, _ refusals: inout ConsentRefusals) -> Bool {
        refusals.blocks(key, at: time)
    }

    @Test func `ConsentRefusals blocks a caller for an hour after three refusals in 10 minutes`() {
        var refusals = ConsentRefusals()
        for time: Int64 in [0, 1_000, 2_000] {
            #expect(!isBlocked(key, at: time, &refusals))
            refusals.add(key, at: time)
        }
        #expect(isBlocked(key, at: 2_001, &refusals))
        #expect(isBlocked(key, at: 3_601_999, &refusals))
        #expect(!isBlocked(CallerKey(kind: .uid, value: "2"), at: 2_001, &refusals))
        #expect(!isBlocked(key, at: 3_602_000, &refusals))
        refusals.add(key, at: 3_602_000)
        #expect(!isBlocked(key, at: 3_602_001, &refusals))
    }

    @Test func `ConsentRefusals does not block when the refusals are further apart`() {
        var refusals = ConsentRefusals()
        for time: Int64 in [0, 400_000, 600_001, 1_000_001] { refusals.add(key, at: time) }
        #expect(!isBlocked(key, at: 1_000_002, &refusals))
    }
}

@Suite struct ConsentGrantTests {
    private let caller = Caller(uid: 1, pid: 2, key: CallerKey(kind: .exe, value: "1:2"))
    private let now = Timestamp(epochSeconds: 1_000)

    private func grant(_ scope: [String]) -> ConsentGrant {
        ConsentGrant(question(scope), created: now, until: now.adding(60))
    }

    private func question(_ scope: [String], entry: String = "e") -> ConsentQuestion {
        ConsentQuestion(caller: caller, entry: entry, account: "a", type: "T", scope: scope, broker: "b")
    }

    @Test func `ConsentGrant covers only the account, the type and the origin that the user saw`() {
        var shown = question(["a"])
        shown.accountID = "3f0c"
        shown.origin = "https://a.example"
        let grant = ConsentGrant(shown, created: now, until: now.adding(60))
        #expect(grant.covers(shown, at: now))
        for change: (inout ConsentQuestion) -> Void in [
            { $0.accountID = "4f0c" }, { $0.type = "U" }, { $0.origin = "https://b.example" }, { $0.origin = nil },
        ] {
            var other = shown
            change(&other)
            #expect(!grant.covers(other, at: now))
        }
        #expect(!self.grant(["a"]).covers(shown, at: now))
    }

    @Test func `ConsentGrant covers only its resource and audience, and an ID token if it has one`() {
        var asked = question(["a"])
        asked.resource = "https://r.example/1"
        asked.audience = "api"
        let grant = ConsentGrant(asked, created: now, until: now.adding(60))
        #expect(grant.covers(asked, at: now))
        for change: (inout ConsentQuestion) -> Void in [
            { $0.resource = "https://r.example/2" }, { $0.resource = nil }, { $0.audience = nil },
            { $0.wantsIDToken = true },
        ] {
            var other = asked
            change(&other)
            #expect(!grant.covers(other, at: now))
            #expect(!grant.isBeside(ConsentGrant(other, created: now, until: now.adding(60))))
        }
        var both = asked
        both.wantsIDToken = true
        let whole = ConsentGrant(both, created: now, until: now.adding(60))
        #expect(whole.covers(both, at: now) && whole.covers(asked, at: now))
        #expect(ConsentGrant(json: whole.json) == whole)
        // A grant of an earlier version lacks the three members.
        #expect(!self.grant(["a"]).covers(asked, at: now))
        #expect(["resource", "audience", "id_token"].allSatisfy { self.grant(["a"]).json[$0] == nil })
    }

    @Test func `ConsentGrant covers the scopes that the user saw until its end`() {
        let grant = grant(["a", "b"])
        #expect(grant.covers(question(["a"]), at: now))
        #expect(!grant.covers(question(["a", "c"]), at: now))
        #expect(!grant.covers(question(["a"], entry: "f"), at: now))
        #expect(!grant.covers(question(["a"]), at: now.adding(60)))
        #expect(!grant.covers(question(["a"]), at: now.adding(-1)))
    }

    @Test func `ConsentGrant reads its own JSON`() {
        let grant = grant(["a"])
        #expect(ConsentGrant(json: grant.json) == grant)
        var other = grant.json
        other["caller"] = "x"
        #expect(ConsentGrant(json: other) == nil)
        // A grant of a version that kept no account applies to none.
        var old = grant.json
        old["account"] = nil
        #expect(ConsentGrant(json: old) == nil)
    }
}
