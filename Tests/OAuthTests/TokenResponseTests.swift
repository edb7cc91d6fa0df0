import CredentialCore
import OAuth
import StrictJSON
import Testing

@Suite struct TokenResponseTests {
    private static let now = Timestamp(epochSeconds: 1_700_000_000)

    private func read(_ text: String, idTokenAlone: Bool = false) throws -> TokenResponse {
        let members = try #require(try JSONValue.parse(text).object)
        return try TokenResponse(members, now: Self.now, acceptsIDTokenAlone: idTokenAlone)
    }

    @Test(
        arguments: [
            ("", 600), (#", "expires_in": 3600"#, 3600), (#", "expires_in": "3600""#, 3600),
            (#", "expires_in": 3600.9"#, 3600), (#", "expires_in": 3.6e3"#, 3600),
            (#", "expires_in": "3.6e3""#, 3600),
            (#", "expires_in": 0"#, 600), (#", "expires_in": -1"#, 600), (#", "expires_in": "-5""#, 600),
            (#", "expires_in": 3600000, "expires_in_sec": 3600"#, 3600), (#", "expires_in_sec": 90"#, 90),
            (#", "expires_in": 0, "expires_on": 1700000100"#, 100),
            (#", "expires_in": 1e308"#, 31_536_000), (#", "expires_in": 1e999"#, 600),
            (#", "expires_in": 9223372036854775808"#, 31_536_000),
            (#", "expires_in": 9223372036854775807"#, 31_536_000),
            (#", "expires_in": -1e308"#, 600), (#", "expires_in": "NaN""#, 600), (#", "expires_in": "soon""#, 600),
            (#", "expires_in": """#, 600), (#", "expires_in": null"#, 600), (#", "expires_in": true"#, 600),
            (#", "expires_in": []"#, 600), (#", "expires_in": {}"#, 600),
            (#", "expires_on": 1700000100"#, 100), (#", "expires_on": "1700000100""#, 100),
            (#", "expires_on": 1e300"#, 31_536_000), (#", "expires_on": 1"#, 1 - 1_700_000_000),
            (#", "expires_in": 50, "expires_on": 1700000100"#, 50),
            (#", "expires_in": null, "expires_on": 1700000100"#, 100),
            (#", "not_before": "1442340812", "expires_in": "60""#, 60),
        ] as [(String, Int64)])
    func `reads the lifetime`(members: String, expected: Int64) throws {
        let reply = try read(#"{"access_token": "t""# + members + "}")
        #expect(reply.expiresAt.seconds(since: Self.now) == expected)
    }

    @Test(
        arguments: [
            (#""refresh_token_expires_in": 50"#, 50), (#""refresh_expires_in": 50"#, 50),
            (#""refresh_token_expires_in": 5000000, "refresh_expires_in": 5000"#, 5000),
            (#""refresh_token_expires_in": 5000, "refresh_expires_in": 5000000"#, 5000),
            (#""refresh_token_expires_in": 0, "refresh_expires_in": 50"#, 50),
            (#""refresh_token_expires_in": 50, "refresh_expires_in": -1"#, 50),
            (#""refresh_expires_in": 0, "refresh_token_expires_at": 1700000100"#, 100),
            (#""refresh_token_expires_in": 0, "refresh_expires_in": 0"#, nil), (#""x": 1"#, nil),
        ] as [(String, Int64?)])
    func `the smaller lifetime of a refresh token counts`(members: String, expected: Int64?) throws {
        let reply = try read(#"{"access_token": "t", "# + members + "}")
        #expect(reply.refreshExpiresAt == expected.map { Self.now.adding($0) })
    }

    @Test(
        arguments: [
            (#""a b""#, ["a", "b"]), (#"["a", "b"]"#, ["a", "b"]), (#""repo,user""#, ["repo", "user"]),
            (#""b  a b""#, ["b", "a"]), (#"["a b", 1, "c"]"#, ["a", "b", "c"]),
            (#""""#, nil), ("[]", nil), ("null", nil), ("7", nil), ("{}", nil), (#""\"""#, nil),
        ] as [(String, [String]?)])
    func `reads the scope`(value: String, expected: [String]?) throws {
        #expect(try read(#"{"access_token": "t", "scope": \#(value)}"#).scope == expected)
    }

    @Test(arguments: [
        "", #", "token_type": "bearer""#, #", "token_type": "BEARER""#, #", "token_type": null"#,
        #", "token_type": """#, #", "token_type": "access_token""#,
    ])
    func `takes bearer tokens under all their names`(members: String) throws {
        #expect(try read(#"{"access_token": "t""# + members + "}").tokenType == "Bearer")
    }

    @Test(arguments: [
        "{}", #"{"access_token": null}"#, #"{"access_token": ""}"#, #"{"access_token": 1}"#,
        #"{"access_token": ["t"]}"#, #"{"access_token": "a\u0000b"}"#, #"{"access_token": "a\r\nX: y"}"#,
        #"{"access_token": "a b"}"#, #"{"access_token": "é"}"#, #"{"access_token": "a\u007f"}"#,
        #"{"access_token": "t", "refresh_token": "a\n"}"#, #"{"access_token": "t", "refresh_token": {}}"#,
        #"{"access_token": "t", "id_token": 7}"#, #"{"access_token": "t", "token_type": "mac"}"#,
        #"{"access_token": "t", "token_type": "DPoP"}"#, #"{"access_token": "t", "token_type": 1}"#,
        #"{"id_token": "i"}"#,
    ]) func `refuses`(text: String) {
        let error = #expect(throws: CredentialError.self) { try read(text) }
        #expect(error?.code == .malformedReply)
    }

    @Test func `accepts an ID token alone only if it serves as bearer token`() throws {
        let reply = try read(
            #"{"id_token": "i", "token_type": "Bearer", "id_token_expires_in": "3600", "scope": "openid"}"#,
            idTokenAlone: true)
        #expect(reply.accessToken == nil)
        #expect(reply.idToken == "i")
        #expect(reply.idTokenExpiresAt == Self.now.adding(3600))
    }

    @Test func `reads the full reply of B2C`() throws {
        let reply = try read(
            #"""
            {"access_token":"a","id_token":"i","token_type":"Bearer","not_before":1700000000,"expires_in":3600,
            "expires_on":1700003600,"resource":"580e250c","id_token_expires_in":3600,"profile_info":"e30",
            "scope":"580e250c offline_access openid","refresh_token":"r","refresh_token_expires_in":1209600}
            """#)
        #expect(reply.refreshToken == "r")
        #expect(reply.refreshExpiresAt == Self.now.adding(1_209_600))
        #expect(reply.members["profile_info"]?.string == "e30")
        #expect(reply.scope == ["580e250c", "offline_access", "openid"])
    }

    // MARK: Replies of the endpoint

    private func sort(_ status: Int, _ body: String, _ type: String = "application/json") throws -> EndpointResponse
    {
        try EndpointResponse.sort(
            HTTPResponse(status: status, headers: [("content-type", type)], body: Array(body.utf8)),
            from: "token endpoint")
    }

    @Test(arguments: [
        (500, "{}", ErrorCode.temporary), (503, #"{"error":"invalid_grant"}"#, .temporary), (429, "", .temporary),
        (408, "", .temporary), (302, "", .temporary), (307, #"{"access_token":"t"}"#, .temporary),
        (200, "<html>sign in to the hotel</html>", .temporary), (200, " \n<!DOCTYPE html>", .temporary),
        (400, "<html></html>", .temporary), (511, "<html>", .temporary),
        (200, "", .malformedReply), (200, "[]", .malformedReply), (200, "null", .malformedReply),
        (200, "\"t\"", .malformedReply), (200, #"{"access_token":"t""#, .malformedReply),
        (200, #"{"access_token":"t","access_token":"u"}"#, .malformedReply),
        (200, "access_token=t&token_type=bearer", .malformedReply),
        (404, "", .configuration), (405, "{}", .configuration),
    ])
    func `knows replies that say nothing of the grant`(status: Int, body: String, code: ErrorCode) {
        let error = #expect(throws: CredentialError.self) { try sort(status, body) }
        #expect(error?.code == code)
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant","error_description":"d","error_uri":"u"}"#, "invalid_grant", 400),
        (401, #"{"error":"invalid_client"}"#, "invalid_client", 401),
        (403, #"{"error":"invalid_code"}"#, "invalid_code", 403),
        (404, #"{"error":"invalid_grant"}"#, "invalid_grant", 404),
        (400, "", "", 400), (403, "", "", 403), (400, "oops", "unknown", 400), (400, "{}", "unknown", 400),
        (400, #"{"error":{"message":"x"}}"#, "unknown", 400), (400, #"{"error":""}"#, "unknown", 400),
        (200, #"{"error":"bad_verification_code","error_description":"x"}"#, "bad_verification_code", 200),
        (400, "error=invalid_grant&error_description=x", "invalid_grant", 400),
        (400, #"{"status":400,"message":"authorization_pending"}"#, "authorization_pending", 400),
        (400, #"{"status":400,"message":"gone"}"#, "unknown", 400),
        (400, #"{"status":"BAD_REFRESH_TOKEN","message":"gone"}"#, "BAD_REFRESH_TOKEN", 400),
        (400, #"{"error":{"code":"invalid_grant","message":"x"}}"#, "invalid_grant", 400),
        (400, #"{"errors":[{"errorType":"invalid_grant","message":"x"}]}"#, "invalid_grant", 400),
        (401, #"{"errorCode":"E0000011","errorSummary":"x"}"#, "E0000011", 401),
        (200, #"{"errcode":40030,"errmsg":"x"}"#, "40030", 200), (200, #"{"ok":false,"error":"e"}"#, "e", 200),
        (400, #"{"error":"e","error_description":"cut "#, "e", 400),
    ]) func `knows refusals`(status: Int, body: String, code: String, kept: Int) throws {
        guard case .refused(let refusal) = try sort(status, body, "text/plain") else {
            Issue.record("not a refusal")
            return
        }
        #expect(refusal.code == code)
        #expect(refusal.status == kept)
    }

    @Test(arguments: [
        (#"{"error":"e","error_description":"why"}"#, "why"), (#"{"error":"e","message":"why"}"#, "why"),
        (#"{"error":"e","message":"why","hint":"Token has been revoked"}"#, "why Token has been revoked"),
        (#"{"error":{"message":"why","type":"OAuthException","code":190}}"#, "why"),
        (#"{"errors":[{"errorType":"e","message":"why"}],"success":false}"#, "why"),
        (#"{"errors":["why"]}"#, "why"), (#"{"errorCode":"E1","errorSummary":"why"}"#, "why"),
        (#"{"errcode":1,"errmsg":"why"}"#, "why"), ("no healthy upstream", "no healthy upstream"),
    ]) func `finds the provider's reason wherever it stands`(body: String, reason: String) throws {
        guard case .refused(let refusal) = try sort(400, body, "text/plain") else {
            Issue.record("not a refusal")
            return
        }
        #expect(refusal.description == reason)
        let error = OAuthErrorMapping.error(refusal, in: .refresh, type: "T")
        #expect(error.message.contains(reason) && error.message.contains("HTTP status 400"), "\(error.message)")
    }

    @Test func `an access token's own end shortens a lifetime that is guessed, and lengthens none`() throws {
        func jwt(_ end: Int64) -> String {
            let parts = [#"{"alg":"none"}"#, #"{"exp":\#(end)}"#].map { Base64URL.encode(Array($0.utf8)) }
            return parts.joined(separator: ".") + ".AA"
        }
        func life(_ token: String, _ members: String = "") throws -> Int64 {
            try read(#"{"access_token": "\#(token)"\#(members)}"#).expiresAt.seconds(since: Self.now)
        }
        let now = Self.now.epochSeconds
        #expect(try life(jwt(now + 60)) == 60)
        #expect(try life(jwt(now + 6_000)) == 600)
        #expect(try life(jwt(now + 60), #", "expires_in": 300"#) == 300)
        #expect(try life("a.b.c") == 600)
    }

    @Test(arguments: [
        ("", "an empty body"), (" \n", "an empty body"), ("access_token=t&token_type=bearer", "form encoding"),
        ("error=temporarily_unavailable&error_description=x", "form encoding"), ("{", "invalid JSON"),
        ("hello", "text/plain, not an object"), ("\u{FEFF}Not today.\r\n", "text/plain, not an object"),
        ("PHP Notice: x\n{}", "text/plain, not an object"), ("\"hello", "invalid JSON"),
        ("hello\0", "invalid JSON"), ("<html>", "a web page"), ("[]", "an array, not an object"),
    ]) func `names the form of a response that is not JSON`(body: String, form: String) {
        let error = #expect(throws: CredentialError.self) { try sort(200, body) }
        #expect(error?.message.contains("returned \(form)") == true, "\(error?.message ?? "")")
    }

    @Test func `gives the time to wait as hint`() {
        let response = HTTPResponse(status: 429, headers: [("retry-after", "17")])
        let error = #expect(throws: CredentialError.self) {
            try EndpointResponse.sort(response, from: "token endpoint")
        }
        #expect(error?.hint == "try again in 17 seconds")
        #expect(error?.details.contains("retry-after: 17") ?? false)
    }
}
