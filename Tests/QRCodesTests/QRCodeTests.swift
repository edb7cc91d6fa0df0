import QRCodes
import Testing

@testable import Commands

@Suite struct QRCodeTests {
    @Test func `the symbol of a text has its three finders`() throws {
        let modules = try QRCodeEncoder().modules(of: "https://example.com/device?user_code=WDJB-MJHT")
        let size = modules.count
        #expect(size >= 21 && (size - 17) % 4 == 0)
        #expect(modules.allSatisfy { $0.count == size })
        for (row, column) in [(0, 0), (0, size - 7), (size - 7, 0)] {
            for offset in 0..<7 {
                #expect(modules[row][column + offset] && modules[row + 6][column + offset])
                #expect(modules[row + offset][column] && modules[row + offset][column + 6])
            }
            #expect(!modules[row + 1][column + 1] && modules[row + 3][column + 3])
        }
    }

    @Test func `two rows make a line, and the border is light`() {
        let modules = [[true, false], [true, true]]
        let coloured = QRCodeText.lines(of: modules, hasColour: true)
        #expect(coloured.count == 5)
        #expect(coloured[0] == "\u{1B}[30;107m          \u{1B}[0m")
        #expect(coloured[2] == "\u{1B}[30;107m    █▄    \u{1B}[0m")
        let plain = QRCodeText.lines(of: modules, hasColour: false)
        #expect(plain[0] == "██████████")
        #expect(plain[2] == "████ ▀████")
    }

    @Test func `a text that no symbol holds is refused`() {
        #expect(throws: (any Error).self) {
            try QRCodeEncoder().modules(of: String(repeating: "x", count: 4_000))
        }
    }
}
