import CredentialCore
import Foundation
import PropertyLists
import Testing

@Suite struct SettingsPlistDocumentTests {
    private static func document(_ name: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/\(name)"), encoding: .utf8)
    }

    @Test func `every key of a definition and of the configuration is documented`() throws {
        let text = try Self.document("reference/account-types.md")
        for key in AccountType.keys + Configuration.keys {
            #expect(text.contains("| `\(key)` |"), "\(key)")
        }
    }

    @Test func `every parameter that cannot be set is documented`() throws {
        let text = try Self.document("reference/account-types.md")
        for name in DefinitionValidation.reservedParameters { #expect(text.contains("`\(name)`"), "\(name)") }
    }

    @Test(arguments: ["form-a-sample", "form-b-skeleton", "form-c"]) func `every key of the settings is documented`(
        _ name: String
    ) throws {
        let text = try Self.document("how-to/import.md")
        let bytes = try SettingsPlistTests.fixture(name)
        let dictionary = try #require(try PropertyList.parse(bytes, place: name).dictionary)
        for entry in dictionary.entries { #expect(text.contains("| `\(entry.key)` |"), "\(entry.key)") }
    }
}
