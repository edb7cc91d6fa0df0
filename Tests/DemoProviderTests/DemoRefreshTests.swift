import CredentialCore
import DemoProvider
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

@Suite struct `Refreshing at the demo provider` {
    @Test func `refreshes, for other scopes too, and gives a new refresh token each time`() throws {
        let demo = try Demo()
        let first = try #require(demo.tokens().text("refresh_token"))
        demo.clock.advance(10)
        let refreshed = try demo.refresh(first).object()
        #expect(refreshed["expires_on"] == 1_700_003_610)
        #expect(refreshed.text("refresh_token") != first)
        let api = try demo.refresh(first, ["scope": "openid https://exampleb2c.onmicrosoft.com/tasks/read"])
            .object()
        #expect(try Demo.claims(api.text("access_token")).text("scp") == "read")
        #expect(try demo.refresh(first, ["scope": nil]).object().text("resource") == Demo.client)
        #expect(demo.provider.counters.refreshes == 3)
        #expect(demo.provider.counters.reusesDetected == 2)
    }

    @Test func `revokes the family when a replaced refresh token comes again`() throws {
        let demo = try Demo { $0.switches.rotation = .revokesOld }
        let first = try #require(demo.tokens().text("refresh_token"))
        let second = try #require(demo.refresh(first).object().text("refresh_token"))
        #expect(try demo.refresh(first).failure() == "invalid_grant 90129")
        #expect(try demo.refresh(second).failure() == "invalid_grant 90129")
        #expect(demo.provider.counters.reusesDetected == 1)
        #expect(demo.provider.counters.refreshes == 1)
    }

    @Test func `may give no new refresh token`() throws {
        let demo = try Demo { $0.switches.rotation = .none }
        let token = try #require(demo.tokens().text("refresh_token"))
        for _ in 0..<3 { #expect(try demo.refresh(token).object()["refresh_token"] == nil) }
        #expect(demo.provider.counters.reusesDetected == 0)
    }

    @Test func `binds a refresh token to client and policy`() throws {
        let demo = try Demo()
        let token = try #require(demo.tokens().text("refresh_token"))
        let reply = try demo.refresh(token, policy: "b2c_1_sign_up")
        #expect(try reply.failure() == "invalid_grant 90088")
        #expect(
            try reply.object().text("error_description")?.contains(
                "Actual Value : B2C_1_sign_in and Expected Value : B2C_1_sign_up\r\n") == true)
        let other = ["client_id": "8d5f1c1e-3a4b-4a57-9f0d-2b6c7e8f9a10"] as [String: String?]
        #expect(try demo.refresh(token, other).failure() == "invalid_grant 90279")
        #expect(try demo.refresh("made-up").failure() == "invalid_grant 90090")
    }

    @Test func `ends a grant: lifetime, sliding window, revocation, removal`() throws {
        let demo = try Demo()
        let token = try #require(demo.tokens().text("refresh_token"))
        demo.clock.advance(1_209_599)
        let refreshed = try #require(demo.refresh(token).object().text("refresh_token"))
        demo.clock.advance(1)
        #expect(try demo.refresh(token).failure() == "invalid_grant 90080")
        demo.provider.change { $0.slidingWindow = 1_209_600 }
        let slid = try demo.refresh(refreshed)
        #expect(try slid.failure() == "invalid_grant 90080")
        #expect(
            try slid.object().text("error_description")?.contains(
                "Current time: 1701209600, Grant issued time: 1700000000, Grant sliding window expiration time: "
                    + "1701209600\r\n") == true)
        let next = try #require(demo.tokens().text("refresh_token"))
        demo.provider.revokeRefreshTokens()
        #expect(try demo.refresh(next).failure() == "invalid_grant 90129")
        let last = try #require(demo.tokens().text("refresh_token"))
        demo.provider.deleteUser(email: "alice@example.com")
        #expect(try demo.refresh(last).failure() == "invalid_grant 90128")
    }
}
