import CredentialCore
import TestPorts
import Testing

@testable import OAuth

/// The lenient reading of a response, which finds a new refresh token and no other member.
@Suite struct RotatedTokenTests {
    private func token(_ body: String, type: String = "application/json", isCut: Bool = false) -> String? {
        var response = HTTPResponse(status: 200, headers: [("content-type", type)], body: Array(body.utf8))
        if isCut { response.fault = CredentialError(.temporary, "cut off") }
        return RotatedToken(response, sent: ["the-old-token"])?.token?.reveal()
    }

    private static let form = "application/x-www-form-urlencoded"

    @Test(
        arguments: [
            ("refresh_token=the-new-token\r\n", form), ("\n refresh_token=the-new-token&a=b", form),
            ("a=b& refresh_token=the-new-token \n&c=d", form),
            (#"{"error":"","refresh_token":"the-new-token"}"#, "application/json"),
            (#"{"error":{},"refresh_token":"the-new-token"}"#, "application/json"),
            (#"{"error":[ ],"refresh_token":"the-new-token"}"#, "application/json"),
            (#"{"refresh_token":"","refresh_token":"the-new-token"}"#, "application/json"),
            (#"{"refresh_token":"the-new-token","refresh_token":""}"#, "application/json"),
            ("Warning: bad \"{\" in x\n{\"refresh_token\":\"the-new-token\"}", "text/html"),
            ("Warning: { \"{\" in x\n{\"refresh_token\":\"the-new-token\"}", "text/html"),
            ("Warning: {x \"{y\"{\n{\"refresh_token\":\"the-new-token\"}", "text/html"),
            (#"{"n":{"a":[1,2},"refresh_token":"the-new-token"}"#, "application/json"),
            (#"{"n":[1,2},"refresh_token":"the-new-token"}"#, "application/json"),
            (#"{"n":[{"a":1],"refresh_token":"the-new-token"}"#, "application/json"),
            (#"{"n":{"a":1],"refresh_token":"the-new-token"}"#, "application/json"),
        ])
    func `finds the token`(body: String, type: String) { #expect(token(body, type: type) == "the-new-token") }

    @Test(arguments: [
        #"{"error":{"code":"x"},"refresh_token":"the-new-token"}"#,
        #"{"error":["x"],"refresh_token":"the-new-token"}"#,
        #"{"error":"","error":"x","refresh_token":"the-new-token"}"#,
        #"{"n":{"refresh_token":"the-new-token"}}"#, #"{"refresh_token":["the-new-token"]}"#,
    ])
    func `takes no token of a refusal, and none that lies deeper`(body: String) { #expect(token(body) == nil) }

    @Test func `many braces and quotes cost no more than a few`() {
        for piece in ["{", "{\"", "{\"x{\\\"", "{\"{\" ", "[", "{\"n\":[", "]}"] {
            let braces = String(repeating: piece, count: (1 << 18) / piece.utf8.count)
            #expect(token(braces) == nil)
            #expect(token("{\"n\":[" + braces) == nil)
        }
    }

    @Test func `a value that the end cuts off is none`() {
        #expect(token(#"{"refresh_token":"the-new-token","x":"y"#, isCut: true) == "the-new-token")
        #expect(token(#"{"refresh_token":"the-new-to"#, isCut: true) == nil)
        #expect(token(#"{"refresh_token":12345678901"#, isCut: true) == nil)
        #expect(token("refresh_token=the-new-token&x=y", type: Self.form, isCut: true) == "the-new-token")
        #expect(token("access_token=a&refresh_token=the-new-to", type: Self.form, isCut: true) == nil)
        // A caller that does not say that the end is missing: a part of the token that was sent is no new token.
        #expect(token("refresh_token=the-old-t", type: Self.form) == nil)
    }

    @Test func `many values cost no more than a few`() {
        let members = (0..<50_000).map { #""refresh_token":"another-token-\#($0)""# }.joined(separator: ",")
        #expect(token("{\(members)}") == nil)
        let others = (0..<50_000).map { #""a":"\#($0)""# }.joined(separator: ",")
        #expect(token(#"{\#(others),"refresh_token":"the-new-token"}"#) == "the-new-token")
    }

    @Test func `several ID tokens do not identify the user of a response`() {
        let body = #"{"refresh_token":"the-new-token","id_token":"a.b.c","id_token":"d.e.f"}"#
        let response = HTTPResponse(status: 200, body: Array(body.utf8))
        #expect(RotatedToken(response, sent: [])?.hasSeveralIDTokens == true)
    }

    @Test(arguments: [
        "", "{", "}", "[", "\"", "{\"", "{\"\\", "{\"\\u", "{\"\\u12", "{\"a\":", "{\"a\":{\"b\":[", "\\", "=",
        "&&=&", "%",
        "refresh_token=%", "\u{0}", "{\u{0}", "{\"refresh_token\":\"\\uD800\\uDC00\"}",
    ])
    func `nothing stops the reader`(body: String) {
        for type in ["application/json", Self.form, "text/html", ""] { #expect(token(body, type: type) == nil) }
    }
}
