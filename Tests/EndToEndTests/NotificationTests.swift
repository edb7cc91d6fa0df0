import Foundation
import StrictJSON
import TestSupport
import Testing

/// `notify`, on a bus of its own with a desktop that records its notifications.
@Suite(
    .needs(.keyring), .needs(.program("notify-send")))
struct NotificationTests {
    private let home: Home
    private let tenant: DemoTenant

    init() throws {
        home = try Home(["CREDMGR_STORE": "file"])
        tenant = try DemoTenant()
        try tenant.define(at: home, settings: AppSettings(base: tenant.base, redirectURI: "http://localhost"))
        try home.run(["login", "--type", DemoTenant.typeName], environment: try Browser(in: home).environment)
    }

    private func desktop(_ answer: String...) throws -> PrivateKeyring {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Servers/notifications").path
        return try PrivateKeyring(.program("/usr/bin/python3", [script, home.path + "/shown"] + answer))
    }

    private var shown: [JSONObject] {
        get throws {
            try (home.text(of: "shown") ?? "").split(separator: "\n").compactMap {
                try JSONValue.parse(String($0)).object
            }
        }
    }

    private func endSignIn() throws {
        tenant.provider.revokeRefreshTokens()
        try home.run(["token", "--force-refresh"], exits: 4)
    }

    @Test func `a sign-in that has ended is told of once a day, and the action signs in`() throws {
        let desktop = try desktop("login"), bus = ["DBUS_SESSION_BUS_ADDRESS": desktop.busAddress]
        try home.run(["notify"], environment: bus)
        #expect(try shown.isEmpty)
        try endSignIn()
        let browser = try Browser(in: home)
        try home.run(["notify"], environment: bus.merging(browser.environment) { $1 })
        let notification = try #require(try shown.first)
        #expect(notification["summary"] == "credmgr: alice@example.com" && notification["application"] == "credmgr")
        #expect(notification["body"]?.string == "The grant for \(DemoTenant.typeName) has expired.")
        #expect(notification["actions"] == ["login", "Sign in"])
        #expect(try home.run(["token"]).standardOutput.hasPrefix("ey"))
        try endSignIn()
        try home.run(["notify"], environment: bus)
        #expect(try shown.count == 1)
    }

    @Test func `a sign-in that is about to end is told of, and one that has time is not`() throws {
        let desktop = try desktop(), bus = ["DBUS_SESSION_BUS_ADDRESS": desktop.busAddress]
        // Alice's has two weeks.
        for (name, seconds) in [("Soon", 2 * 86_400), ("Later", 5 * 86_400)] {
            let provider = try ScriptedProvider {
                $0.token = .json(
                    200,
                    [
                        "access_token": "at-1", "expires_in": 3600, "refresh_token": "rt-1",
                        "refresh_token_expires_in": .integer(Int64(seconds)),
                    ])
            }
            try home.run(["types", "add", name, "--issuer", provider.base, "--client-id", "app", "--scope", "api"])
            try provider.signIn(at: home, type: name)
        }
        try home.run(["notify"], environment: bus)
        #expect(try shown.count == 1)
        let account = try home.json(["accounts", "--type", "Soon", "--json"]).array?.first?.object
        let end = try #require(account?["refresh_expires_at"]?.string)
        #expect(try shown.first?["body"]?.string == "The grant for Soon expires on \(end.prefix(10)).")
        try home.run(["notify"], environment: bus)
        #expect(try shown.count == 1)
    }

    @Test func `no notification is sent if it is disabled, and no command fails without a bus`() throws {
        try endSignIn()
        #expect(try home.run(["notify"]).standardError.isEmpty)
        let desktop = try desktop(), bus = ["DBUS_SESSION_BUS_ADDRESS": desktop.busAddress]
        try home.write(#"{"notifications": "off"}"#, to: "config/credmgr/config.json")
        try home.run(["notify"], environment: bus)
        #expect(try shown.isEmpty)
        try home.write(#"{"notifications": true}"#, to: "config/credmgr/config.json")
        try home.run(["notify"], environment: bus)
        #expect(try shown.count == 1)
    }
}
