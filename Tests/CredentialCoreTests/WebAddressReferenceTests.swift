import CredentialCore
import Testing

/// References against a base, by the examples of RFC 3986 §5.4.
@Suite struct WebAddressReferenceTests {
    private static let examples: [(String, String)] = [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/../x", "http://a/b/c/g#s/../x"),
        ("https://other/x/../y", "https://other/y"),
    ]

    @Test(arguments: examples)
    func `a reference resolves as the standard says`(reference: String, meaning: String) throws {
        let base = try #require(URI("http://a/b/c/d;p?q"))
        #expect(base.resolving(reference)?.description == meaning)
    }

    @Test(arguments: ["g", "/g", "//g", "?y", "#s", "", "https://other/x", "../g"])
    func `a reference has the author of its base`(reference: String) throws {
        let base = try #require(URI("http://a/b/c/d;p?q")).named(by: .api(host: "a"))
        #expect(base.resolving(reference)?.author == .api(host: "a"))
    }

    @Test func `a name that is none is told with the nearest one`() {
        #expect(Identifier.near("B2C Account") == "B2C-Account")
        #expect(Identifier.near("  Ünsere Aufgaben!  ") == "nsere-Aufgaben")
        #expect(Identifier.near("../..") == nil)
        #expect(Identifier.near(String(repeating: "a", count: 200))?.count == 128)
    }
}
