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
            (#", "expires_on": 1e300"#, 31_536_000), (#", "expires_on": 1"#, 1),
            (#", "expires_on": 3599"#, 3599), (#", "expires_on": "315359999""#, 31_536_000),
            (#", "expires_on": 1600000000"#, 600), (#", "expires_on": 1700000000"#, 600),
            (#", "expires_on": 0"#, 600), (#", "expires_on": -5"#, 600),
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
            (#""refresh_token_expires_at": 1600000000"#, nil), (#""refresh_token_expires_at": 50"#, 50),
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
        #"{"access_token": "t", "refresh_token": ""# + String(repeating: "a", count: 65_537) + #""}"#,
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

    @Test(
        arguments: [
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
            (200, #"{"access_token":null,"error":"e"}"#, "e", 200),
            (200, #"{"access_token":"","error":"e"}"#, "e", 200),
            (200, "error=e&error_description=x", "e", 200), (200, "\nerror=e\r\n", "e", 200),
            (200, #"{"error":"e","error_description":"x",}"#, "e", 200),
            (200, #"{"ok":false,"error":"e","access_token":null,}"#, "e", 200),
            (400, #"{"error":null,}"#, "unknown", 400), (400, #"{"error":{"code":"e"},}"#, "unknown", 400),
            (400, #"{"error":["e"]}"#, "e", 400), (200, #"{"error":[{"code":"e","message":"x"}]}"#, "e", 200),
            (400, #"{"error_code":"e_f","msg":"x","code":400}"#, "e_f", 400),
            (200, #"{"code":20037,"msg":"x"}"#, "20037", 200),
            (200, #"{"success":false,"message":"x"}"#, "unknown", 200),
            (200, #"{"status":"error","message":"authorization_pending"}"#, "authorization_pending", 200),
            (200, #"{"errors":{"refresh_token":["is invalid"]}}"#, "unknown", 200),
            (200, #"{"error_description":"x"}"#, "unknown", 200),
        ] as [(Int, String, String, Int)])
    func `knows refusals`(status: Int, body: String, code: String, kept: Int) throws {
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
        (#"{"code":400,"msg":"why"}"#, "why"), (#"{"Message":"why"}"#, "why"),
        (#"{"error_code":100,"error_msg":"why"}"#, "why"), (#"{"title":"why","status":400}"#, "why"),
        (#"{"title":"x","detail":"why"}"#, "why"),
        (#"{"errors":{"refresh_token":["is invalid"]}}"#, "refresh_token: is invalid"),
        (#"{"errors":{"n":[],"refresh_token":"is invalid"}}"#, "refresh_token: is invalid"),
    ]) func `finds the provider's reason wherever it stands`(body: String, reason: String) throws {
        guard case .refused(let refusal) = try sort(400, body, "text/plain") else {
            Issue.record("not a refusal")
            return
        }
        #expect(refusal.description == reason)
        let error = OAuthErrorMapping.error(refusal, in: .refresh, type: "T")
        #expect(error.message.contains(reason) && error.message.contains("HTTP status 400"), "\(error.message)")
    }

    @Test(arguments: [
        #"{"access_token":"t","error":"e"}"#, #"{"access_token":"t","error":""}"#, #"{"error":""}"#,
        #"{"error":{}}"#, #"{"error":[]}"#, #"{"code":0,"msg":"ok"}"#, #"{"code":200,"message":"ok"}"#,
        #"{"code":7,"name":"Ada"}"#, #"{"access_token":"t","code":7,"msg":"x"}"#, #"{"errors":[]}"#,
    ]) func `a member without an error refuses nothing`(body: String) throws {
        guard case .object = try sort(200, body) else {
            Issue.record("not an object")
            return
        }
    }

    @Test func `the code and reason of a refusal do not have to be UTF-8, whatever its status`() throws {
        let body = Array(#"{"error":"invalid_grant","error_description":"f"#.utf8) + [0xFC] + Array(#"r"}"#.utf8)
        for status in [200, 400] {
            guard
                case .refused(let refusal) = try EndpointResponse.sort(
                    HTTPResponse(status: status, body: body), from: "token endpoint")
            else {
                Issue.record("not a refusal")
                return
            }
            #expect(refusal.code == "invalid_grant" && refusal.description?.hasPrefix("f") == true)
        }
    }

    @Test(arguments: [
        (500, #"{"error":"e","error_description":"why"}"#, "failed: HTTP status 500 (e: why)"),
        (503, "maintenance", "failed: HTTP status 503 (maintenance)"), (502, "<p>x", "failed: HTTP status 502"),
        (429, #"{"message":"why"}"#, "is limiting requests: HTTP status 429 (why)"),
        (503, "", "failed: HTTP status 503"),
        (400, "<html>", "returned a web page instead of JSON (HTTP status 400)"),
        (401, "<error><code>x</code></error>", "returned a web page instead of JSON (HTTP status 401)"),
        (200, "<html>", "returned a web page instead of JSON"),
    ])
    func `a failure has the status and the provider's reason`(status: Int, body: String, end: String) {
        let error = #expect(throws: CredentialError.self) { try sort(status, body, "text/plain") }
        #expect(error?.code == .temporary && error?.message.hasSuffix(end) == true, "\(error?.message ?? "")")
    }

    @Test func `a challenge has the reason of a refusal without a body`() throws {
        let challenge = #"Bearer error="invalid_token", error_description="why it is""#
        let response = HTTPResponse(status: 401, headers: [("www-authenticate", challenge)])
        guard case .refused(let refusal) = try EndpointResponse.sort(response, from: "token endpoint") else {
            Issue.record("not a refusal")
            return
        }
        let error = OAuthErrorMapping.error(refusal, in: .refresh, type: "T")
        // A gateway may have sent it: the grant stays, and nothing blames the client.
        #expect(error.code == .denied && error.advice?.description.contains("credmgr login") == true)
        #expect(error.message.hasSuffix("(invalid_token: why it is, HTTP status 401)"), "\(error.message)")
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
        ("error=&access_token=t", "form encoding"), ("access_token=t&error=e", "form encoding"),
        ("{", "invalid JSON"), (#"{"access_token":"t","error":"e",}"#, "invalid JSON"),
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
