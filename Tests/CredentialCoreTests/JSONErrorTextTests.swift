import CredentialCore
import StrictJSON
import Testing

@Suite struct JSONErrorTextTests {
    @Test(arguments: [
        ("", "unexpected end"), ("x", "unexpected character"), ("[1] 2", "text after the value"),
        ("{1:2}", "expected a member name"), ("{\"a\" 1}", "expected ':'"), ("{\"a\":1 2}", "expected ',' or '}'"),
        ("[1 2]", "expected ',' or ']'"), ("{\"a\":1,\"a\":2}", "member name given twice"),
        ("01", "number with a leading zero"), ("-", "expected a digit"),
        (String(repeating: "1", count: 129), "number longer than 128 characters"), ("\"a", "string without an end"),
        ("\"a\u{1}\"", "control character in a string"), (#""\q""#, "unknown escape"),
        (#""\ud800""#, "lone surrogate"), (#""\u12x4""#, "expected four hexadecimal digits"),
        (String(repeating: "[", count: 33), "nested deeper than 32 levels"),
    ])
    func `a fault is told with its line`(_ text: String, _ reason: String) {
        let error = #expect(throws: JSONError.self) { try JSONValue.parse(text) }
        #expect(error?.text.description == "\(reason) at line 1")
    }

    @Test func `a message with a fault in it is one sentence`() throws {
        let error = try #require(throws: JSONError.self) { try JSONValue.parse("/* \n", dialect: .commented) }
        let message: LocalizedMessage = "x.json is not JSON: \(error)"
        #expect(message == "x.json is not JSON: comment without an end at line 1")
        #expect(message.template == "x.json is not JSON: %1$s")
    }

    @Test func `limits and bytes are told`() {
        let large = #expect(throws: JSONError.self) { try JSONValue.parse("[1]", limits: JSONLimits(bytes: 2)) }
        #expect(large?.reason.text == "text is larger than 2 bytes")
        let many = #expect(throws: JSONError.self) { try JSONValue.parse("[1]", limits: JSONLimits(nodes: 1)) }
        #expect(many?.reason.text == "more than 1 values")
        let bytes = #expect(throws: JSONError.self) { try JSONValue.parse([0x22, 0xFF, 0x22]) }
        #expect(bytes?.reason.text == "string is not UTF-8")
    }
}
