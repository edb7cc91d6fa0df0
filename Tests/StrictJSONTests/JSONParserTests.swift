import StrictJSON
import Testing

/// The classes of JSONTestSuite (Nicolas Seriot, "Parsing JSON is a minefield"), written again.
@Suite struct JSONParserTests {
    // MARK: What must be accepted

    @Test(
        arguments: [
            ("[[]   ]", [[]]), ("[]", []), ("[\"\"]", [""]), ("[\"a\"]", ["a"]), ("[false]", [false]),
            ("[null, 1, \"1\", {}]", [.null, 1, "1", [:]]), ("[null]", [.null]), ("[1\n]", [1]), (" [1]", [1]),
            ("[1,null,null,null,2]", [1, .null, .null, .null, 2]), ("[2] ", [2]), ("\t[\r\n1\t]\n", [1]),
        ] as [(String, JSONValue)])
    func `arrays are read`(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue.parse(text) == value)
    }

    @Test func `objects are read in the order written`() throws {
        #expect(try JSONValue.parse("{}") == [:])
        #expect(try JSONValue.parse(#"{"":0}"#) == ["": 0])
        #expect(try JSONValue.parse(#"{"a":[]}"#) == ["a": []])
        #expect(try JSONValue.parse(#"{"foo\u0000bar": 42}"#) == ["foo\u{0}bar": 42])
        let object = try JSONValue.parse("{\n\"b\" : 1 , \"a\":{\"x\":null}\n}").object
        #expect(object?.keys == ["b", "a"])
        #expect(object?["a"] == ["x": .null])
        #expect(object?["c"] == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("-1", -1), ("123", 123), ("-123", -123), (" 4", 4),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .decimal("9223372036854775808")), ("123e65", .decimal("123e65")),
            ("0e+1", .decimal("0e+1")), ("0e1", .decimal("0e1")), ("1E22", .decimal("1E22")),
            ("1E-2", .decimal("1E-2")), ("1E+2", .decimal("1E+2")), ("123.456e78", .decimal("123.456e78")),
            (
                "-0.000000000000000000000000000000000000000000000000000000000000000000000000000001",
                .decimal("-0.000000000000000000000000000000000000000000000000000000000000000000000000000001")
            ),
            ("20e1", .decimal("20e1")), ("123.456789", .decimal("123.456789")), ("-0.0", .decimal("-0.0")),
        ] as [(String, JSONValue)])
    func `numbers keep their meaning`(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue.parse(text) == value)
        #expect(try JSONValue.parse("[\(text)]") == [value])
    }

    @Test(arguments: [
        (#""\u0060\u012a\u12AB""#, "\u{60}\u{12A}\u{12AB}"), (#""\uD801\udc37""#, "\u{10437}"),
        (#""\ud83d\ude39\ud83d\udc8d""#, "\u{1F639}\u{1F48D}"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\\u0000""#, #"\u0000"#), (#""\"""#, "\""), ("\"a/*b*/c/*d//e\"", "a/*b*/c/*d//e"), (#""\\a""#, #"\a"#),
        (#""\\n""#, #"\n"#), (#""\u0012""#, "\u{12}"), (#""\uFFFF""#, "\u{FFFF}"),
        (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
        ("\"\u{10FFFF}\u{FFFF}\u{1BFFF}\"", "\u{10FFFF}\u{FFFF}\u{1BFFF}"), (#""\u0000""#, "\u{0}"),
        (#""\u002c""#, ","), ("\"π\"", "π"), ("\"\u{2028}\u{2029}\"", "\u{2028}\u{2029}"), ("\" \"", " "),
        ("\"\u{7F}\"", "\u{7F}"), (#""\uA66D""#, "\u{A66D}"), ("\"€𝄞\"", "€𝄞"), (#""\u005C""#, "\\"),
        (#""\u0022""#, "\""),
        (#""\u200B\u2064\uFFFE""#, "\u{200B}\u{2064}\u{FFFE}"),
        (#""new\u00A0line""#, "new\u{A0}line"),
        (#""\u0821""#, "\u{821}"), (#""aé\n日""#, "aé\n日"), ("\"\u{FFFD}\"", "\u{FFFD}"),
    ])
    func `strings are decoded`(_ text: String, _ expected: String) throws {
        let decoded = try JSONValue.parse(text).string
        // By scalars: Swift's equality of strings would let equivalent but different text pass.
        #expect(decoded.map { Array($0.unicodeScalars) } == Array(expected.unicodeScalars))
    }

    @Test func `a text may be any one value`() throws {
        #expect(try JSONValue.parse("false") == false)
        #expect(try JSONValue.parse(" true ") == true)
        #expect(try JSONValue.parse("null") == .null)
        #expect(try JSONValue.parse("\"\"") == "")
        #expect(try JSONValue.parse("42") == 42)
    }

    // MARK: What must be refused

    @Test(arguments: [
        "[1 true]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x",
        "[3[4]]", "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[\"\u{B}a\"\\f]",
        "[*]",
        "[\"\"", "[1,", "[1,\n1\n,1", "[{}", "[", "]", "[[[", "[1]]", "[]x", "[][]", "[\u{C}]", "[\u{A0}]",
    ])
    func `broken arrays are refused`(_ text: String) { refuse(text) }

    @Test(arguments: [
        "[\"x\", truth]", "{[: \"x\"}\n", "{\"x\", null}", "{\"x\"::\"b\"}", "{\"a\":\"a\" 123}", "{key: 'value'}",
        "{\"a\" b}", "{:\"b\"}", "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{9999E9999:1}",
        "{null:null,null:null}",
        "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}", "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}/**//", "{\"a\":\"b\"}//",
        "{\"a\":\"b\"}/", "{\"a\":\"b\",,\"c\":\"d\"}", "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }",
        "{\"a\":\"b\"}#", "{", "}", "{]", "{,", "{\"\":", "{\"a\":/*comment*/\"b\"}", "{\"a\": true} \"x\"",
        "{\"asd\":\"asd\"", "{\"x\": 1, \"x\"", "{\"a\":1 \"b\":2}", "{true:1}", "{\"a\";1}", "{\"a\"=1}",
    ])
    func `broken objects are refused`(_ text: String) { refuse(text) }

    @Test(arguments: [
        "[-01]", "[012]", "[00]", "[-012]", "[0.1.2]", "[++1234]", "[+1]", "[+Inf]", "[--1]", "[-1.0.]", "[-2.]",
        "[-NaN]",
        "[.-1]", "[.2e-3]", "[.5]", "[0.3e+]", "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[0e+]", "[0e]", "[1.0e+]",
        "[1.0e-]",
        "[1.0e]", "[1 000.0]", "[1eE2]", "[2.e+3]", "[2.e-3]", "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[\u{FF11}]",
        "[1+2]", "[0x1]", "[0x42]", "[Infinity]", "[-Infinity]", "[0e+-1]", "[-123.123foo]", "[-foo]", "[- 1]",
        "[-.123]",
        "[1ea]", "[1.]", "[1.8011670033376514H-308]", "[1.2a-3]", "[0x]", "[1_000]", "[1e+]", "-", "1.", ".5", "+1",
        "[٣]", "[1e1.5]", "[0,1e]", "[1f]", "[0b1]", "[0o7]", "[01e1]",
    ])
    func `broken numbers are refused`(_ text: String) { refuse(text) }

    @Test(arguments: [
        #"["\uD800\"]"#, #"["\uD800\u"]"#, #"["\uD800\u1"]"#, #"["\uD800\u1x"]"#, #"["\x00"]"#, #"["\\\"]"#,
        "[\"\\\u{0}\"]",
        "[\"\\\t\"]", "[\"\\🌀\"]", #"["\"]"#, #"["\u00A"]"#, #"["\uD834\uDd"]"#, #"["\uD800\uD800\x"]"#, #"["\a"]"#,
        #"["\uqqqq"]"#, "[\u{E9}]", "[\\u0020\"asd\"]", "[\\n]", "\"", "['single quote']", "abc", "[\"\\",
        "[\"a\u{0}a\"]",
        "[\"new\nline\"]", "[\"\t\"]", "[\"\r\"]", "[\"\u{1F}\"]", "\"\\UA66D\"", "\"\"x", #"["\u 041"]"#,
        #"["\u+041"]"#,
        #"["\u-041"]"#, #"["\u"#, #"["\u12"#, #"["\'"]"#, #"["\0"]"#, #"["\v"]"#, #"["\u{41}"]"#, "[“a”]", "`a`",
    ])
    func `broken strings are refused`(_ text: String) { refuse(text) }

    @Test(arguments: [
        "", " ", "<.>", "[<null>]", "[1]x", "\u{2060}[]", "[\"asd]", "aå", "[True]", "1]", "{\"x\": true,", "[][]",
        "*", "{\"\":\"\"}{", "[1][", "nul", "nulll", "fals", "tru", "TRUE", "Null", "undefined", "2@", "{}}",
        "[\u{B}]",
        "{\"a\":", "[\u{3000}]", "é", "[\u{2028}]", "// comment\n1", "/* */1", "# comment\n1", "\\u007b\\u007d",
        "\u{0}", "1\u{0}", "[nan]", "null,", "1 2", ",", ":", "\u{85}1", "\u{FEFF}",
    ])
    func `broken texts are refused`(_ text: String) { refuse(text) }

    @Test(
        arguments: [
            [0xFF], [0x80], [0xC3], [0xC3, 0x28], [0xE9], [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF],
            [0xE0, 0x80, 0xAF],
            [0xE0, 0x9F, 0xBF], [0xF0, 0x80, 0x80, 0xAF], [0xF0, 0x8F, 0xBF, 0xBF], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xED, 0xA0, 0x81, 0xED, 0xB0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x83, 0xBF, 0xBF, 0xBF, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1],
            [0xF0, 0x9F, 0x98], [0xFE], [0x81, 0x80],
        ] as [[UInt8]])
    func `strings and names that are not UTF-8 are refused`(_ bytes: [UInt8]) {
        refuse(Array("[\"".utf8) + bytes + Array("\"]".utf8))
        refuse(Array("[\"\\n".utf8) + bytes + Array("\"]".utf8))
        refuse(Array("{\"".utf8) + bytes + Array("\":1}".utf8))
        refuse(Array("[".utf8) + bytes + Array("]".utf8))
        refuse(bytes)
    }

    @Test func `other encodings are refused`() {
        refuse([0x5B, 0x00, 0x5D, 0x00])
        refuse([0x00, 0x5B, 0x00, 0x5D])
        refuse([0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00])
        refuse([0xFE, 0xFF, 0x00, 0x5B, 0x00, 0x5D])
    }

    // MARK: Where the standard leaves a choice

    @Test(arguments: [
        #"["\uD800"]"#, #"["\uDC00"]"#, #"["\uDd1e\uD834"]"#, #"["\uD800\n"]"#, #"["\uD800abc"]"#, #"["\uDADA"]"#,
        #"["\ud800\ud800"]"#, #"["\uDFAA"]"#, #"["\uD888\u1234"]"#, #"["\uD800\\u0041"]"#,
    ])
    func `choice: a lone surrogate is refused`(_ text: String) { refuse(text) }

    @Test func `choice: a byte order mark is refused`() {
        refuse([0xEF, 0xBB, 0xBF] + Array("{}".utf8))
        refuse([0xEF, 0xBB, 0xBF])
    }

    @Test func `a byte order mark before hand-written text is skipped, once`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        #expect(try JSONValue.parse(mark + Array("{\"a\": 1,}".utf8), dialect: .commented) == ["a": 1])
        #expect((mark + [0x7B]).withoutByteOrderMark == [0x7B] && [0x7B].withoutByteOrderMark == [0x7B])
        for odd in [mark, mark + mark + [0x7B, 0x7D], [0x7B] + mark + [0x7D], [0xEF, 0xBB, 0x7B, 0x7D]] {
            #expect(throws: JSONError.self) { try JSONValue.parse(odd, dialect: .commented) }
        }
    }

    @Test(arguments: [
        #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#,
        "{\"\u{E9}\":1,\"e\u{301}\":2}",
    ])
    func `choice: a name given twice is refused`(_ text: String) {
        refuse(text)
    }

    @Test func `choice: a name given twice is found in large objects too`() {
        let members = (0..<500).map { "\"n\($0)\":\($0)" }.joined(separator: ",")
        #expect(throws: Never.self) { try JSONValue.parse("{\(members)}") }
        refuse("{\(members),\"n250\":1}")
    }

    @Test func `choice: numbers beyond a double keep their text`() throws {
        #expect(try JSONValue.parse("[123.456e-789]") == [.decimal("123.456e-789")])
        #expect(try JSONValue.parse("[-1e+9999]") == [.decimal("-1e+9999")])
        #expect(try JSONValue.parse("1e+9999").integer == nil)
        #expect(try JSONValue.parse("-123123123123123123123123123123").integer == nil)
    }

    @Test func `choice: a number of more than 128 characters is refused`() {
        #expect(throws: Never.self) { try JSONValue.parse(String(repeating: "1", count: 128)) }
        refuse(String(repeating: "1", count: 129))
        refuse("0.4e00" + String(repeating: "6", count: 130))
    }

    // MARK: Faults

    @Test func `a fault tells its place and never the text`() {
        let error = #expect(throws: JSONError.self) { try JSONValue.parse("{\n\"a\": 1,\n\"secret\": hunter2}") }
        #expect(error?.line == 3)
        #expect(error?.offset == 20)
        #expect(error?.reason == .unexpectedCharacter)
        let end = #expect(throws: JSONError.self) { try JSONValue.parse("[1,\n") }
        #expect(end?.reason == .unexpectedEnd)
        #expect(end?.line == 2)
        let twice = #expect(throws: JSONError.self) { try JSONValue.parse("{\"a\":1,\n\"a\":{}}") }
        #expect(twice?.reason == .repeatedMemberName)
        #expect(twice?.line == 2)
    }

    @Test func `every beginning of a text is refused without a crash`() throws {
        let text = Array(#"{"a\u00e9\ud83d\ude39":[1,-2.5e+3,true,false,null,"é€𝄞"],"b":{"c":[]}}"#.utf8)
        #expect(throws: Never.self) { try JSONValue.parse(text) }
        for length in 0..<text.count { refuse(Array(text[..<length])) }
    }

    private func refuse(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuse(Array(text.utf8), sourceLocation: sourceLocation)
    }

    private func refuse(_ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(throws: JSONError.self, sourceLocation: sourceLocation) { try JSONValue.parse(bytes) }
    }
}
