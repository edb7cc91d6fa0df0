import Foundation
import TestSupport
import Testing

/// A user asks for the address of a sign-in again and again, and goes there once.
@Suite(.needs(.keyring)) struct `Hundreds of pending sign-ins` {
    /// More than any machine needs, however busy; a call that runs into the keyring's deadline time and again needs
    /// more, in seconds.
    private static let patience = 30.0

    /// Each call goes through the whole file store, which takes a debug build a while.
    @Test(arguments: [("file", 100), ("secret-service", 300)])
    func `do not slow down other commands`(store: String, count: Int) throws {
        let keyring = store == "file" ? nil : try PrivateKeyring()
        defer { keyring?.stop() }
        let home = try Home(keyring.map { ["DBUS_SESSION_BUS_ADDRESS": $0.busAddress] } ?? [:])
        let tenant = try DemoTenant()
        let id = try tenant.signIn(at: home, more: ["--store", store])
        let token = try home.run(["token"]).line
        let begin = ["login", "--type", DemoTenant.typeName, "--print-url", "--store", store]
        var urls: [String] = []
        for _ in 0..<count { urls.append(try inTime { try home.run(begin).line }) }
        #expect(Set(urls).count == count)

        #expect(try inTime { try home.run(["token"]).line } == token)
        #expect(try inTime { try home.run(["token", "--force-refresh"]).line } != token)
        // The oldest, the newest and one in between are all still there.
        for url in [urls[0], urls[count / 2], urls[count - 1]] {
            let redirect = try tenant.redirect(from: url)
            let done = try inTime { try home.run(["login", "--complete", redirect]).line }
            #expect(done == "\(id)\talice@example.com")
        }
        try inTime { try home.run(["doctor"]) }
        try inTime { try home.run(["logout", "--account", id]) }
    }

    @discardableResult private func inTime<Value>(
        sourceLocation: SourceLocation = #_sourceLocation, _ act: () throws -> Value
    ) rethrows -> Value {
        let begin = ContinuousClock.now
        let value = try act()
        let spent = begin.duration(to: .now)
        #expect(spent < .seconds(Self.patience), sourceLocation: sourceLocation)
        return value
    }
}
