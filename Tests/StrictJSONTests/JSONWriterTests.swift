import StrictJSON
import Testing

@Suite struct JSONWriterTests {
    @Test func `compact text has no spaces`() {
        let value: JSONValue = ["b": [1, .decimal("1e3"), true, .null], "a": [:], "c": [], "d": "x y"]
        #expect(value.text() == #"{"b":[1,1e3,true,null],"a":{},"c":[],"d":"x y"}"#)
    }

    @Test func `indented text has a line per member`() {
        let value: JSONValue = ["a": [1, [], [2]], "b": [:]]
        #expect(
            value.text(.indented) == """
                {
                  "a": [
                    1,
                    [],
                    [
                      2
                    ]
                  ],
                  "b": {}
                }
                """)
    }

    @Test(arguments: [
        ("\"\\/", #"\"\\/"#), ("\n\r\t", #"\n\r\t"#), ("\u{0}\u{8}\u{C}\u{1F}", #"\u0000\u0008\u000c\u001f"#),
        ("\u{1B}[31m", #"\u001b[31m"#), ("\u{7F}\u{80}\u{9B}\u{9F}", #"\u007f\u0080\u009b\u009f"#),
        ("\u{2028}\u{2029}", #"\u2028\u2029"#), ("\u{A0}é日𝄞", "\u{A0}é日𝄞"), ("", ""), ("\r\n", #"\r\n"#),
        ("e\u{301}\"\u{301}", "e\u{301}\\\"\u{301}"),
    ])
    func `strings and names are escaped`(_ string: String, _ written: String) {
        #expect(Array(JSONValue.string(string).text().unicodeScalars) == Array("\"\(written)\"".unicodeScalars))
        let object: JSONValue = .object([string].reduce(into: JSONObject()) { $0[$1] = 1 })
        #expect(Array(object.text().unicodeScalars) == Array("{\"\(written)\":1}".unicodeScalars))
    }

    @Test func `bytes are the text in UTF-8`() {
        let value: JSONValue = ["é", 1]
        #expect(value.bytes() == Array(value.text().utf8))
        #expect(value.bytes(.indented) == Array(value.text(.indented).utf8))
    }
}

@Suite struct JSONRoundTripTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `written text is read back the same`(_ seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        for _ in 0..<250 {
            let value = generator.value(depth: 4)
            for layout in [JSONValue.Layout.compact, .indented] {
                let text = value.bytes(layout)
                let back = try JSONValue.parse(text)
                #expect(back == value)
                // The same bytes again, so order of members and exact scalars are kept, which == does not see.
                #expect(back.bytes(layout) == text)
            }
            #expect(try JSONValue.parse(value.text(.indented), dialect: .commented) == value)
        }
    }

    @Test(arguments: [5, 6, 7] as [UInt64])
    func `damaged texts are read or refused and never crash`(_ seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var refused = 0
        for _ in 0..<400 {
            var text = generator.value(depth: 4).bytes()
            for _ in 0...Int.random(in: 0..<3, using: &generator) {
                let place = Int.random(in: 0..<text.count, using: &generator)
                text[place] = UInt8.random(in: 0...255, using: &generator)
            }
            do {
                let value = try JSONValue.parse(text)
                #expect(throws: Never.self) { try JSONValue.parse(value.bytes()) }
            } catch {
                refused += 1
                #expect(error.offset <= text.count)
            }
        }
        #expect(refused > 0)
    }
}

/// SplitMix64: small, and the same everywhere for the same seed.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &self) {
        case 0: return .null
        case 1: return .bool(.random(using: &self))
        case 2: return .integer(.random(in: .min ... .max, using: &self))
        case 3: return .integer(.random(in: -10...10, using: &self))
        case 4:
            return .decimal(
                "\(Int8.random(in: -99...99, using: &self)).5e\(UInt8.random(in: 0...99, using: &self))")
        case 5: return .string(string())
        case 6:
            let count = Int.random(in: 0..<5, using: &self)
            return .array((0..<count).map { _ in value(depth: depth - 1) })
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0..<40, using: &self) { object[string()] = value(depth: depth - 3) }
            return .object(object)
        }
    }

    mutating func string() -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x7F, 0x20...0x7E, 0x80...0x2FFF, 0xD7F0...0xE010, 0xFFF0...0x1_F700,
        ]
        var string = ""
        for _ in 0..<Int.random(in: 0..<12, using: &self) {
            let range = ranges[Int.random(in: 0..<ranges.count, using: &self)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &self)) {
                string.unicodeScalars.append(scalar)
            }
        }
        return string
    }
}
