import CommandLine
import CredentialCore
import CryptoSupport
import StrictJSON
import Synchronization
import TestCommands
import TestPorts
import Testing

@testable import Broker
@testable import Commands

/// Commands at a broker's socket, and the commands that end servers.
@Suite struct BrokerSocketTests {
    private let scene = CommandScene(
        cryptography: LibCryptography(), environment: ["CREDMGR_SOCK": "/memory/run/sock"])
    private let host = ScriptedBrokerHost()

    private struct Outcome {
        let status: Int32
        let output: String
        let notices: String
    }

    private func run(_ words: String..., input: String? = nil, hasPerson: Bool = false) -> Outcome {
        let console = MemoryConsole(input: input, answers: hasPerson ? [] : nil)
        var context = scene.context(console)
        context.brokers = host
        let status = Program(context: context).run(words)
        return Outcome(status: status, output: console.result, notices: console.notices)
    }

    @Test func `credmgr alone shows the broker's entries when CREDMGR_SOCK is set`() {
        scene.define()
        let outcome = run(hasPerson: true)
        #expect(outcome.status == 0, "\(outcome.notices)")
        #expect(outcome.output.contains("ada@sandbox.example"))
        #expect(!outcome.output.contains("Tasks"))
    }

    @Test func `completion takes names from the broker when CREDMGR_SOCK is set`() {
        scene.define()
        #expect(run("__complete", "--", "token", "--type", "").output == "Remote\n")
        #expect(run("__complete", "--", "token", "--account", "").output == "ada@sandbox.example\n3f0c\n")
        #expect(run("__complete", "--", "token", "--policy", "").output.isEmpty)
    }

    // MARK: Helpers

    private static let cargo =
        #"{"v":1,"registry":{"index-url":"sparse+https://api.example.com/index/"},"kind":"get"}"# + "\n"

    @Test func `helpers for other programs ask the socket when CREDMGR_SOCK is set`() {
        let go = run("goauth", "https://api.example.com/team/mod")
        #expect(
            go.output == "https://api.example.com/team/mod\n\nAuthorization: Bearer at-1\n\n", "\(go.notices)")
        #expect(run("terraform", "get", "api.example.com").output == "{\"token\":\"at-1\"}\n")
        #expect(
            run("keyring", "--mode", "creds", "get", "https://api.example.com/simple/").output
                == "__token__\nat-1\n")
        #expect(
            run("bazel", "get", input: #"{"uri":"https://api.example.com/"}"#).output
                == #"{"expires":"2100-01-01T00:00:00Z","headers":{"Authorization":["Bearer at-1"]}}"# + "\n")
        #expect(run("cargo", input: Self.cargo).output.contains(#""token":"at-1""#))
        #expect(host.asked.filter { $0["op"] == "git" }.allSatisfy { $0["entry"] == nil })
        #expect(run("terraform", "get", "api.example.com", "--type", "Remote").status == 0)
        #expect(host.asked.last?["entry"] == "work")
    }

    @Test func `helpers send the user name of a rule of the broker's host`() {
        host.name("oauth2")
        let output = run("bazel", "get", input: #"{"uri":"https://api.example.com/"}"#).output
        #expect(output.contains("Basic " + Base64URL.encodeOrdinary(Array("oauth2:at-1".utf8))), "\(output)")
        #expect(
            run("keyring", "--mode", "creds", "get", "https://api.example.com/simple/").output == "oauth2\nat-1\n")
    }

    @Test func `helpers print no token when the broker's host does not permit the server`() {
        let terraform = run("terraform", "get", "other.example.com")
        #expect(terraform.status == 0)
        #expect(terraform.output == "{}\n")
        #expect(run("goauth", "https://other.example.com/").output.isEmpty)
        let keyring = run("keyring", "get", "https://other.example.com/")
        #expect(keyring.status == 1)
        #expect(keyring.output.isEmpty)
    }

    @Test func `oidc-token and google ask the socket when CREDMGR_SOCK is set`() {
        #expect(run("oidc-token", "Remote").output == "at-1\n")
        #expect(
            run("oidc-token", "--all", "https://login.example.com/").output
                == "at-1\nhttps://login.example.com\n4102444800\n")
        #expect(run("oidc-token", "https://other.example.com").status == 3)
        let both = run("oidc-token", "--id-token", "--force-new", "Remote")
        #expect(both.status == 2)
        #expect(both.notices.contains("'oidc-token --id-token --force-new' is not available"))
        #expect(run("google").output.contains(#""id_token":"id-1""#))
    }

    @Test func `broker stop ends the servers of the broker and of its exec only`() throws {
        host.list([("a", 1), ("a.7", 7), ("a.123", 50), ("b", 2)])
        #expect(try BrokerStopCommand.stop("a", session()) == 2)
        #expect(host.stopped == ["a", "a.7"])
    }

    @Test func `broker stop ends the other servers when one does not end in time`() throws {
        host.list([("a", 1), ("b", 2), ("c", 3)], failing: "a")
        let error = #expect(throws: CredentialError.self) { _ = try BrokerStopCommand.stop(nil, session()) }
        #expect(error?.code == .temporary)
        #expect(host.stopped == ["b", "c"])
    }

    @Test func `broker stop reaches a broker without a server, as systemd may have its socket`() throws {
        host.list([("b", 2)])
        _ = try BrokerStopCommand.stop("a", session())
        #expect(host.stopped == ["a"])
    }

    private func session() throws -> CommandSession {
        let own = try scene.session()
        var context = own.context
        context.brokers = host
        return CommandSession(context: context, options: own.options, notices: own.notices)
    }

    @Test func `a watched file is read at the first look, as it may have changed since the start`() throws {
        let files = BrokerFiles(try session().context)
        let text = #"{"entries":[{"name":"work","type":"Work","release":"token"}]}"#
        scene.machine.setFile(files.path(of: "b"), text)
        let watched = files.watched("b")
        guard case .replaced(let configuration) = watched.look() else {
            Issue.record("the first look does not read")
            return
        }
        #expect(configuration.entries.map(\.name) == ["work"])
        guard case .same = watched.look() else {
            Issue.record("the second look reads an unchanged file")
            return
        }
    }

    @Test func `the role's credentials are exchanged for the ID token that was issued`() throws {
        let plain = CommandScene(cryptography: LibCryptography())
        plain.define()
        try #require(plain.signIn("ada").status == 0)
        plain.transport.answer(
            .success(
                HTTPResponse(
                    status: 200, headers: [],
                    body: Array(
                        """
                        <AccessKeyId>AK</AccessKeyId><SecretAccessKey>SK</SecretAccessKey>\
                        <SessionToken>ST</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
                        """.utf8))))
        let account = try SessionIssuer(plain.session()).account(of: BrokerEntry(name: "work", type: "Tasks"))
        let now = plain.machine.clock.now
        let issued = IssuedToken(
            AccessToken(
                key: TokenRequestKey(scope: ["read"]), token: Secret("access"), tokenType: "Bearer", issuedAt: now,
                expiresAt: now.adding(600), scope: ["read"]),
            idToken: Secret("chosen.id.token"))
        let output = try account.roleCredentials("arn:aws:iam::123456789012:role/build", by: issued)
        #expect(output["AccessKeyId"] == "AK")
        let request = try #require(plain.transport.requests.last)
        #expect(String(decoding: bytes(request), as: UTF8.self).contains("WebIdentityToken=chosen.id.token"))
        #expect(throws: CredentialError.self) {
            _ = try account.roleCredentials(
                "arn:aws:iam::123456789012:role/build", by: IssuedToken(issued.token))
        }
    }

    private func bytes(_ request: HTTPRequest) -> [UInt8] {
        if case .bytes(let bytes) = request.body { return bytes }
        return []
    }
}

/// A host whose broker has one entry.
private final class ScriptedBrokerHost: BrokerHost {
    private struct State: Sendable {
        var running: [(instance: String, process: Int32)] = []
        var failing: String?
        var stopped: [String] = []
        /// The requests at the socket.
        var asked: [JSONObject] = []
        /// The user name of a rule.
        var name: String?
    }

    private let state = Mutex(State())

    func list(_ running: [(String, Int32)], failing: String? = nil) {
        state.withLock { state in
            state.running = running.map { (instance: $0.0, process: $0.1) }
            state.failing = failing
        }
    }

    /// Has a rule with a user name.
    func name(_ name: String) { state.withLock { $0.name = name } }

    var stopped: [String] { state.withLock { $0.stopped } }
    var asked: [JSONObject] { state.withLock { $0.asked } }

    func socketPath(of instance: String) -> String { "/memory/run/\(instance)/sock" }
    func running() -> [(instance: String, process: Int32)] { state.withLock { $0.running } }

    func stop(_ instance: String) throws(CredentialError) -> Bool {
        let isFailing = state.withLock { state in
            if state.failing != instance { state.stopped.append(instance) }
            return state.failing == instance
        }
        if isFailing { throw CredentialError(.temporary, "late") }
        return true
    }

    func open(_ plan: BrokerPlan) throws(CredentialError) -> any BrokerServer {
        throw CredentialError(.unsupported, "no server")
    }

    var hasPassedSocket: Bool { false }
    func blockSignals() {}

    func ask(
        _ line: [UInt8], at path: String, user: String?, seconds: Int
    ) throws(CredentialError) -> [UInt8] {
        let request = (try? JSONValue.parse(line))?.object ?? JSONObject()
        let name = state.withLock { state in
            state.asked.append(request)
            return state.name
        }
        let reply: JSONValue
        switch request["op"]?.string {
        case "git":
            let input = request["input"]?.object ?? JSONObject()
            if input["host"] == "api.example.com" {
                let username = name.map(JSONValue.string) ?? input["default_username"] ?? "oauth2"
                reply = [
                    "ok": true,
                    "output": ["username": username, "password": "at-1", "password_expiry_utc": "4102444800"],
                ]
            } else {
                reply = ["ok": false, "error": "denied", "reason": "origin", "exit": 7, "retry_after": .null]
            }
        case "token":
            let idToken: JSONValue = request["id_token"] == true ? "id-1" : .null
            reply = [
                "ok": true, "access_token": "at-1", "token_type": "Bearer", "expires_on": 4_102_444_800,
                "scope": "read", "account": Self.account, "id_token": idToken,
            ]
        default:
            let entry: JSONValue = [
                "name": "work", "type": "Remote", "account": Self.account, "issuer": "https://login.example.com",
                "scope": ["read"], "origins": [], "release": "token",
            ]
            reply = ["ok": true, "entries": [entry]]
        }
        return reply.bytes()
    }

    private static let account: JSONValue = ["id": "3f0c", "type": "Remote", "username": "ada@sandbox.example"]

    var process: Int32 { 1 }
    var user: UInt32 { 0 }
    var networkNamespace: String? { nil }
}
