import StrictJSON
import Testing

@Suite struct JSONLimitsTests {
    private func reason(_ text: String, _ limits: JSONLimits) -> JSONError.Reason? {
        #expect(throws: JSONError.self) { try JSONValue.parse(text, limits: limits) }?.reason
    }

    @Test func `the size is limited`() throws {
        #expect(try JSONValue.parse("[1]", limits: JSONLimits(bytes: 3)) == [1])
        #expect(reason("[1] ", JSONLimits(bytes: 3)) == .tooLarge(bytes: 3))
    }

    @Test func `the depth is limited`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try JSONValue.parse(nested(32)) }
        #expect(reason(nested(33), .reply) == .tooDeep(levels: 32))
        #expect(throws: Never.self) { try JSONValue.parse("[{\"a\":[]}]", limits: JSONLimits(depth: 3)) }
        #expect(reason("[{\"a\":{}}]", JSONLimits(depth: 2)) == .tooDeep(levels: 2))
    }

    @Test(arguments: ["[", "{\"a\":", "[{\"a\":"])
    func `a hundred thousand openings do not exhaust the stack`(_ opening: String) {
        let text = String(repeating: opening, count: 100_000)
        #expect(reason(text, .reply) == .tooDeep(levels: 32))
    }

    @Test func `the number of values is limited`() throws {
        #expect(throws: Never.self) { try JSONValue.parse("[1,[2],{\"a\":3}]", limits: JSONLimits(nodes: 6)) }
        #expect(reason("[1,[2],{\"a\":3}]", JSONLimits(nodes: 5)) == .tooMany(values: 5))
        let many = "[" + Array(repeating: "0", count: 1 << 16).joined(separator: ",") + "]"
        #expect(reason(many, .reply) == .tooMany(values: 65536))
        #expect(throws: Never.self) { try JSONValue.parse(many, limits: .ownFile) }
    }
}

@Suite struct JSONDialectTests {
    @Test(arguments: [
        "// first\n{\"a\": 1}", "{\"a\": 1} // last", "/* a */{/* b */\"a\"/* c */:/* d */1/* e */}/* f */",
        "{\"a\": 1,}", "{\"a\": 1,\n// done\n}", "{\"a\": 1 /* * / ** // */ ,}", "/***/{\"a\":1}",
        "{//\n\"a\":1}//",
        "{\"a\"://\n1}",
    ])
    func `comments and trailing commas are read over`(_ text: String) throws {
        #expect(try JSONValue.parse(text, dialect: .commented) == ["a": 1])
        #expect(throws: JSONError.self) { try JSONValue.parse(text) }
    }

    @Test func `arrays may end with a comma`() throws {
        #expect(try JSONValue.parse("[1, [2,], /**/]", dialect: .commented) == [1, [2]])
    }

    @Test func `comment-like text in a string is text`() throws {
        #expect(try JSONValue.parse("[\"// /* */\"]", dialect: .commented) == ["// /* */"])
    }

    @Test(arguments: [
        "[,]", "{,}", "[1,,]", "{\"a\":1,,}", "/* ", "/*/", "/", "/ /\n1", "1 /", "# no\n1", "{'a':1}", "{a:1}",
        "[01]",
        "{\"a\":1,\"a\":2}", "[1]//\n]", "/* /* */ */1", "",
    ])
    func `nothing else is looser`(_ text: String) {
        #expect(throws: JSONError.self) { try JSONValue.parse(text, dialect: .commented) }
    }

    @Test func `lines are counted through comments`() {
        let error = #expect(throws: JSONError.self) {
            try JSONValue.parse("/* one\ntwo */\n// three\n{\"a\": x}", dialect: .commented)
        }
        #expect(error?.line == 4)
    }
}
