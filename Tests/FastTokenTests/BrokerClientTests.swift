import CredentialCore
import FastToken
import StrictJSON
import Synchronization
import Testing

/// The requests of the client at a broker's socket.
@Suite struct BrokerClientTests {
    /// A broker with two accounts of a type; it keeps the requests.
    private final class Socket: Sendable {
        private let lines = Mutex<[JSONObject]>([])
        var requests: [JSONObject] { lines.withLock { $0 } }

        var client: BrokerClient {
            BrokerClient { line throws(CredentialError) in
                let request = (try? JSONValue.parse(line))?.object ?? JSONObject()
                self.lines.withLock { $0.append(request) }
                return Array((request["op"] == "list" ? Self.list : #"{"ok":true,"output":{"a":"b"}}"#).utf8)
            }
        }

        private static let list =
            #"{"ok":true,"entries":["#
            + #"{"name":"one","type":"Work","account":{"id":"1","type":"Work","username":"ada@example.com"}},"#
            + #"{"name":"two","type":"Work","account":{"id":"2","type":"Work","username":"bob@example.com"}},"#
            + #"{"name":"three","type":"Other","account":null}]}"#
    }

    private let socket = Socket()
    private let message = [(name: "protocol", value: "https"), (name: "host", value: "a.example")]
    private static let cluster = #"{"spec":{"cluster":{"server":"https://k.example"}}}"#
    private let now = Timestamp(epochSeconds: 0)

    @Test func `a helper's request names the entry when options choose it`() throws {
        #expect(try socket.client.git(message, CallSignature(account: "bob@example.com")) == Array("a=b\n".utf8))
        _ = try socket.client.kubernetes(
            CallSignature(type: "Work", account: "1"), execInfo: Self.cluster, now: now)
        #expect(socket.requests.map { $0["op"]?.string } == ["list", "git", "list", "kubernetes"])
        #expect(socket.requests.map { $0["entry"]?.string } == [nil, "two", nil, "one"])
    }

    @Test func `a helper's request names no entry when no option chooses`() throws {
        _ = try socket.client.git(message, CallSignature())
        #expect(socket.requests.map { $0["op"]?.string } == ["git"])
        #expect(socket.requests[0]["entry"] == nil)
    }

    @Test func `a helper is not called when options choose several entries or none`() throws {
        let many = try #require(throws: CredentialError.self) {
            try socket.client.git(message, CallSignature(type: "Work"))
        }
        #expect(many.code == .ambiguousAccount)
        let none = try #require(throws: CredentialError.self) {
            try socket.client.git(message, CallSignature(type: "Third"))
        }
        #expect(none.code == .denied)
        #expect(socket.requests.map { $0["op"]?.string } == ["list", "list"])
    }

    @Test func `a cluster's token is a usage error when options change the token`() throws {
        for words in [CallSignature(policy: "p"), CallSignature(scope: ["s"]), CallSignature(audience: "a")] {
            let error = try #require(throws: CredentialError.self) {
                try socket.client.kubernetes(words, execInfo: Self.cluster, now: now)
            }
            #expect(error.code == .usage)
        }
        let error = try #require(throws: CredentialError.self) {
            try socket.client.kubernetes(CallSignature(), execInfo: Self.cluster, wantsIDToken: true, now: now)
        }
        #expect(error.code == .usage)
        #expect(socket.requests.isEmpty)
    }
}
