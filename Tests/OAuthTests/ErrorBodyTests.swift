import CredentialCore
import OAuth
import StrictJSON
import Testing

@Suite struct ErrorBodyTests {
    @Test func `a short secret is taken out of a member that repeats its parameter, and of no prose`() throws {
        let body = #"{"error":"abc1","client_secret":"abc1","sent":[{"code":"abc1","client_secret":"abc12"}]}"#
        let clean = SecretRemoval(["abc1"]).cleaned(body: Array(body.utf8))
        #expect(
            try JSONValue.parse(clean)
                == JSONValue.parse(
                    Array(
                        #"{"error":"abc1","client_secret":"[redacted]","sent":[{"code":"[redacted]","client_secret":"abc12"}]}"#
                            .utf8)))
    }

    @Test func `a body without a secret stays as it is written`() {
        let body = #"{ "error": "x", "at": 1.50, "text": "\u0061 b" }"#
        #expect(SecretRemoval(["abcdefgh"]).cleaned(body: Array(body.utf8)) == Array(body.utf8))
    }

    @Test func `a secret in a string of JSON is found as the string reads`() throws {
        let body = #"{"error":"x","error_description":"no \u0061bcdefgh here"}"#
        let clean = SecretRemoval(["abcdefgh"]).cleaned(body: Array(body.utf8))
        #expect(try JSONValue.parse(clean).object?["error_description"] == "no [redacted] here")
    }
}
