import OAuth
import Testing

@Suite struct FormURLEncodingTests {
    @Test func `encodes the example of RFC 6749 appendix B`() {
        #expect(FormURLEncoding.encode(" %&+£€") == "+%25%26%2B%C2%A3%E2%82%AC")
    }

    @Test func `encodes every reserved character of a token`() {
        #expect(FormURLEncoding.encode("t _9V-F*I+Z1Lk.u7:2/8L+w=") == "t+_9V-F*I%2BZ1Lk.u7%3A2%2F8L%2Bw%3D")
    }

    @Test(arguments: [
        ("a=b&c=d", ["a", "b", "c", "d"]),
        ("code=abc==&x=1", ["code", "abc==", "x", "1"]),
        ("a=1+2%2B3", ["a", "1 2+3"]),
        ("a", ["a", ""]),
        ("a=", ["a", ""]),
        ("=b", ["", "b"]),
        ("&&a=b&", ["a", "b"]),
        ("%c3%a9=%E2%82%AC", ["é", "€"]),
        ("", []),
    ]) func `decodes`(text: String, expected: [String]) throws {
        let fields = try #require(FormURLEncoding.decode(text))
        #expect(fields.flatMap { [$0.name, $0.value] } == expected)
    }

    @Test(arguments: ["a=%", "a=%4", "a=%zz", "a=%c3", "a=%ff", "%=a", "a=%+1"])
    func `refuses broken escapes`(text: String) { #expect(FormURLEncoding.decode(text) == nil) }

    @Test func `decodes its own encoding, for every byte of UTF-8`() throws {
        let text = String(String.UnicodeScalarView((0...0x250).compactMap(Unicode.Scalar.init)))
        let fields = try #require(FormURLEncoding.decode(FormURLEncoding.encode([(name: text, value: text)])))
        #expect(fields.count == 1)
        #expect(Array(fields[0].name.utf8) == Array(text.utf8))
        #expect(Array(fields[0].value.utf8) == Array(text.utf8))
    }
}
