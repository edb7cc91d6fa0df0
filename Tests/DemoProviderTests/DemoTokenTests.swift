import CredentialCore
import CryptoSupport
import DemoProvider
import Foundation
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

@Suite struct `The token endpoint of the demo provider` {
    @Test func `turns a code into the tokens of the real one`() throws {
        let demo = try Demo()
        let reply = try demo.redeem(demo.code())
        #expect(reply.status == 200)
        #expect(reply.value(of: "content-type") == "application/json; charset=utf-8")
        let tokens = try reply.object()
        #expect(tokens.text("token_type") == "Bearer")
        #expect(tokens["expires_in"] == 3600)
        #expect(tokens["expires_on"] == 1_700_003_600)
        #expect(tokens["not_before"] == 1_700_000_000)
        #expect(tokens["id_token_expires_in"] == 3600)
        #expect(tokens["refresh_token_expires_in"] == 1_209_600)
        #expect(tokens.text("resource") == Demo.client)
        #expect(tokens.text("scope") == "\(Demo.client) offline_access openid")
        let claims = try Demo.claims(tokens.text("id_token"))
        #expect(claims.text("iss") == demo.base + "/7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77/v2.0/")
        #expect(claims.text("aud") == Demo.client)
        #expect(claims.text("nonce") == "the-nonce")
        #expect(claims.text("sub") == "3f0c9a52-7a1e-4c55-8e02-b6d2f1a40c11")
        #expect(claims.text("oid") == claims.text("sub"))
        #expect(claims.text("tfp") == "B2C_1_sign_in")
        #expect(claims["acr"] == nil && claims["tid"] == nil)
        let digest = try LibCryptography().sha256(Array(#require(tokens.text("access_token")).utf8))
        #expect(claims.text("at_hash") == Base64URL.encode(Array(digest.prefix(16))))
    }

    @Test func `signs so that the key set verifies it`() throws {
        let demo = try Demo()
        let tokens = try demo.tokens()
        let url = "\(demo.base)/\(Demo.tenant)/b2c_1_sign_in/discovery/v2.0/keys"
        let key = try #require(demo.http.send("GET", url).object()["keys"]?.array?.first?.object)
        for name in ["id_token", "access_token"] {
            let parts = try #require(tokens.text(name)).split(separator: ".").map(String.init)
            let signature = try #require(Base64URL.decode(parts[2]))
            #expect(
                try LibCryptography().verify(
                    signature, of: Array("\(parts[0]).\(parts[1])".utf8), algorithm: .rs256, key: key))
        }
    }

    @Test func `describes user and client the way B2C does`() throws {
        let demo = try Demo()
        let tokens = try demo.tokens()
        let profile = try Demo.decoded(tokens.text("profile_info"))
        #expect(profile["sub"] == .null && profile["preferred_username"] == .null)
        #expect(profile.text("name") == "Alice Example")
        #expect(
            try Demo.decoded(tokens.text("client_info")).text("uid")
                == "3f0c9a52-7a1e-4c55-8e02-b6d2f1a40c11-b2c_1_sign_in")
    }

    @Test func `gives an API's token for an API's scope`() throws {
        let demo = try Demo()
        let scope =
            "openid https://exampleb2c.onmicrosoft.com/tasks/read https://exampleb2c.onmicrosoft.com/tasks/write"
        let tokens = try demo.redeem(demo.code(changing: ["scope": scope]), ["scope": scope]).object()
        let claims = try Demo.claims(tokens.text("access_token"))
        #expect(claims.text("scp") == "read write")
        #expect(claims.text("aud") == "1f0a9d4e-6c2b-4d3f-8b7a-5e9c0d1a2b3c")
        #expect(claims.text("azp") == Demo.client)
        #expect(tokens["refresh_token"] == nil, "nobody asked for offline_access")
    }

    @Test func `gives an id token alone when no resource is named`() throws {
        let demo = try Demo()
        let tokens = try demo.redeem(demo.code(changing: ["scope": "openid"]), ["scope": "openid"]).object()
        #expect(tokens["access_token"] == nil && tokens["expires_in"] == nil)
        #expect(tokens["id_token"] != nil)
        demo.provider.change { $0.idTokenOnlyWithoutResource = false }
        let more = try demo.redeem(demo.code(changing: ["scope": "openid"]), ["scope": "openid"]).object()
        #expect(more["access_token"] != nil)
    }

    @Test(
        arguments: [
            (["code": nil], "invalid_request 90083"), (["code": "made-up"], "invalid_grant 90090"),
            (["code_verifier": nil], "invalid_request 90183"),
            (["code_verifier": "short"], "invalid_request 90183"),
            (["code_verifier": String(repeating: "x", count: 43)], "invalid_grant 90182"),
            (["redirect_uri": "http://localhost:1"], "redirect_uri_mismatch 90006"),
            (["client_id": nil], "invalid_request 90008"), (["client_id": "unknown"], "invalid_client 90018"),
            (["client_id": "8d5f1c1e-3a4b-4a57-9f0d-2b6c7e8f9a10"], "invalid_grant 90279"),
            (["client_secret": ""], "invalid_request 90084"), (["client_secret": "x"], "invalid_request 90084"),
            (["grant_type": "device_code"], "unsupported_grant_type 90086"),
            (["grant_type": nil], "invalid_request 90083"),
        ] as [([String: String?], String)])
    func `refuses a code with the error of the real one`(_ changes: [String: String?], _ failure: String) throws {
        let demo = try Demo()
        let code = try demo.code()
        let reply = try demo.redeem(code, changes)
        #expect(reply.status == 400)
        #expect(try reply.failure() == failure)
        #expect(try demo.redeem(code).status == 200, "a refused request does not use the code up")
    }

    @Test func `takes a code once, for ten minutes, at its policy`() throws {
        let demo = try Demo()
        let used = try demo.code()
        #expect(try demo.redeem(used).status == 200)
        #expect(try demo.redeem(used).failure() == "invalid_grant 90080")
        #expect(demo.provider.counters.codeReuses == 1)
        #expect(try demo.redeem(demo.code(), policy: "b2c_1_sign_up").failure() == "invalid_grant 90088")
        let late = try demo.code()
        demo.clock.advance(600)
        #expect(try demo.redeem(late).failure() == "invalid_grant 90080")
        demo.provider.change { $0.codesAreSingleUse = false }
        let again = try demo.code()
        #expect(try demo.redeem(again).status == 200)
        #expect(try demo.redeem(again).status == 200)
    }

    @Test func `lets one of many requests with the same code win`() throws {
        let demo = try Demo()
        let code = try demo.code()
        let url = demo.endpoint("token")
        let form = FormFields([
            ("grant_type", "authorization_code"), ("client_id", Demo.client), ("code", code),
            ("redirect_uri", Demo.redirect), ("code_verifier", Demo.verifier),
        ])
        let requests = (0..<16).map { _ in
            Background {
                try LoopbackClient().send(
                    "POST", url, headers: [("Content-Type", "application/x-www-form-urlencoded")],
                    body: Array(form.encoded().utf8)
                ).status
            }
        }
        #expect(try requests.map { try $0.value() }.filter { $0 == 200 }.count == 1)
    }

    @Test func `echoes the correlation id`() throws {
        let demo = try Demo()
        let id = "5a1d0f6e-9d2b-4f61-8c8f-0d6f3b7e2a10"
        let reply = try demo.post(
            demo.endpoint("token"), ["client_id": Demo.client], headers: [("client-request-id", id)])
        #expect(reply.value(of: "client-request-id") == id)
        #expect(try reply.object().text("error_description")?.contains("Correlation ID: \(id)\r\n") == true)
        let made = try demo.post(
            demo.endpoint("token"), ["client_id": Demo.client], headers: [("client-request-id", "x")])
        #expect(made.value(of: "client-request-id")?.utf8.count == 36)
    }

    @Test func `takes no multipart form and no query`() throws {
        let demo = try Demo()
        let multipart =
            "--b\r\nContent-Disposition: form-data; name=\"grant_type\"\r\n\r\nrefresh_token\r\n--b--\r\n"
        let reply = try demo.http.send(
            "POST", demo.endpoint("token"), headers: [("Content-Type", "multipart/form-data; boundary=b")],
            body: Array(multipart.utf8))
        #expect(try reply.failure() == "invalid_request 90083")
        #expect(try demo.http.send("GET", demo.endpoint("token") + "?grant_type=password").status == 400)
    }

    @Test func `takes a password at its policy only`() throws {
        let demo = try Demo()
        var fields = [
            "grant_type": "password", "client_id": Demo.client, "username": "bob@example.com",
            "password": "bob's password", "scope": Demo.fullScope, "response_type": "token id_token",
        ]
        let tokens = try demo.post(demo.endpoint("token", policy: "b2c_1_ropc"), fields).object()
        #expect(tokens["access_token"] != nil && tokens["refresh_token"] != nil)
        #expect(try demo.post(demo.endpoint("token"), fields).failure() == "unauthorized_client 90224")
        fields["password"] = "wrong"
        let ropc = demo.endpoint("token", policy: "b2c_1_ropc")
        #expect(try demo.post(ropc, fields).failure() == "access_denied 90225")
        #expect(demo.provider.counters.grants == ["password": 3])
    }

    @Test func `takes a client's own credentials, in the body or in the header`() throws {
        let demo = try Demo()
        let id = "c0ffee00-5b1d-4e55-8e7e-0d1e2f3a4b5c", url = demo.endpoint("token")
        let scope = "https://exampleb2c.onmicrosoft.com/tasks/.default"
        var fields = [
            "grant_type": "client_credentials", "client_id": id, "client_secret": "demo client secret",
            "scope": scope,
        ]
        let tokens = try demo.post(url, fields).object()
        #expect(tokens["access_token"] != nil && tokens["id_token"] == nil && tokens["refresh_token"] == nil)
        let basic = Base64URL.encodeOrdinary(Array("\(id):demo+client+secret".utf8))
        let byHeader = try demo.post(
            url, ["grant_type": "client_credentials", "scope": scope],
            headers: [("Authorization", "Basic \(basic)")])
        #expect(byHeader.status == 200)
        fields["scope"] = "openid"
        #expect(try demo.post(url, fields).failure() == "invalid_scope 99068")
        fields["client_secret"] = "wrong"
        #expect(try demo.post(url, fields).failure() == "invalid_client 90081")
        fields["client_secret"] = nil
        #expect(try demo.post(url, fields).failure() == "invalid_client 90079")
        fields["client_id"] = Demo.client
        #expect(try demo.post(url, fields).failure() == "invalid_client 90079")
    }
}
