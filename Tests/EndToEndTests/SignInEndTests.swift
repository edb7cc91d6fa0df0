import CredentialCore
import Foundation
import StrictJSON
import TestSupport
import Testing

/// Where the provider says when the sign-in ends, people are told before.
@Suite struct `The end of a sign-in` {
    private let home: Home

    init() throws { home = try Home(["CREDMGR_STORE": "file"]) }

    private func signIn(lasting seconds: Int64) throws -> ScriptedProvider {
        let provider = try ScriptedProvider {
            $0.token = .json(
                200,
                [
                    "access_token": "at-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-1",
                    "refresh_expires_in": .integer(seconds),
                ])
        }
        try home.run(["types", "add", "Work", "--issuer", provider.base, "--client-id", "c", "--scope", "api"])
        try provider.signIn(at: home)
        return provider
    }

    @Test func `It is told by accounts and doctor, with the command that renews it`() throws {
        let provider = try signIn(lasting: 3 * 86_400 + 600)
        let said = try home.run(["accounts"]).standardError
        #expect(
            said.contains("note: the sign-in of ada@example.test (Work) ends in 3 days: credmgr login --account "))
        let checks = try home.json(["doctor", "--json"]).object?["checks"]?.array
        let finding = try #require(
            checks?.first { $0.object?["check"]?.string?.hasPrefix("account ") == true }?.object)
        #expect(finding["state"] == "note")
        #expect(finding["message"]?.string?.contains("ends in 3 days") == true)
        #expect(finding["remedy"]?.string?.hasPrefix("credmgr login --account ") == true)
        _ = provider
    }

    @Test func `One that is far away is told by nobody`() throws {
        _ = try signIn(lasting: 30 * 86_400)
        #expect(try home.run(["accounts"]).standardError.isEmpty)
        let checks = try home.json(["doctor", "--json"]).object?["checks"]?.array
        #expect(checks?.contains { $0.object?["check"]?.string?.hasPrefix("account ") == true } == false)
    }
}
