import CredentialCore
import Platform
import Relay
import StrictJSON
import Testing

/// The words, the variables and the requests of a relay.
@Suite struct RelayTests {
    // MARK: Words

    @Test func `A relay reads socket, port, files and command`() {
        let words = [
            "relay", "--socket", "/s", "--port=8080", "--file", "work=/a=b", "--file=other=/c", "--", "sh",
            "--port",
        ]
        #expect(
            RelayArguments(words)
                == RelayArguments(
                    socket: "/s", port: 8080,
                    files: [.init(entry: "work", path: "/a=b"), .init(entry: "other", path: "/c")],
                    command: ["sh", "--port"]))
        #expect(RelayArguments(["relay", "--", "true"]) == RelayArguments(command: ["true"]))
    }

    @Test(arguments: [
        [], ["relay"], ["relay", "true"], ["relay", "--"], ["relay", "--help", "--", "a"],
        ["relay", "--port", "0", "--", "a"], ["relay", "--port", "65536", "--", "a"],
        ["relay", "--port", "1", "--port", "2", "--", "a"], ["relay", "--socket", "--", "a"],
        ["relay", "--socket=", "--", "a"], ["relay", "--file", "work", "--", "a"],
        ["relay", "--file", "=/a", "--", "a"], ["relay", "--file", "a=", "--", "a"], ["exec", "--", "a"],
    ])
    func `A relay leaves other words to the parser`(words: [String]) {
        #expect(RelayArguments(words) == nil)
    }

    // MARK: Variables

    private func hello(_ text: String) throws -> BrokerHello {
        BrokerHello(try RelayReply.members(Array(text.utf8)))
    }

    @Test func `Only the clouds of hello get variables`() throws {
        func names(_ clouds: String, speak: String = "[]") throws -> [String] {
            try hello(#"{"ok":true,"clouds":\#(clouds),"speak":\#(speak),"netns":null}"#)
                .variables(port: 80, secret: "s", socket: "/s").map(\.name)
        }
        #expect(try names("[]") == ["CREDMGR_SOCK"])
        #expect(try names("[]", speak: #"["credmgr","oidc-agent"]"#) == ["CREDMGR_SOCK", "OIDC_SOCK"])
        #expect(
            try names(#"["gce"]"#).dropFirst() == [
                "GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT", "METADATA_SERVER_DETECTION",
            ])
        #expect(try names(#"["azure"]"#).dropFirst() == ["IDENTITY_ENDPOINT", "IDENTITY_HEADER"])
        #expect(
            try names(#"["aws"]"#).dropFirst() == [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
            ])
        #expect(
            try names(#"["actions"]"#).dropFirst() == [
                "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
            ])
    }

    @Test func `The variables name the relay's port and its secret`() throws {
        let values = try hello(#"{"ok":true,"clouds":["gce","azure","aws","actions"]}"#)
            .variables(port: 4321, secret: "s3", socket: "/run/sock").map(\.value)
        #expect(
            values == [
                "/run/sock", "127.0.0.1:4321", "127.0.0.1:4321", "127.0.0.1:4321", "assume-present",
                "http://127.0.0.1:4321/azure", "s3", "http://127.0.0.1:4321/aws", "s3",
                "http://127.0.0.1:4321/actions?", "s3",
            ])
    }

    @Test func `A namespace that is the same or unknown is shared`() {
        func shares(_ server: String?, _ own: String?) -> Bool {
            BrokerHello(clouds: [], speak: [], namespace: server).sharesLoopback(with: own)
        }
        #expect(shares("net:[1]", "net:[1]") && shares(nil, "net:[1]") && shares("net:[1]", nil))
        #expect(!shares("net:[1]", "net:[2]"))
    }

    // MARK: Replies

    @Test(arguments: [
        ("denied", 7), ("ended", 7), ("sign_in_required", 4), ("locked", 5), ("temporary", 6), ("rate", 6),
        ("ambiguous", 3), ("malformed", 2), ("version", 2), ("failed", 1), ("something new", 1),
    ])
    func `A refusal has the exit status of its error`(word: String, status: Int32) {
        let line = #"{"ok":false,"error":"\#(word)","reason":null,"exit":0,"retry_after":null}"#
        let error = #expect(throws: CredentialError.self) {
            try RelayReply.members(Array(line.utf8))
        }
        #expect(error?.code.exitStatus == status && error?.message.contains(word) == true)
    }

    @Test(arguments: ["", "{}", "[]", "{\"ok\":1}", "{\"ok\":true"])
    func `A reply of another form is an error`(line: String) {
        #expect(throws: CredentialError.self) { try RelayReply.members(Array(line.utf8)) }
    }

    // MARK: Token files

    private let request = TokenFileRequest(.init(entry: "work", path: "/t"))
    private let now = Timestamp(epochSeconds: 1_000)

    @Test func `A token file asks for its entry`() throws {
        #expect(
            try JSONValue.parse(request.line) == ["op": "token", "v": 1, "entry": "work", "why": "relay --file"])
        #expect(request.line.last == 0x0A)
    }

    @Test(arguments: [
        ("1400", 300), ("1004", 5), ("1000", 5), ("900", 5), ("99999999", 3_600), ("9223372036854775807", 3_600),
        ("null", 30),
    ])
    func `The next request comes after three quarters of the rest of a token's life`(end: String, seconds: Int64)
        throws
    {
        let line = #"{"ok":true,"access_token":"at","expires_on":\#(end)}"#
        let answer = try request.answer(Array(line.utf8), now: now)
        #expect(answer.content == Array("at".utf8))
        #expect(answer.pause == seconds * 1_000)
    }

    @Test func `A reply without a token is an error`() {
        #expect(throws: CredentialError.self) { try request.answer(Array(#"{"ok":true}"#.utf8), now: now) }
    }

    @Test func `A request that failed is repeated after 30 s, or after retry_after`() {
        #expect(TokenFileRequest.pause(after: nil) == 30_000)
        #expect(TokenFileRequest.pause(after: Array(#"{"ok":false,"retry_after":90}"#.utf8)) == 90_000)
        #expect(TokenFileRequest.pause(after: Array(#"{"ok":false,"retry_after":1}"#.utf8)) == 30_000)
        #expect(TokenFileRequest.pause(after: Array(#"{"ok":false,"retry_after":999999}"#.utf8)) == 3_600_000)
    }
}
