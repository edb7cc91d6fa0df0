import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import Synchronization

/// An OAuth provider that lets every user in, and can hold its responses: a test then knows the work under way, for
/// as long as it wants.
final class HeldProvider: Sendable {
    private let server: LoopbackServer
    private let gate = Gate()

    struct Received: Sendable {
        let method: String, path: String, query: String?, headers: [(name: String, value: String)], body: [UInt8]

        func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
        var text: String { String(decoding: body, as: UTF8.self) }
    }

    init() throws {
        let gate = gate
        server = try LoopbackServer { Self.answer($0, gate) }
    }

    deinit {
        gate.open()
        server.stop()
    }

    var base: String { "http://localhost:\(server.port)" }

    /// The requests received so far.
    var received: [Received] { gate.received }

    /// Holds back the answers of a path from now on.
    func hold(_ path: String) { gate.close(path) }
    /// Changes members of the token replies to come; `nil` takes one out.
    func change(_ members: [String: JSONValue?]) { gate.change(members) }
    /// Makes the token endpoint, and only that, respond with a status from now on; `nil` restores it.
    func fail(_ status: Int?) { gate.fail(status) }
    /// Lets all answers go.
    func release() { gate.open() }
    /// Waits until `count` requests of a path have come in all.
    func reached(_ path: String, count: Int = 1) async throws {
        try await offPool { [gate] in gate.wait(for: path, count: count) }
    }

    /// A type of it.
    var type: AccountType {
        var type = AccountType(name: "Held", adapter: "oauth2", clientID: "client")
        type.endpoints = [
            .authorization: base + "/authorize", .token: base + "/token", .deviceAuthorization: base + "/device",
            .revocation: base + "/revoke", .endSession: base + "/leave", .introspection: base + "/introspect",
        ]
        type.scope = ["tasks"]
        type.apiBase = base + "/api"
        return type
    }

    private static func answer(_ request: ServerRequest, _ gate: Gate) -> ServerResponse {
        let number = gate.note(
            Received(
                method: request.method, path: request.path, query: request.query, headers: request.headers,
                body: request.body))
        switch request.path {
        case "/authorize":
            let fields = FormFields(query: request.query ?? "")
            let redirect = fields["redirect_uri"] ?? "", state = fields["state"] ?? ""
            var response = ServerResponse.text(302, "")
            response.headers.append(("Location", "\(redirect)?code=c\(number)&state=\(state)"))
            return response
        case "/token":
            let (changes, status) = gate.changes
            if let status { return .text(status, "") }
            let isBound = request.value(of: "dpop") != nil
            let reply: JSONValue = [
                "access_token": .string("at-\(number)"), "token_type": isBound ? "DPoP" : "Bearer",
                "expires_in": 3600, "refresh_token": .string("rt-\(number)"),
                "instance_url": "https://eu7.example.com", "team": ["id": "T0001"], "user": "ann",
            ]
            var members = reply.object ?? JSONObject()
            for (name, value) in changes { members[name] = value }
            return .json(200, .object(members))
        case "/introspect":
            return .json(
                200, ["active": true, "token": .string(FormFields(decoding: request.body)["token"] ?? "")])
        case "/device":
            return .json(
                200,
                [
                    "device_code": "dc", "user_code": "WDJB-MJHT", "verification_uri": "https://example.com/device",
                    "verification_uri_complete": "https://example.com/device?c=WDJB-MJHT", "expires_in": 600,
                    "interval": 1,
                ])
        case "/api/refused":
            let isFirst = gate.received.count { $0.path == "/api/refused" } == 1
            var response = ServerResponse.text(isFirst ? 401 : 200, isFirst ? "no" : "yes")
            if isFirst { response.headers.append(("WWW-Authenticate", #"Bearer error="invalid_token""#)) }
            return response
        case "/api/moved":
            var response = ServerResponse.text(302, "")
            response.headers.append(("Location", "tasks/../there?x=1"))
            return response
        case "/api/narrow":
            var response = ServerResponse.text(403, "")
            response.headers.append(
                ("WWW-Authenticate", #"Bearer error="insufficient_scope", scope="tasks write""#))
            return response
        default: return ServerResponse(status: 200, headers: [], body: request.body)
        }
    }
}

/// Counts requests, and keeps those of held paths waiting.
///
/// The condition's lock guards its state.
private final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var held: Set<String> = []
    private var requests: [HeldProvider.Received] = []
    private var members: [String: JSONValue?] = [:]
    private var status: Int?

    /// However a test ends, no handler is kept for longer, in seconds.
    private static let longest = 120.0

    var received: [HeldProvider.Received] { condition.withLock { requests } }
    var changes: (members: [String: JSONValue?], status: Int?) { condition.withLock { (members, status) } }
    func change(_ members: [String: JSONValue?]) { condition.withLock { self.members.merge(members) { $1 } } }
    func fail(_ status: Int?) { condition.withLock { self.status = status } }
    func close(_ path: String) { condition.withLock { _ = held.insert(path) } }
    func open() {
        condition.withLock {
            held = []
            condition.broadcast()
        }
    }

    func note(_ request: HeldProvider.Received) -> Int {
        let end = Date(timeIntervalSinceNow: Self.longest)
        return condition.withLock {
            requests.append(request)
            let number = requests.count
            condition.broadcast()
            while held.contains(request.path), condition.wait(until: end) {}
            return number
        }
    }

    func wait(for path: String, count: Int) {
        let end = Date(timeIntervalSinceNow: Self.longest)
        condition.withLock {
            while requests.count(where: { $0.path == path }) < count, condition.wait(until: end) {}
        }
    }
}
