import Foundation
import StrictJSON
import Testing

/// The files of JSONTestSuite (Nicolas Seriot, "Parsing JSON is a minefield"), in Tests/Fixtures.
@Suite struct JSONTestSuiteTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures/json-test-suite/test_parsing")

    private static func files(_ mark: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(mark) }.sorted()
    }

    private static func isAccepted(_ name: String) throws -> Bool {
        let text = Array(try Data(contentsOf: folder.appendingPathComponent(name)))
        return (try? JSONValue.parse(text)) != nil
    }

    @Test func `every text that is JSON is accepted, but for names given twice`() throws {
        let refused = try Self.files("y_").filter { try !Self.isAccepted($0) }
        #expect(try Self.files("y_").count == 95)
        #expect(refused == ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"])
    }

    @Test func `every text that is not JSON is refused`() throws {
        let accepted = try Self.files("n_").filter(Self.isAccepted)
        #expect(try Self.files("n_").count == 188)
        #expect(accepted == [])
    }

    /// Numbers keep their text, so a huge one does no harm until its text is huge; text that is not Unicode, or is
    /// marked as UTF-16, is refused.
    @Test func `among optional cases, only numbers of up to 128 characters are accepted`() throws {
        let accepted = try Self.files("i_").filter(Self.isAccepted)
        #expect(try Self.files("i_").count == 35)
        let numbers = try Self.files("i_number_")
        #expect(accepted == numbers.filter { $0 != "i_number_huge_exp.json" })
    }
}
