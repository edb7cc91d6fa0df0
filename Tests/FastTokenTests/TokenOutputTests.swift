import CredentialCore
import FastToken
import StrictJSON
import TestSupport
import Testing

@Suite struct TokenOutputTests {
    private func presentation(
        _ token: String = "tok'en", type: String = "bearer", scope: [String] = ["a", "b"], policy: String? = "b2c_1"
    ) -> TokenOutput {
        TokenOutput(
            accessToken: Secret(token), tokenType: type, expiresAt: Timestamp(epochSeconds: 1_795_250_400),
            scope: scope, policy: policy, accountID: "0123456789abcdef", accountType: "ToDo", username: nil,
            refreshed: true)
    }

    private func text(_ format: TokenFormat, execInfo: String? = nil) throws -> String {
        String(decoding: try presentation().bytes(as: format, execInfo: execInfo), as: UTF8.self)
    }

    @Test func `the plain forms are one line each`() throws {
        #expect(try text(.token) == "tok'en\n")
        #expect(try text(.header) == "Authorization: Bearer tok'en\n")
        #expect(try text(.bearer) == "Bearer tok'en\n")
        let other = try presentation(type: "DPoP").bytes(as: .bearer)
        #expect(String(decoding: other, as: UTF8.self) == "DPoP tok'en\n")
    }

    @Test func `the shell form sets both variables in a real shell`() throws {
        #expect(
            try text(.env)
                == "export ACCESS_TOKEN='tok'\\''en'\nexport ACCESS_TOKEN_EXPIRES_ON='1795250400'\n")
        let outcome = try ChildProcess("sh", ["-s"], environment: ["PATH": "/usr/bin:/bin"])
            .run(input: try text(.env) + "printf '%s %s' \"$ACCESS_TOKEN\" \"$ACCESS_TOKEN_EXPIRES_ON\"")
        #expect(outcome.standardOutput == "tok'en 1795250400")
    }

    @Test func `the JSON form has the keys of the contract in order`() throws {
        #expect(
            try text(.json)
                == #"{"access_token":"tok'en","token_type":"bearer","expires_at":"2026-11-21T08:40:00Z","#
                + #""expires_on":1795250400,"scope":"a b","policy":"b2c_1","account":{"id":"0123456789abcdef","#
                + #""type":"ToDo","username":null},"refreshed":true}"# + "\n")
        let bare = try presentation(scope: [], policy: nil).bytes(as: .json)
        let object = try JSONValue.parse(bare).object
        #expect(object?["scope"] == .null)
        #expect(object?["policy"] == .null)
    }

    @Test(arguments: [
        (nil, "client.authentication.k8s.io/v1"), ("", "client.authentication.k8s.io/v1"),
        (#"{"apiVersion":"client.authentication.k8s.io/v1","spec":{}}"#, "client.authentication.k8s.io/v1"),
        (#"{"apiVersion":"client.authentication.k8s.io/v1beta1"}"#, "client.authentication.k8s.io/v1beta1"),
    ])
    func `the Kubernetes form echoes the version asked for`(_ info: String?, _ version: String) throws {
        #expect(
            try text(.execCredential, execInfo: info)
                == #"{"apiVersion":"\#(version)","kind":"ExecCredential","status":"#
                + #"{"expirationTimestamp":"2026-11-21T08:40:00Z","token":"tok'en"}}"# + "\n")
    }

    @Test func `the credential form has null as its end when the provider named none`() throws {
        #expect(
            try text(.credential)
                == #"{"version":1,"token":"tok'en","expires_at":"2026-11-21T08:40:00Z"}"# + "\n")
        var guessed = presentation()
        guessed.isEndGuessed = true
        #expect(
            String(decoding: try guessed.bytes(as: .credential), as: UTF8.self)
                == #"{"version":1,"token":"tok'en","expires_at":null}"# + "\n")
        // The end of an ID token is one of its claims.
        guessed.idToken = (Secret("id"), Timestamp(epochSeconds: 1_795_250_400))
        #expect(
            String(decoding: try guessed.bytes(as: .credential), as: UTF8.self)
                == #"{"version":1,"token":"id","expires_at":"2026-11-21T08:40:00Z"}"# + "\n")
    }

    @Test func `another Kubernetes version is refused`() {
        for (info, code) in [
            (#"{"apiVersion":"client.authentication.k8s.io/v1alpha1"}"#, ErrorCode.unsupported), ("{}", .usage),
            ("not json", .usage), ("[]", .usage),
        ] {
            let error = #expect(throws: CredentialError.self) { try text(.execCredential, execInfo: info) }
            #expect(error?.code == code)
        }
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\n", "a\u{0}", "a\u{7F}", "tökn", ""], TokenFormat.allCases)
    func `a token that could break a header is refused and not shown`(_ token: String, _ format: TokenFormat) {
        let error = #expect(throws: CredentialError.self) { try presentation(token).bytes(as: format) }
        #expect(error?.code == .malformedReply)
        #expect(error?.message.contains("Evil") == false)
    }

    @Test(arguments: ["Bearer\r\nX: y", "", "Bear er", "Bearer:"])
    func `a type that could break a header is refused`(_ type: String) {
        let error = #expect(throws: CredentialError.self) { try presentation(type: type).bytes(as: .header) }
        #expect(error?.code == .malformedReply)
    }
}
