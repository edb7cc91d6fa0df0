import CredentialCore
import StrictJSON
import Synchronization
import Testing

@testable import Broker

@Suite struct OIDCAgentTests {
    private let caller = Caller.unknown(uid: 1_000, pid: 42)

    private func serve(_ pieces: [String], _ releaser: MemoryReleaser = MemoryReleaser()) -> (
        output: String, refusals: [String]
    ) {
        let connection = MemoryConnection(pieces.dropFirst().map { Array($0.utf8) }), refusals = Mutex<[String]>([])
        OIDCAgentConversation(releaser, boxes: PlainBoxes(), clock: StoppedClock()) { reason, _ in
            refusals.withLock { $0.append(reason) }
        }.serve(connection, first: Array(pieces[0].utf8), caller: caller)
        return (connection.output, refusals.withLock { $0 })
    }

    @Test func `oidc-agent releases a token of an entry`() {
        let releaser = MemoryReleaser()
        let reply = serve(
            [
                """
                {"request":"access_token","account":"work","min_valid_period":60,"scope":"a b","audience":"x",\
                "application_hint":"tool","later":1}
                """
            ], releaser)
        #expect(
            reply.output == """
                {"status":"success","access_token":"T","issuer":"https://login.example.com/","expires_at":1795700000}
                """)
        let ask = releaser.asks.withLock { $0.first }
        #expect(ask?.entry == "work")
        #expect(ask?.scope == ["a", "b"])
        #expect(ask?.audience == "x")
        #expect(ask?.minValid == 60)
        #expect(ask?.why == "tool")
    }

    @Test(arguments: ["https://login.example.com", "https://login.example.com/"])
    func `oidc-agent finds the entry of an issuer`(issuer: String) {
        let releaser = MemoryReleaser()
        let reply = serve(["{\"request\":\"access_token\",\"issuer\":\"\(issuer)\"}"], releaser)
        #expect(reply.output.hasPrefix("{\"status\":\"success\""))
        #expect(releaser.asks.withLock { $0.first?.issuer } == issuer)
        #expect(releaser.asks.withLock { $0.first?.entry } == nil)
    }

    @Test(arguments: [
        "{\"request\":\"gen\"}", "{\"request\":\"access_token\",\"account\":1}",
        "{\"request\":\"access_token\",\"min_valid_period\":-1}",
    ])
    func `oidc-agent audits a request when it is malformed`(request: String) {
        #expect(serve([request]).refusals == ["malformed"])
    }

    @Test func `oidc-agent leaves the audit to the releaser when the request is well formed`() {
        #expect(serve(["{\"request\":\"access_token\",\"account\":\"none\"}"]).refusals.isEmpty)
    }

    @Test(arguments: [
        ("{\"request\":\"gen\"}", "malformed: only access_token is supported"),
        ("{\"request\":\"access_token\",\"issuer\":\"https://other.example.com\"}", "denied: not_in_broker"),
        ("{\"request\":\"access_token\",\"account\":1}", "malformed"),
        ("{\"request\":\"access_token\",\"min_valid_period\":-1}", "malformed"),
        ("{\"request\":\"access_token\",\"account\":\"none\"}", "denied: not_in_broker"),
    ])
    func `oidc-agent reports a failure`(request: String, error: String) {
        #expect(serve([request]).output == "{\"status\":\"failure\",\"error\":\"\(error)\"}")
    }

    @Test func `oidc-agent reads a request in pieces`() {
        let pieces = ["{\"request\":\"acc", "ess_token\",\"account\":", "\"work\"}"]
        #expect(serve(pieces).output.hasPrefix("{\"status\":\"success\""))
    }

    private static let key = Base64URL.encodeOrdinary([UInt8](repeating: 1, count: 32))

    private func frame(_ request: String, nonce: Int = 24, length: Int? = nil) -> String {
        let box = [UInt8](repeating: 9, count: 16) + Array(request.utf8)
        return "\(length ?? request.utf8.count):\(Base64URL.encodeOrdinary([UInt8](repeating: 2, count: nonce))):"
            + Base64URL.encodeOrdinary(box)
    }

    @Test func `oidc-agent releases a token in a box`() throws {
        let request = "{\"request\":\"access_token\",\"account\":\"work\"}", frame = frame(request)
        for split in [1, 3, 40, frame.utf8.count - 1] {
            let output = serve([Self.key, String(frame.prefix(split)), String(frame.dropFirst(split))]).output
            #expect(output.hasPrefix(Base64URL.encodeOrdinary([UInt8](repeating: 7, count: 32))))
            let parts = output.dropFirst(44).split(separator: ":").map(String.init)
            try #require(parts.count == 3)
            let box = try #require(Base64URL.decodeOrdinary(parts[2]))
            let plain = String(decoding: box.dropFirst(16), as: UTF8.self)
            #expect(plain.hasPrefix("{\"status\":\"success\",\"access_token\":\"T\""))
            #expect(parts[0] == String(plain.utf8.count))
        }
    }

    @Test func `oidc-agent closes the connection when the key is zero`() {
        let reply = serve([Base64URL.encodeOrdinary([UInt8](repeating: 0, count: 32)), frame("{}")])
        #expect(reply.output.isEmpty)
        #expect(reply.refusals == ["malformed"])
    }

    @Test func `oidc-agent closes the connection when a frame has a wrong length or nonce`() {
        let request = "{\"request\":\"access_token\",\"account\":\"work\"}"
        let frames = [
            frame(request, nonce: 23), frame(request, length: 1), frame(request, length: 900_000), "0:a:b", "x:y:z",
            "12", frame(request) + "x", frame(request).replacingOccurrence(of: ":", with: ";"), "00012:",
        ]
        for frame in frames {
            let reply = serve([Self.key, frame])
            #expect(reply.output.utf8.count == 44, "\(frame)")
            #expect(reply.refusals == ["malformed"])
        }
    }
}

extension String {
    fileprivate func replacingOccurrence(of one: Character, with other: Character) -> String {
        String(map { $0 == one ? other : $0 })
    }
}

/// A connection whose input a test writes.
final class MemoryConnection: BrokerConnection {
    private let input: Mutex<[[UInt8]]>
    private let written = Mutex<[UInt8]>([])

    init(_ input: [[UInt8]]) { self.input = Mutex(input) }

    var output: String { written.withLock { String(decoding: $0, as: UTF8.self) } }

    func read(atMost limit: Int, deadlineMilliseconds milliseconds: Int) throws(CredentialError) -> [UInt8] {
        input.withLock { input in
            guard let first = input.first else { return [] }
            if first.count <= limit {
                input.removeFirst()
                return first
            }
            input[0] = Array(first.dropFirst(limit))
            return Array(first.prefix(limit))
        }
    }

    func write(_ bytes: [UInt8]) throws(CredentialError) { written.withLock { $0 += bytes } }
}

/// A releaser with one entry.
final class MemoryReleaser: TokenReleaser {
    let asks = Mutex<[TokenAsk]>([])

    func release(_ ask: TokenAsk, to caller: Caller) throws(BrokerFailure) -> ReleasedToken {
        asks.withLock { $0.append(ask) }
        guard ask.entry ?? "work" == "work", ask.issuer?.hasPrefix("https://login.") ?? true
        else { throw .denied(.notInBroker) }
        return ReleasedToken(
            accessToken: Secret("T"), expiresOn: 1_795_700_000, issuer: "https://login.example.com/",
            accountID: "a",
            accountType: "Work")
    }

    func entries() -> [BrokerEntry] { [BrokerEntry(name: "work", type: "Work")] }
    func issuer(of entry: BrokerEntry) -> String? { "https://login.example.com/" }
    func helper(
        _ helper: BrokerHelper, input: JSONObject, entry: String?, to caller: Caller
    ) throws(BrokerFailure) -> JSONObject { throw BrokerFailure(.failed) }
}

/// Boxes that do not hide their text: 16 bytes, then the text.
private struct PlainBoxes: BoxCryptography {
    func makeSession(with peer: [UInt8]) -> BoxSession? {
        guard peer.contains(where: { $0 != 0 }) else { return nil }
        return BoxSession(
            publicKey: [UInt8](repeating: 7, count: 32), nonceSize: 24, overhead: 16,
            nonce: { [UInt8](repeating: 3, count: 24) },
            seal: { plain, _ in [UInt8](repeating: 9, count: 16) + plain },
            open: { sealed, _ in Array(sealed.dropFirst(16)) })
    }
}

private struct StoppedClock: BootClock {
    var milliseconds: Int64 { 0 }
}
