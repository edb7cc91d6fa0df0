import CredentialCore
import Foundation
import PropertyLists
import Testing

@Suite struct PropertyListTests {
    private func parse(_ text: String) throws(CredentialError) -> PropertyListValue {
        try PropertyList.parse(Array(text.utf8), place: "settings.plist")
    }

    /// A whole document around the entries of a dictionary.
    private func document(_ entries: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>\(entries)</dict>
        </plist>
        """
    }

    private static let values: [(xml: String, value: PropertyListValue)] = [
        ("<string>text</string>", .string("text")),
        ("<string/>", .string("")),
        ("<string />", .string("")),
        ("<string></string>", .string("")),
        ("<string> kept  as is </string>", .string(" kept  as is ")),
        ("<string>a &amp; b &gt;c&quot;&apos; &lt;</string>", .string("a & b >c\"' <")),
        ("<string>&#233;&#xE9;&#x1F600;</string>", .string("éé😀")),
        ("<string>one<!-- no -->two</string>", .string("onetwo")),
        ("<string><![CDATA[a & b]]> c</string>", .string("a & b c")),
        ("<string>line\r\nline\rline</string>", .string("line\nline\nline")),
        ("<integer>42</integer>", .integer(42)),
        ("<integer> -42 </integer>", .integer(-42)),
        ("<integer>0x7fFF</integer>", .integer(32767)),
        ("<integer>-0x10</integer>", .integer(-16)),
        ("<integer>9223372036854775807</integer>", .integer(.max)),
        ("<real>1.5e3</real>", .real("1.5e3")),
        ("<real>nan</real>", .real("nan")),
        ("<true/>", .boolean(true)),
        ("<false />", .boolean(false)),
        ("<true></true>", .boolean(true)),
        ("<date>2016-07-22T10:00:00Z</date>", .date("2016-07-22T10:00:00Z")),
        ("<data>\n\taGVs\n\tbG8=\n</data>", .data(Array("hello".utf8))),
        ("<array/>", .array([])),
        ("<array><string>a</string> <!-- x --> <true/></array>", .array([.string("a"), .boolean(true)])),
        ("<dict/>", .dictionary(PropertyListDictionary())),
    ]

    @Test(arguments: values.indices) func `every kind of value is read`(_ index: Int) throws {
        let (xml, value) = Self.values[index]
        #expect(try parse(document("<key>k</key>\(xml)")).dictionary?["k"]?.value == value)
    }

    private static let faults: [(xml: String, words: String)] = [
        ("", "expected an element"),
        ("<plist version=\"1.0\"/>", "empty property list"),
        ("<plist><dict>", "expected an element"),
        ("<plist><dict></dict>", "expected an element"),
        ("<dict></dict></dict>", "expected </plist>"),
        ("<dict></dict>text", "expected an element"),
        ("<dict></dict></plist>text", "text after the end"),
        ("<dict></array>", "expected <key> or </dict>"),
        ("<dict><string>a</string></dict>", "expected <key> or </dict>"),
        ("<dict><key>a</key></dict>", "an end tag where a value is expected"),
        ("<dict><key>a</key><key>b</key></dict>", "an element that property lists do not have"),
        ("<dict><key>a</key><set/></dict>", "an element that property lists do not have"),
        ("<dict id=\"1\"></dict>", "an element with attributes"),
        ("<dict><key>a</key><string>b</dict>", "expected </string>"),
        ("<dict><key>a</key><string>b<string>c</string></dict>", "<string> without its end tag"),
        ("<dict><key>a</key><string>b", "<string> without its end tag at line 1"),
        ("<dict><key>a<b></key><true/></dict>", "<key> without its end tag"),
        ("<dict>\n<key>a</key><true/>\n<key>a</key><false/></dict>", "key 'a' is duplicated at line 3"),
        ("<dict><key>a</key><string>?p=x&nux=1</string></dict>", "'&amp;'"),
        ("<dict><key>a</key><string>&copy;</string></dict>", "not predefined"),
        ("<dict><key>a</key><string>&#0;</string></dict>", "not predefined"),
        ("<dict><key>a</key><string>&#xD800;</string></dict>", "not predefined"),
        ("<dict><key>a</key><integer>12a</integer></dict>", "not an integer"),
        ("<dict><key>a</key><integer>9223372036854775808</integer></dict>", "not an integer"),
        ("<dict><key>a</key><integer></integer></dict>", "not an integer"),
        ("<dict><key>a</key><real>one</real></dict>", "not a real number"),
        ("<dict><key>a</key><date>yesterday</date></dict>", "not a date"),
        ("<dict><key>a</key><data>?</data></dict>", "not base64"),
        ("<dict><key>a</key><true>x</true></dict>", "a boolean with content"),
        ("<!-- <dict/>", "comment without an end"),
        ("<!DOCTYPE plist [<!ENTITY x \"y\">]><dict/>", "declarations of its own"),
        ("<!DOCTYPE plist SYSTEM \"file:///etc/passwd\"", "DOCTYPE without an end"),
        ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><dict/>", "encoding is not UTF-8"),
        ("<dict>\u{1}</dict>", "control characters"),
        ("not a plist", "expected an element"),
        (String(repeating: "<array>", count: 17), "nested deeper than 16 levels"),
        ("<array>" + String(repeating: "<true/>", count: 10_000) + "</array>", "more than 10000 values"),
        (String(repeating: " ", count: 1 << 20 + 1), "larger than"),
    ]

    @Test(arguments: faults.indices) func `every fault is named`(_ index: Int) throws {
        let (xml, words) = Self.faults[index]
        let error = try #require(throws: CredentialError.self) { try parse(xml) }
        #expect(error.code == .configuration)
        #expect(error.message.hasPrefix("settings.plist is not a property list: "))
        #expect(error.message.contains(words), "\(error.message)")
    }

    @Test func `keys keep their lines and their order`() throws {
        let dictionary = try #require(
            try parse(document("\n<key>b</key><true/>\n\n<key>a</key>\n<true/>")).dictionary)
        #expect(dictionary.entries.map(\.key) == ["b", "a"])
        #expect(dictionary.entries.map(\.line) == [5, 7])
    }

    @Test(arguments: [
        "<dict><key>k</key><true/></dict>",
        "<dict><key>k</key><true/></dict>\n</plist>\n",
        "<plist version='1.0'><dict><key>k</key><true/></dict></plist >",
        "\u{FEFF}<dict><key>k</key><true/></dict>",
        "<!-- c --><!DOCTYPE plist><!-- d --><dict><key>k</key><true/></dict>",
    ]) func `the text around the dictionary may be missing`(_ text: String) throws {
        #expect(try parse(text).dictionary?["k"]?.value == .boolean(true))
    }

    @Test(arguments: [true, false]) func `UTF-16 with a byte order mark is read`(_ isBigEndian: Bool) throws {
        let text = document("<key>k</key><string>é😀</string>")
        let units = [0xFEFF] + Array(text.utf16)
        let bytes = units.flatMap {
            isBigEndian ? [UInt8($0 >> 8), UInt8($0 & 255)] : [UInt8($0 & 255), UInt8($0 >> 8)]
        }
        #expect(try PropertyList.parse(bytes, place: "x").dictionary?["k"]?.value == .string("é😀"))
        #expect(throws: CredentialError.self) { try PropertyList.parse(bytes + [0], place: "x") }
    }

    @Test func `bytes that are no text are refused`() {
        #expect(throws: CredentialError.self) { try PropertyList.parse([0x3C, 0xFF, 0xFE], place: "x") }
    }

    // MARK: Placeholders

    @Test func `every placeholder is named with its key and line`() throws {
        let text = """
            <dict>
            <key>clientID</key>
            <string><client ID></string>
            <key>url</key>
            <string>https://host/<tenant name>/x?p=<policy name></string>
            <key>list</key>
            <array>
            <string>fine</string>
            <string><one></string>
            </array>
            <key>escaped</key>
            <string>&lt;your name&gt;</string>
            <key>fine</key>
            <string>a &lt; b</string>
            </dict>
            """
        let error = try #require(throws: CredentialError.self) { try parse(text) }
        #expect(error.code == .configuration)
        #expect(
            error.message
                == "placeholder not filled in at key clientID, line 3; key url, line 5; key list, line 9; "
                + "key escaped, line 12 (in settings.plist)")
        #expect(error.code.exitStatus == 2)
    }

    @Test func `placeholders in JSON are named too`() throws {
        let error = try #require(throws: CredentialError.self) {
            try parse(#"{"clientID":"<client ID>","scopes":["<a>","<b>"]}"#)
        }
        #expect(error.message.hasPrefix("placeholder not filled in at key clientID; key scopes ("))
    }

    // MARK: Other forms

    @Test func `JSON is read`() throws {
        let value = try parse(#"{"a":"x","b":[true,1,1.5],"c":{}}"#)
        #expect(value.dictionary?["a"]?.value == .string("x"))
        #expect(value.dictionary?["b"]?.value == .array([.boolean(true), .integer(1), .real("1.5")]))
        #expect(value.dictionary?["c"]?.value == .dictionary(PropertyListDictionary()))
        #expect(throws: CredentialError.self) { try parse(#"{"a":null}"#) }
        #expect(throws: CredentialError.self) { try parse(#"{"a":1,"a":2}"#) }
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func `property lists of Foundation are read`(_ format: PropertyListSerialization.PropertyListFormat) throws {
        let long = String(repeating: "long ", count: 100)
        let source: [String: Any] = [
            "ascii": "text", "unicode": "é😀", "long": long, "yes": true, "no": false, "small": 7, "large": 1 << 40,
            "negative": -5, "real": 1.5, "date": Date(timeIntervalSince1970: 1_469_181_600),
            "data": Data([1, 2, 3]), "list": ["a", ["b"]], "empty": [String: Any](),
        ]
        let bytes = Array(try PropertyListSerialization.data(fromPropertyList: source, format: format, options: 0))
        let dictionary = try #require(try PropertyList.parse(bytes, place: "x").dictionary)
        #expect(dictionary.entries.count == source.count)
        #expect(dictionary["ascii"]?.value == .string("text"))
        #expect(dictionary["unicode"]?.value == .string("é😀"))
        #expect(dictionary["long"]?.value == .string(long))
        #expect(dictionary["yes"]?.value == .boolean(true))
        #expect(dictionary["no"]?.value == .boolean(false))
        #expect(dictionary["small"]?.value == .integer(7))
        #expect(dictionary["large"]?.value == .integer(1 << 40))
        #expect(dictionary["negative"]?.value == .integer(-5))
        #expect(dictionary["real"]?.value == .real("1.5"))
        #expect(dictionary["date"]?.value == .date("2016-07-22T10:00:00Z"))
        #expect(dictionary["data"]?.value == .data([1, 2, 3]))
        #expect(dictionary["list"]?.value == .array([.string("a"), .array([.string("b")])]))
        #expect(dictionary["empty"]?.value == .dictionary(PropertyListDictionary()))
    }

    @Test func `a binary array that contains itself is refused`() {
        // One array with one reference, to itself.
        let array: [UInt8] = [0xA1, 0x00]
        let trailer: [UInt8] =
            [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1]
            + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 10]
        let bytes = Array("bplist00".utf8) + array + [8] + trailer
        #expect {
            try PropertyList.parse(bytes, place: "x")
        } throws: {
            ($0 as? CredentialError)?.message.contains("nested deeper") == true
        }
    }
}
