import CredentialCore
import Testing

/// The rule for names.
@Suite struct IdentifierTests {
    @Test func `bytes are valid exactly if the text is, for every byte at every position`() {
        for length in 0...18 {
            for place in 0..<max(1, length) {
                for byte in UInt8.min...UInt8.max {
                    var name = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    if length > 0 { name[place] = byte }
                    let text = String(validating: name, as: UTF8.self)
                    #expect(
                        Identifier.isValid(name.span) == text.map { Identifier.isValid($0) } ?? false, "\(name)")
                }
            }
        }
        for (length, isValid) in [(128, true), (129, false)] {
            #expect(Identifier.isValid([UInt8](repeating: UInt8(ascii: "z"), count: length).span) == isValid)
        }
    }
}
