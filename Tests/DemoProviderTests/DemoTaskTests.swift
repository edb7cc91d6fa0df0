import CredentialCore
import DemoProvider
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

@Suite struct `The to-do API of the demo provider` {
    private let form = [(name: "Content-Type", value: "application/x-www-form-urlencoded")]
    private let json = [(name: "Content-Type", value: "application/json")]

    private func token(_ demo: Demo, _ robot: DemoSignIn? = nil) throws -> String {
        try #require(demo.tokens(robot).text("access_token"))
    }

    @Test func `speaks the .NET dialect`() throws {
        let demo = try Demo()
        let url = demo.base + "/api/tasks", headers = demo.bearer(try token(demo))
        #expect(try demo.http.send("GET", url, headers: headers).text == "[]")
        let added = try demo.http.send("POST", url, headers: headers + form, body: Array("Text=buy+milk".utf8))
        #expect(added.status == 204)
        let body = Array(#"{"Text":"buy eggs"}"#.utf8)
        #expect(try demo.http.send("POST", url, headers: headers + json, body: body).status == 204)
        let list = try #require(JSONValue.parse(demo.http.send("GET", url, headers: headers).body).array)
        #expect(
            list.first == [
                "Id": 1, "Owner": "3f0c9a52-7a1e-4c55-8e02-b6d2f1a40c11", "Text": "buy milk", "Completed": false,
                "DateModified": "2023-11-14T22:13:20Z",
            ])
        #expect(list.map { $0.object?["Text"] } == ["buy milk", "buy eggs"])
        #expect(try demo.http.send("DELETE", url + "/1", headers: headers).status == 204)
        #expect(try demo.http.send("DELETE", url + "/1", headers: headers).status == 404)
        let named = try demo.http.send("DELETE", url, headers: headers + json, body: body)
        #expect(named.status == 204)
        #expect(try demo.http.send("GET", url, headers: headers).text == "[]")
        let multipart = [(name: "Content-Type", value: "multipart/form-data; boundary=b")]
        #expect(try demo.http.send("POST", url, headers: headers + multipart, body: [65]).status == 415)
        #expect(try demo.http.send("POST", url, headers: headers + form, body: Array("x=y".utf8)).status == 400)
        #expect(try demo.http.send("PUT", url, headers: headers).status == 405)
    }

    @Test func `speaks the Node dialect`() throws {
        let demo = try Demo()
        let url = demo.base + "/tasks", headers = demo.bearer(try token(demo))
        let owner = "3f0c9a52-7a1e-4c55-8e02-b6d2f1a40c11"
        let body = Array(#"{"task":"buy milk"}"#.utf8)
        let added = try demo.http.send("POST", url, headers: headers + json, body: body)
        #expect(added.status == 201)
        #expect(
            try JSONValue.parse(demo.http.send("GET", "\(url)/\(owner)", headers: headers).body) == [
                [
                    "task": "buy milk", "owner": .string(owner), "completed": false,
                    "date": "2023-11-14T22:13:20.000Z",
                ]
            ])
        #expect(try demo.http.send("POST", "\(url)/\(owner)/by%20name", headers: headers).status == 201)
        #expect(try demo.http.send("DELETE", url, headers: headers + json, body: body).status == 204)
        #expect(try demo.http.send("DELETE", url, headers: headers + json, body: body).status == 404)
        #expect(try demo.http.send("DELETE", "\(url)/\(owner)", headers: headers).status == 204)
        #expect(try demo.http.send("GET", url, headers: headers).text == "[]")
        let missing = try demo.http.send("POST", url, headers: headers + json, body: Array("{}".utf8))
        #expect(missing.status == 409)
        #expect(try missing.object().text("code") == "MissingTask")
        #expect(try demo.http.send("DELETE", url, headers: headers).status == 409)
        #expect(try demo.http.send("GET", "\(url)/somebody-else", headers: headers).status == 403)
    }

    @Test func `keeps each user's list to that user, across dialects and kinds of token`() throws {
        let demo = try Demo()
        let alice = try demo.tokens(), bob = try token(demo, demo.bob())
        let access = demo.bearer(try #require(alice.text("access_token")))
        _ = try demo.http.send("POST", demo.base + "/api/tasks", headers: access + form, body: Array("Text=a".utf8))
        #expect(try demo.http.send("GET", demo.base + "/tasks", headers: demo.bearer(bob)).text == "[]")
        let identity = demo.bearer(try #require(alice.text("id_token")))
        #expect(try demo.http.send("GET", demo.base + "/tasks", headers: identity).text.contains("\"task\":\"a\""))
    }

    @Test func `knows users with the old subject by their object id`() throws {
        let demo = try Demo { $0.switches.oldSubject = true }
        let alice = demo.bearer(try token(demo)), bob = demo.bearer(try token(demo, demo.bob()))
        _ = try demo.http.send("POST", demo.base + "/api/tasks", headers: alice + form, body: Array("Text=a".utf8))
        #expect(try demo.http.send("GET", demo.base + "/tasks", headers: bob).text == "[]")
    }

    @Test func `asks for a token when there is none or a bad one`() throws {
        let demo = try Demo()
        let good = try token(demo)
        let parts = good.split(separator: ".").map(String.init)
        let bare = try demo.http.send("GET", demo.base + "/api/tasks")
        #expect(bare.status == 401)
        #expect(bare.value(of: "www-authenticate") == "Bearer realm=\"Users\"")
        let header = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))
        var claims = try Demo.claims(good)
        claims["oid"] = "a1b7c3d9-0e2f-4a68-9c5d-7b8e9f0a1b2c"
        let forged = Base64URL.encode(JSONValue.object(claims).bytes())
        for bad in [
            "", "x", "a.b.c", "\(header).\(parts[1]).", "\(parts[0]).\(forged).\(parts[2])",
            "\(parts[0]).\(parts[1]).AAAA", good + ".x",
        ] {
            #expect(try demo.http.send("GET", demo.base + "/tasks", headers: demo.bearer(bad)).status == 401)
        }
        #expect(try demo.http.send("GET", demo.base + "/tasks", headers: demo.bearer(good)).status == 200)
        #expect(demo.provider.counters.apiRequests == 9)
        #expect(demo.provider.counters.apiUnauthorized == 8)
    }

    @Test func `refuses expired tokens, whether time or a switch ended them`() throws {
        let demo = try Demo()
        let url = demo.base + "/tasks"
        let tokens = try demo.tokens()
        let first = try #require(tokens.text("access_token"))
        demo.provider.expireTokens()
        #expect(try demo.http.send("GET", url, headers: demo.bearer(first)).status == 401)
        let refreshed = try demo.refresh(#require(tokens.text("refresh_token"))).object()
        let second = try #require(refreshed.text("access_token"))
        #expect(try demo.http.send("GET", url, headers: demo.bearer(second)).status == 200)
        demo.clock.advance(3600)
        #expect(try demo.http.send("GET", url, headers: demo.bearer(second)).status == 401)
    }

    @Test func `refuses tokens of another issuer or an unknown key`() throws {
        let demo = try Demo()
        let url = demo.base + "/tasks"
        demo.provider.change { $0.issuerForm = .custom("https://evil.example/") }
        let foreign = try token(demo)
        demo.provider.change { $0.issuerForm = .guid }
        #expect(try demo.http.send("GET", url, headers: demo.bearer(foreign)).status == 401)
        demo.provider.change { $0.unknownKid = true }
        #expect(try demo.http.send("GET", url, headers: demo.bearer(token(demo))).status == 401)
    }
}
