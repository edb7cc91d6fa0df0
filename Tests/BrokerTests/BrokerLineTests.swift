import CredentialCore
import StrictJSON
import TestPorts
import Testing

@testable import Broker

/// The language of credmgr lines, and the choice of a language.
struct BrokerLineTests {
    private let scene: BrokerScene

    init() throws { scene = try BrokerScene() }

    private func talk(_ pieces: [[UInt8]], silent: Bool = false) -> [JSONObject] {
        let connection = ScriptedConnection(pieces, clock: silent ? scene.clock : nil)
        dispatcher.serve(connection, caller: BrokerScene.caller)
        return connection.output.split(separator: "\n").compactMap { (try? JSONValue.parse(String($0)))?.object }
    }

    private func talk(_ text: String) -> [JSONObject] { talk([Array(text.utf8)]) }

    private var dispatcher: ConnectionDispatcher {
        ConnectionDispatcher(clock: scene.clock) { [log = scene.log] reason, caller in
            try? log.write(AuditEvent(.deny, caller: caller, reason: reason))
        } languages: { [scene] in
            var languages = ConnectionDispatcher.Languages()
            languages.lines = LineConversation(
                scene.service, facts: .init(version: "0.1.0", netns: "net:[1]"), clock: scene.clock)
            return languages
        }
    }

    @Test func `replies keep the order of the requests`() {
        let replies = talk(
            #"{"op":"hello","v":1}"# + "\n" + #"{"op":"token","v":1,"scope":["read"],"why":"nightly"}"# + "\n"
                + #"{"op":"list"}"# + "\n")
        #expect(replies.count == 3)
        #expect(replies[0]["broker"] == "b")
        #expect(replies[0]["netns"] == "net:[1]")
        #expect(replies[0]["speak"] == ["credmgr"])
        #expect(replies[1]["access_token"] == "t0")
        #expect(replies[1]["token_type"] == "Bearer")
        #expect(replies[1]["scope"] == "read")
        #expect(replies[1]["account"]?.object?["username"] == "ada@example.com")
        #expect(replies[2]["entries"]?.array?.count == 1)
        #expect(scene.log.events.first?.why == "nightly")
    }

    @Test func `a line is answered when it arrives in pieces`() {
        let replies = talk([Array(#"{"op":"he"#.utf8), Array(#"llo"}"#.utf8), [0x0A]])
        #expect(replies.map { $0["ok"] } == [true])
    }

    static let malformed = [
        "no JSON", "{", "{}", "[]", #"{"op":"token","op":"token"}"#, #"{"op":"token","extra":1}"#,
        #"{"op":"other"}"#,
        #"{"op":1}"#, #"{"op":"token","scope":"read"}"#, #"{"op":"token","scope":[]}"#,
        #"{"op":"token","scope":[1]}"#,
        #"{"op":"token","resource":["x"]}"#, #"{"op":"token","audience":1}"#, #"{"op":"token","origin":[]}"#,
        #"{"op":"token","min_valid":-1}"#, #"{"op":"token","min_valid":86401}"#, #"{"op":"token","min_valid":1.0}"#,
        #"{"op":"token","min_valid":"60"}"#, #"{"op":"token","id_token":false}"#, #"{"op":"token","entry":""}"#,
        #"{"op":"refused"}"#, #"{"op":"sign","method":"GET"}"#, #"{"op":"git"}"#, #"{"op":"git","input":"x"}"#,
        #"{"op":"hello","entry":"x"}"#, #"{"op":"via","v":1,"secret":"s"} {}"#, "{\"op\":\"hello\0\"}",
        #"{"v":"1","op":"hello"}"#,
    ]

    @Test(arguments: malformed.filter { $0.hasPrefix("{") })
    func `a malformed line is answered and closes the connection`(line: String) {
        let replies = talk(line + "\n" + #"{"op":"hello"}"# + "\n")
        #expect(replies.count == 1)
        #expect(replies.first?["error"] == "malformed")
        #expect(replies.first?["exit"] == 2)
        #expect(replies.first?["ok"] == false)
    }

    @Test func `a line that is not UTF-8 or too long is malformed`() {
        #expect(
            talk([Array(#"{"op":"#.utf8) + [0x22, 0xFF, 0x22, 0x7D, 0x0A]]).map { $0["error"] } == ["malformed"])
        let long = #"{"op":"hello","x":""# + String(repeating: "x", count: 65_536)
        #expect(talk(long).map { $0["error"] } == ["malformed"])
        #expect(talk(long + "\"}\n").map { $0["error"] } == ["malformed"])
    }

    @Test func `another version is an error and keeps the connection`() {
        let replies = talk(#"{"op":"hello","v":2}"# + "\n" + #"{"op":"hello","v":1}"# + "\n")
        #expect(replies.map { $0["error"] } == ["version", nil])
        #expect(replies.first?["exit"] == 2)
        #expect(scene.log.events.map(\.reason) == ["version"])
    }

    @Test func `a proof is malformed when its URL is not valid`() {
        let replies = talk(#"{"op":"sign","method":"GET","url":"no URL"}"# + "\n" + #"{"op":"hello"}"# + "\n")
        #expect(replies.map { $0["error"] } == ["malformed"])
        #expect(scene.log.events.map(\.reason) == ["malformed"])
    }

    @Test(arguments: ["hello\n", "[1]\n", "GET / HTTP/1.1\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\n\r\n", " {}\n"])
    func `a language that is not configured is closed and audited`(text: String) {
        #expect(talk(text).isEmpty)
        #expect(scene.log.kinds == [.deny])
    }

    @Test(arguments: ["", #"{"op":"#, "GE"])
    func `a connection is closed when its first line is not complete after 10 s`(text: String) {
        let start = scene.clock.milliseconds
        #expect(talk(text.isEmpty ? [] : [Array(text.utf8)], silent: true).isEmpty)
        #expect((10_000...12_000).contains(scene.clock.milliseconds - start))
    }

    @Test func `a connection is closed when it is silent for 60 s`() {
        let start = scene.clock.milliseconds
        #expect(talk([Array("{\"op\":\"hello\"}\n".utf8)], silent: true).count == 1)
        #expect((60_000...62_000).contains(scene.clock.milliseconds - start))
    }

    @Test(arguments: [
        "{\"op\":\"token\",\"v\":1}\n", "{\"op\":\"token\",\"v\":1}", "{\"op\":\"hello\"}\n",
        "{\"op\":\"via\",\"v\":1,\"secret\":\"t\"}\n", "{\"request\":\"access_token\"}",
    ])
    func `a relayed connection is closed and audited when its language is not HTTP`(text: String) {
        #expect(talk("{\"op\":\"via\",\"v\":1,\"secret\":\"s\"}\n" + text).isEmpty)
        #expect(scene.log.kinds == [.deny])
        #expect(scene.issuer.orders.isEmpty)
    }

    @Test func `an open connection gets no token when callers are narrowed`() throws {
        let without = BrokerScene.open.replacing(
            #""ask":"never""#, with: #""ask":"never","callers":{"users":["root"]}"#)
        let connection = ScriptedConnection([Array((#"{"op":"token"}"# + "\n").utf8)])
        scene.file.put(.replaced(try BrokerConfigurationTests.read(without)))
        dispatcher.serve(
            CheckedConnection(connection, scene.service, caller: BrokerScene.caller, own: 1_000),
            caller: BrokerScene.caller)
        #expect(connection.output.isEmpty)
        #expect(scene.log.events.contains { $0.what == .deny && $0.reason == "caller" })
        #expect(!scene.service.allows(BrokerScene.caller, own: 1_000))
    }

    @Test func `a connection is served when callers include its user`() {
        let connection = ScriptedConnection([Array((#"{"op":"token"}"# + "\n").utf8)])
        dispatcher.serve(
            CheckedConnection(connection, scene.service, caller: BrokerScene.caller, own: 1_000),
            caller: BrokerScene.caller)
        #expect(connection.output.contains("t0"))
    }

    @Test func `first bytes choose the language`() {
        func language(_ text: String) -> ConnectionDispatcher.Language? {
            ConnectionDispatcher.language(of: Array(text.utf8))
        }
        #expect(language("{\"op\":\"hello\"}\n") == .lines)
        #expect(language("{\"a\":1}\n") == .lines)
        #expect(language(#"{"request":"access_token"}"#) == .oidcAgent)
        #expect(language("{\"op\":\"via\",\"v\":1,\"secret\":\"s\"}\nGET ") == .via)
        #expect(language(#"{"op":"hello"}"#) == nil)
        #expect(language(String(repeating: "A", count: 43) + "=") == .oidcAgent)
        #expect(language(String(repeating: "A", count: 44)) == .unknown)
        #expect(language(String(repeating: "A", count: 43)) == nil)
        #expect(language("GET /") == .http)
        #expect(language("CONNECT ") == .proxy)
        #expect(language("CONNECT") == nil)
        #expect(language("?") == .unknown)
        #expect(language("") == nil)
    }

    @Test(arguments: [
        (BrokerError.denied, 7, 403), (.ended, 7, 403), (.signInRequired, 4, 403), (.locked, 5, 503),
        (.temporary, 6, 503), (.rate, 6, 429), (.ambiguous, 3, 400), (.malformed, 2, 400), (.version, 2, 400),
        (.failed, 1, 500),
    ])
    func `each error has its exit status and its HTTP status`(error: BrokerError, exit: Int, http: Int) {
        #expect(error.exitStatus == exit)
        #expect(error.httpStatus == http)
        let reply = BrokerFailure(error, reason: "why", retryAfter: 3).json
        #expect(reply["error"]?.string == error.rawValue)
        #expect(reply["exit"]?.integer == Int64(exit))
        #expect(reply["retry_after"] == 3)
    }
}
