import CredentialCore
import DemoProvider
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

@Suite struct `The switches of the demo provider` {
    @Test func `writes numbers as strings`() throws {
        let demo = try Demo { $0.switches.numbersAsStrings = true }
        let tokens = try demo.tokens()
        for name in ["expires_in", "expires_on", "not_before", "id_token_expires_in", "refresh_token_expires_in"] {
            #expect(tokens.text(name).flatMap { Int64($0) } != nil)
        }
    }

    @Test func `writes claims in the old ways`() throws {
        let demo = try Demo {
            $0.switches.policyInACR = true
            $0.switches.oldSubject = true
            $0.switches.includesTenantClaim = true
            $0.switches.profileInfoHasNulls = false
            $0.switches.includesClientInfo = false
        }
        let tokens = try demo.tokens()
        let claims = try Demo.claims(tokens.text("id_token"))
        #expect(claims.text("acr") == "B2C_1_sign_in" && claims["tfp"] == nil)
        #expect(claims.text("sub") == "Not supported currently. Use oid claim.")
        #expect(claims.text("tid") == "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77")
        #expect(tokens["client_info"] == nil)
        let profile = try Demo.decoded(tokens.text("profile_info"))
        #expect(profile.text("preferred_username") == "alice@example.com")
    }

    @Test func `gives tokens of the lifetime a switch says`() throws {
        let demo = try Demo { $0.switches.accessTokenLifetime = 7 }
        let tokens = try demo.tokens()
        #expect(tokens["expires_in"] == 7)
        let claims = try Demo.claims(tokens.text("access_token"))
        #expect(claims["exp"]?.integer == 1_700_000_007)
    }

    @Test func `takes an empty secret, and refuses a policy in the body, when told so`() throws {
        let demo = try Demo {
            $0.switches.refusesEmptySecret = false
            $0.switches.refusesPolicyInBody = true
        }
        #expect(try demo.redeem(demo.code(), ["client_secret": ""]).status == 200)
        #expect(try demo.redeem(demo.code(), ["client_secret": "x"]).failure() == "invalid_request 90084")
        let code = try demo.code()
        #expect(try demo.redeem(code, ["p": "b2c_1_sign_in"]).status == 400)
        demo.provider.change { $0.refusesPolicyInBody = false }
        #expect(try demo.redeem(code, ["p": "b2c_1_sign_up"]).status == 200)
    }

    @Test func `fails as often as told, with Retry-After`() throws {
        let demo = try Demo()
        let token = try #require(demo.tokens().text("refresh_token"))
        demo.provider.change {
            $0.failures = 2
            $0.failureStatus = 429
            $0.retryAfter = 3
        }
        let throttled = try demo.refresh(token)
        #expect(throttled.status == 429)
        #expect(throttled.value(of: "retry-after") == "3")
        #expect(try throttled.failure() == "temporarily_unavailable 90244")
        #expect(try demo.refresh(token).status == 429)
        #expect(try demo.refresh(token).status == 200)
        demo.provider.change {
            $0.failures = -1
            $0.failureStatus = 503
            $0.retryAfter = -1
        }
        for _ in 0..<3 {
            let reply = try demo.refresh(token)
            #expect(reply.status == 503)
            #expect(reply.value(of: "retry-after") == nil)
        }
        #expect(demo.provider.counters.tokenRequests == 7)
        #expect(demo.provider.counters.refreshes == 1)
    }

    @Test func `lets a reply trickle, or breaks it off`() throws {
        let demo = try Demo()
        let token = try #require(demo.tokens().text("refresh_token"))
        demo.provider.change { $0.replyMilliseconds = 300 }
        let start = ContinuousClock.now
        #expect(try demo.refresh(token).object()["access_token"] != nil)
        #expect(ContinuousClock.now - start >= .milliseconds(290))
        demo.provider.change {
            $0.replyMilliseconds = 0
            $0.truncatesReplies = true
        }
        let broken = try demo.refresh(token)
        #expect(broken.status == 200)
        #expect(throws: JSONError.self) { try JSONValue.parse(broken.body) }
    }
}
