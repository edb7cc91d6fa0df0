import CredentialCore
import Foundation
import PropertyLists
import Testing

@Suite struct PropertyListMutationTests {
    /// A generator with a fixed seed (SplitMix64), so that a failure can be repeated.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static func corpus() throws -> [[UInt8]] {
        let source: [String: Any] = [
            "a": "text é", "b": [true, 7, 1.5, -1], "c": ["d": Data([1, 2]), "e": Date(timeIntervalSince1970: 0)],
        ]
        let binary = try PropertyListSerialization.data(fromPropertyList: source, format: .binary, options: 0)
        let xml = try PropertyListSerialization.data(fromPropertyList: source, format: .xml, options: 0)
        let small =
            "<dict><key>a</key><string>x &amp; <b> <![CDATA[c]]></string><key>n</key><integer>0x1F</integer></dict>"
        return [Array(binary), Array(xml), Array(small.utf8)]
    }

    private static let tokens = [
        "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "&", "&#x", ";", "<dict>", "</dict>", "<array>",
        "<key>", "<string>", "<!DOCTYPE", "[", "<?", "\0", "\u{FF}", "bplist00", "{", "\"",
    ].map { Array($0.utf8) }

    private static func mutate(_ bytes: [UInt8], _ generator: inout Generator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
            let place = bytes.isEmpty ? 0 : Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0 where !bytes.isEmpty: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 1 where !bytes.isEmpty: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 2: bytes.insert(contentsOf: tokens.randomElement(using: &generator) ?? [], at: place)
            case 3:
                bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...16, using: &generator)))
            case 4: bytes.removeSubrange(place...)
            default: bytes.insert(contentsOf: bytes[place...].prefix(40), at: place)
            }
        }
        return bytes
    }

    @Test func `20,000 mutations neither trap nor hang`() throws {
        var generator = Generator(state: 20_260_101)
        let corpus = try Self.corpus()
        var accepted = 0, refused = 0
        for index in 0..<20_000 {
            let bytes = Self.mutate(corpus[index % corpus.count], &generator)
            do throws(CredentialError) {
                _ = try PropertyList.parse(bytes, place: "mutant")
                accepted += 1
            } catch {
                #expect(error.code == .configuration)
                refused += 1
            }
        }
        // Both must happen often, or the mutations test too little.
        #expect(accepted > 500)
        #expect(refused > 5_000)
    }
}
