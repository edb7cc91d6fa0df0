import Broker
import CredentialCore
import StrictJSON
import Synchronization
import TestPorts
import Testing

/// A connection whose client has sent everything before, in pieces.
final class TimedConnection: BrokerConnection {
    private let pieces: Mutex<[Piece]>
    private let written = Mutex<[UInt8]>([])
    private let waits = Mutex<[Int]>([])

    enum Piece {
        case bytes([UInt8])
        /// The client waits for longer than any limit.
        case silence
        /// Time passes on a clock, then the bytes come.
        case late(Int64, MemoryClock, [UInt8])
    }

    init(_ pieces: [Piece]) { self.pieces = Mutex(pieces) }

    convenience init(_ text: String) { self.init([.bytes(Array(text.utf8))]) }

    func read(atMost limit: Int, deadlineMilliseconds milliseconds: Int) throws(CredentialError) -> [UInt8] {
        waits.withLock { $0.append(milliseconds) }
        let next: Piece? = pieces.withLock { pieces in
            guard let first = pieces.first else { return nil }
            pieces.removeFirst()
            guard case .bytes(let bytes) = first, bytes.count > limit else { return first }
            pieces.insert(.bytes(Array(bytes[limit...])), at: 0)
            return .bytes(Array(bytes[..<limit]))
        }
        switch next {
        case .bytes(let bytes): return bytes
        case .late(let seconds, let clock, let bytes):
            clock.pass(seconds)
            return bytes
        case .silence: throw CredentialError(.temporary, "the time is over")
        case nil: return []
        }
    }

    func write(_ bytes: [UInt8]) throws(CredentialError) { written.withLock { $0 += bytes } }

    /// Everything that the server has written.
    var output: String { String(decoding: written.withLock { $0 }, as: UTF8.self) }
    /// The limits of the reads, in milliseconds.
    var limits: [Int] { waits.withLock { $0 } }
}

/// A releaser that gives the same token for each request within the entry, and remembers the requests.
final class RecordedReleaser: TokenReleaser {
    let list: [BrokerEntry]
    let failure: BrokerFailure?
    let idToken: Secret?
    let expiresOn: Int64?
    private let asked = Mutex<[TokenAsk]>([])
    private let roles = Mutex<[String]>([])
    private let whenReleasing: @Sendable () -> Void

    init(
        _ list: [BrokerEntry], failure: BrokerFailure? = nil, idToken: Secret? = nil,
        expiresOn: Int64? = 1_800_003_600, whenReleasing: @escaping @Sendable () -> Void = {}
    ) {
        self.whenReleasing = whenReleasing
        self.list = list
        self.failure = failure
        self.idToken = idToken
        self.expiresOn = expiresOn
    }

    func release(_ ask: TokenAsk, to caller: Caller) throws(BrokerFailure) -> ReleasedToken {
        asked.withLock { $0.append(ask) }
        whenReleasing()
        if let failure { throw failure }
        guard let entry = list.first(where: { $0.name == ask.entry }) else { throw .denied(.notInBroker) }
        if ask.wantsIDToken, entry.release != .idToken { throw .denied(.idToken) }
        if let resource = ask.resource, !entry.resource.contains(resource) { throw .denied(.tooBroad) }
        if let scope = ask.scope, !scope.allSatisfy({ entry.scope?.contains($0) == true }) {
            throw .denied(.tooBroad)
        }
        return ReleasedToken(
            accessToken: Secret("at-1"), expiresOn: expiresOn, idToken: ask.wantsIDToken ? idToken : nil,
            accountID: "3f0c", accountType: entry.type)
    }

    func entries() -> [BrokerEntry] { list }

    func issuer(of entry: BrokerEntry) -> String? { nil }

    func helper(
        _ helper: BrokerHelper, input: JSONObject, entry: String?, to caller: Caller
    ) throws(BrokerFailure) -> JSONObject {
        if let failure { throw failure }
        guard list.contains(where: { $0.name == entry && $0.release == .idToken }) else { throw .denied(.idToken) }
        roles.withLock { $0.append(input["role_arn"]?.string ?? "") }
        return JSONObject([
            "Version": 1, "AccessKeyId": "ASIA1", "SecretAccessKey": "sk/1", "SessionToken": "st/1==",
            "Expiration": "2099-01-02T03:04:05Z",
        ])
    }

    /// The requests so far.
    var asks: [TokenAsk] { asked.withLock { $0 } }
    /// The roles that were asked for.
    var roleARNs: [String] { roles.withLock { $0 } }
}

/// A broker with all clouds in memory.
struct HTTPScene {
    static let role = "arn:aws:iam::123456789012:role/build"
    static let secret = "0123456789abcdef0123456789abcdef"

    var configuration: BrokerConfiguration
    let releaser: RecordedReleaser
    let clock = MemoryClock()
    let refusals = Refusals()

    /// The reasons that the log gets beside the releaser's.
    final class Refusals: Sendable {
        private let list = Mutex<[String]>([])
        func add(_ text: String) { list.withLock { $0.append(text) } }
        var all: [String] { list.withLock { $0 } }
    }

    /// An ID token whose `aud` is `api`.
    static var idToken: Secret {
        let payload = Base64URL.encode(Array(#"{"aud":["api","second"],"sub":"ada"}"#.utf8))
        return Secret("e30.\(payload).c2ln")
    }

    init(
        release: BrokerEntry.Release = .idToken, failure: BrokerFailure? = nil, expiresOn: Int64? = 1_800_003_600,
        entries: [BrokerEntry]? = nil, wait seconds: Int64 = 0
    ) {
        var entry = BrokerEntry(name: "work", type: "Work", release: release)
        entry.scope = ["read", "write", "https://management.example.com/.default"]
        entry.resource = ["https://vault.example.com"]
        configuration = BrokerConfiguration(name: "box")
        configuration.entries = entries ?? [entry]
        configuration.clouds.gce = .init(entry: "work", project: "project-1")
        configuration.clouds.azure = "work"
        configuration.clouds.aws = .init(entry: "work", roleARN: Self.role)
        configuration.clouds.actions = "work"
        releaser = RecordedReleaser(
            configuration.entries, failure: failure, idToken: Self.idToken, expiresOn: expiresOn,
            whenReleasing: { [clock] in if seconds > 0 { clock.pass(seconds) } })
    }

    /// A response as a client reads it.
    struct Response {
        let status: Int
        let fields: [String: String]
        let body: String

        var json: JSONValue? { try? JSONValue.parse(body) }
        var error: [String?] { [json?.object?["error"]?.string, json?.object?["reason"]?.string] }
    }

    /// Serves a connection until its end.
    func serve(_ connection: TimedConnection, first: String = "", via: String? = nil) {
        let caller = Caller(uid: 1000, pid: 42, key: CallerKey(kind: .uid, value: "1000"))
        let configuration = configuration
        HTTPConversation(
            configuration: { configuration }, releaser: releaser,
            account: { _ in .init(username: "ada@example.com", scope: ["own"]) }, clock: clock, time: clock,
            secret: via.map { Secret($0) },
            refuse: { [refusals] reason, caller in refusals.add("\(reason) \(caller.pid)") }
        ).serve(connection, first: Array(first.utf8), caller: caller)
    }

    /// Sends a request, with the secret of a relay if there is one.
    func get(
        _ target: String, _ fields: [String] = [], via: String? = nil, method: String = "GET",
        host: String = "127.0.0.1:8080"
    ) throws -> Response {
        let head = (["\(method) \(target) HTTP/1.1", "Host: \(host)"] + fields + ["", ""])
            .joined(separator: "\r\n")
        let connection = TimedConnection(head)
        serve(connection, via: via)
        return try #require(Self.responses(connection.output).first)
    }

    /// Sends a request as Google's libraries do.
    func google(_ path: String, _ more: [String] = []) throws -> Response {
        try get("/computeMetadata/v1/" + path, ["Metadata-Flavor: Google"] + more)
    }

    /// Splits the bytes of a connection into responses.
    static func responses(_ output: String) -> [Response] {
        var found: [Response] = []
        var rest = Array(output.utf8)[...]
        while let end = rest.indices.first(where: { rest[$0...].starts(with: "\r\n\r\n".utf8) }) {
            let lines = String(decoding: rest[..<end], as: UTF8.self).split(whereSeparator: \.isNewline)
            var fields: [String: String] = [:]
            for line in lines.dropFirst() {
                let sides = line.split(separator: ":", maxSplits: 1)
                fields[sides[0].lowercased()] = String(sides[1].drop { $0 == " " })
            }
            let length = Int(fields["content-length"] ?? "") ?? 0
            let body = rest[(end + 4)...].prefix(length)
            found.append(
                Response(
                    status: Int(lines[0].split(separator: " ")[1]) ?? 0, fields: fields,
                    body: String(decoding: body, as: UTF8.self)))
            rest = rest[(end + 4 + body.count)...]
        }
        return found
    }
}
