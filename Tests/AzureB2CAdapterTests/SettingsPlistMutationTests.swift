import AzureB2CAdapter
import CredentialCore
import Testing

@Suite struct SettingsPlistMutationTests {
    /// A generator with a fixed seed (xorshift64*), so that a failure can be repeated.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state >> 12
            state ^= state << 25
            state ^= state >> 27
            return state &* 0x2545_F491_4F6C_DD1D
        }
    }

    private static let pieces = [
        "//", "?p=", "&amp;p=b2c_1_x", "http://", "https://", "/tfp/", "#", "%2F", ":", "@", "[", "]", "\u{E9}",
        "<x>",
        "<true/>", "<array/>", "<integer>1</integer>", "..", "/", "b2c_1_x", "oauth2/v2.0/token", "login", "+", " ",
    ].map { Array($0.utf8) }

    @Test func `4,000 settings with slips in them give a sound definition or a sound error`() throws {
        var generator = Generator(state: 42)
        let forms = try ["form-a", "form-b", "form-c", "form-a-json"].map(SettingsPlistTests.fixture)
        var imported = 0, refused = 0
        for index in 0..<4_000 {
            var bytes = forms[index % forms.count]
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0x20..<0x7F, using: &generator)
                case 1: bytes.insert(contentsOf: Self.pieces.randomElement(using: &generator) ?? [], at: place)
                default: bytes.removeSubrange(place..<min(place + 5, bytes.count))
                }
            }
            do throws(CredentialError) {
                let type = try SettingsPlist.import(
                    bytes, name: "Tool", fix: index.isMultiple(of: 2), place: "mutant"
                ).type
                // Every type that was imported can be written, read and used.
                let read = try AccountType(name: "Tool", json: type.json, isPrivateFile: true, place: "x")
                #expect(read == type)
                #expect(try B2CAuthority(of: type).base.isSecure)
                _ = try B2CPolicy.named(nil, of: type)
                imported += 1
            } catch {
                #expect(error.code == .configuration)
                #expect(error.message.contains("mutant"), "\(error.message)")
                refused += 1
            }
        }
        #expect(imported > 200)
        #expect(refused > 1_000)
    }

    @Test func `the catalog takes the importer as its reader of settings`() throws {
        let reader: AccountTypeCatalog.SettingsReader = SettingsPlist.definition
        let type = try reader(try SettingsPlistTests.fixture("form-a"), "B2C_Acccount", false, "B2C_Acccount.plist")
        #expect(type.adapter == "azure-b2c")
    }
}
