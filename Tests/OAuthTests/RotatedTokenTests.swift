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
