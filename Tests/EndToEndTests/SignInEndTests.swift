import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// If the provider says when the sign-in ends, users are warned before.
@Suite struct `The end of a sign-in` {
    private let home: Home

    init() throws { home = try Home(["CREDMGR_STORE": "file"]) }

    private static func reply(lasting seconds: Int64, _ number: Int = 1) -> ServerResponse {
        .json(
            200,
            [
                "access_token": .string("at-\(number)"), "token_type": "Bearer", "expires_in": 3600,
                "refresh_token": .string("rt-\(number)"), "refresh_expires_in": .integer(seconds),
            ])
    }

    private func signIn(lasting seconds: Int64) throws -> ScriptedProvider {
        let provider = try ScriptedProvider { $0.token = Self.reply(lasting: seconds) }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "c", "--scope", "api"])
        try provider.signIn(at: home)
        return provider
    }

    /// How many events of that kind were written so far.
    private func events() -> Int {
        home.files.values.reduce(0) { count, content in
            count + String(decoding: content, as: UTF8.self).components(separatedBy: "grant.expiring").count - 1
        }
    }

    @Test func `Each step is an event once, written by the process that refreshes then`() throws {
        let day: Int64 = 86_400
        let provider = try signIn(lasting: 30 * day)
        #expect(events() == 0)
        let steps: [(seconds: Int64, events: Int)] = [
            (20 * day, 0), (6 * day, 1), (5 * day, 1), (day / 2 + 1_800, 2),
        ]
        for (number, step) in steps.enumerated() {
            provider.change { $0.token = Self.reply(lasting: step.seconds, number + 2) }
            // The process that refreshes learns of the end; the next look at the account reports it.
            try home.run(["token", "--force-refresh"])
            try home.run(["refresh", "--all"])
            #expect(events() == step.events, "\(step)")
            #expect(try home.run(["accounts"]).standardError.contains("the grant of ada") == (step.events > 0))
        }
        let told = try home.run(["accounts"]).standardError
        #expect(told.contains("(Work) expires in 12 h: credmgr login --account "), "\(told)")
        let checks = try home.json(["doctor", "--json"]).object?["checks"]?.array
        #expect(checks?.contains { $0.object?["message"]?.string?.contains("ends in 12 h") == true } == true)
    }

    @Test(
        .needs(.keyring), .needs(.program("notify-send")))
    func `The desktop is told three days before, once a day`() throws {
        let provider = try signIn(lasting: 4 * 86_400)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Servers/notifications").path
        let desktop = try PrivateKeyring(.program("/usr/bin/python3", [script, home.path + "/shown"]))
        let bus = ["DBUS_SESSION_BUS_ADDRESS": desktop.busAddress]
        func shown() -> [Substring] { (home.text(of: "shown") ?? "").split(separator: "\n") }
        try home.run(["notify"], environment: bus)
        #expect(shown().isEmpty)
        provider.change { $0.token = Self.reply(lasting: 2 * 86_400, 2) }
        try home.run(["token", "--force-refresh"])
        for _ in 0..<2 { try home.run(["notify"], environment: bus) }
        #expect(shown().count == 1 && shown()[0].contains("The grant for Work expires on "), "\(shown())")
    }

    @Test func `It is told by accounts and doctor, with the command that renews it`() throws {
        let provider = try signIn(lasting: 3 * 86_400 + 600)
        let said = try home.run(["accounts"]).standardError
        #expect(
            said.contains("note: the grant of ada@example.test (Work) expires in 3 days: credmgr login --account "))
        let checks = try home.json(["doctor", "--json"]).object?["checks"]?.array
        let finding = try #require(
            checks?.first { $0.object?["check"]?.string?.hasPrefix("account ") == true }?.object)
        #expect(finding["state"] == "note")
        #expect(finding["message"]?.string?.contains("ends in 3 days") == true)
        #expect(finding["remedy"]?.string?.hasPrefix("credmgr login --account ") == true)
        _ = provider
    }

    @Test func `A distant end is not reported by any command`() throws {
        _ = try signIn(lasting: 30 * 86_400)
        #expect(try home.run(["accounts"]).standardError.isEmpty)
        let checks = try home.json(["doctor", "--json"]).object?["checks"]?.array
        #expect(checks?.contains { $0.object?["check"]?.string?.hasPrefix("account ") == true } == false)
    }
}
