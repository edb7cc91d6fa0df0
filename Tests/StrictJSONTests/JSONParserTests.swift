import StrictJSON
import Testing

@Suite struct JSONParserTests {
    @Test func `numbers keep their meaning`() throws {
        #expect(try JSONValue.parse("[3600, \"3600\", 1e3]") == [3600, "3600", .decimal("1e3")])
    }
}
