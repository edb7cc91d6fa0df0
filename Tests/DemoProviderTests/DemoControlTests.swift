import CredentialCore
import DemoProvider
import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

@Suite struct `The control interface of the demo provider` {
    private func post(_ demo: Demo, _ text: String, type: String = "application/json") throws -> HTTPResponse {
        try demo.http.send(
            "POST", demo.base + "/demo/control", headers: [("Content-Type", type)], body: Array(text.utf8))
    }

    private func demo() throws -> Demo { try Demo { $0.offersControl = true } }

    @Test func `is there only when it was asked for`() throws {
        #expect(try post(Demo(), "{}").status == 404)
        #expect(try post(demo(), "{}").status == 200)
    }

    @Test func `shows counters and changes every switch it shows`() throws {
        let demo = try demo()
        _ = try demo.tokens()
        let state = try demo.http.send("GET", demo.base + "/demo/control").object()
        #expect(state["counters"]?.object?["token_requests"] == 1)
        #expect(state["counters"]?.object?["grants"] == ["authorization_code": 1])
        let switches = try #require(state["switches"]?.object)
        #expect(switches.count >= 33)
        for (name, value) in switches.members {
            let other: JSONValue =
                switch (name, value) {
                case ("rotation", _): "revokes_old"
                case ("state_form", _): "wrong"
                case ("id_token_fault", _): "signature"
                case ("token_reply", _): "{}"
                case (_, .bool(let flag)): .bool(!flag)
                case (_, .integer(let number)): .integer(number + 1)
                default: "tfp"
                }
            let change: JSONValue = .object(
                {
                    var object = JSONObject()
                    object[name] = other
                    return object
                }())
            let reply = try post(demo, change.text())
            #expect(try reply.object()["switches"]?.object?[name] == other)
        }
        #expect(demo.provider.switches.rotation == .revokesOld)
        #expect(demo.provider.switches.issuerForm == .tfp)
    }

    @Test func `expires, revokes and forgets`() throws {
        let demo = try demo()
        let tokens = try demo.tokens()
        _ = try post(demo, #"{"expire_tokens":true,"revoke_refresh_tokens":true,"sign_out_browsers":true}"#)
        let headers = demo.bearer(try #require(tokens.text("access_token")))
        #expect(try demo.http.send("GET", demo.base + "/tasks", headers: headers).status == 401)
        #expect(try demo.refresh(#require(tokens.text("refresh_token"))).failure() == "invalid_grant 90129")
        _ = try post(demo, #"{"delete_user":"bob@example.com","reset_counters":true}"#)
        #expect(demo.provider.counters == DemoCounters())
        #expect(throws: CredentialError.self) { try demo.tokens(demo.bob()) }
    }

    @Test(arguments: [
        "[]", "{", #"{"unknown":true}"#, #"{"failures":"many"}"#, #"{"failures":3,"unknown":1}"#,
        #"{"rotation":"sometimes"}"#, #"{"expire_tokens":"yes"}"#,
    ])
    func `refuses unknown input and makes no change`(_ text: String) throws {
        let demo = try demo()
        #expect(try post(demo, text).status == 400)
        #expect(demo.provider.switches.failures == 0)
    }

    @Test func `takes no form of a web page`() throws {
        #expect(try post(demo(), #"{"failures":1}"#, type: "text/plain").status == 400)
    }

    @Test func `works for curl`() throws {
        let demo = try demo()
        let outcome = try ChildProcess(
            "curl",
            [
                "-sS", "--noproxy", "*", "-H", "Content-Type: application/json", "-d", #"{"failures":-1}"#,
                demo.base + "/demo/control",
            ]
        ).run()
        #expect(outcome.exitStatus == 0)
        #expect(try JSONValue.parse(outcome.standardOutput).object?["switches"]?.object?["failures"] == -1)
    }

    @Test func `starts again after it was stopped`() throws {
        let demo = try demo()
        #expect(try demo.provider.start() == demo.base)
        demo.provider.stop()
        #expect(throws: CredentialError.self) { try demo.http.send("GET", demo.base + "/demo/control") }
        let again = try demo.provider.start()
        #expect(try demo.http.send("GET", again + "/demo/control").status == 200)
    }
}
