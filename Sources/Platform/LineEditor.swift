import Glibc

/// Edits a line as a terminal does in its own line mode (termios(3)), but of any length.
struct LineEditor {
    /// The keys that edit.
    struct Keys {
        let erase: UInt8
        let eraseWord: UInt8
        let kill: UInt8
        let end: UInt8

        /// The keys that a terminal is set to.
        init(_ settings: termios) {
            erase = settings.c_cc.2
            kill = settings.c_cc.3
            end = settings.c_cc.4
            eraseWord = settings.c_cc.14
        }
    }

    /// The effect of a byte.
    struct Step {
        enum Outcome { case goesOn, line, end }
        var outcome = Outcome.goesOn
        /// The bytes that the terminal is to show.
        var echo: [UInt8] = []
    }

    /// The line so far.
    private(set) var line: [UInt8] = []
    private let keys: Keys?
    private let echoes: Bool

    /// Takes a letter away on the screen.
    private static let rubOut = Array("\u{8} \u{8}".utf8)
    private static let newline = UInt8(ascii: "\n")
    private static let space = UInt8(ascii: " ")

    /// - Parameters:
    ///   - keys: `nil` if no terminal sends the bytes.
    ///   - echoes: whether the typed text is shown; the end of the line always is.
    init(keys: Keys?, echoes: Bool) {
        self.keys = keys
        self.echoes = echoes && keys != nil
    }

    /// Takes the next byte.
    mutating func take(_ byte: UInt8) -> Step {
        if byte == Self.newline || (byte == UInt8(ascii: "\r") && keys != nil) {
            return Step(outcome: .line, echo: keys == nil ? [] : [Self.newline])
        }
        guard let keys, byte != 0 else {
            line.append(byte)
            return Step()
        }
        switch byte {
        case keys.end: return line.isEmpty ? end() : Step()
        case keys.erase, 0x7F, 0x08: return Step(echo: eraseLetter())
        case keys.kill:
            var echo: [UInt8] = []
            while !line.isEmpty { echo += eraseLetter() }
            return Step(echo: echo)
        case keys.eraseWord:
            var echo: [UInt8] = []
            while line.last == Self.space { echo += eraseLetter() }
            while let last = line.last, last != Self.space { echo += eraseLetter() }
            return Step(echo: echo)
        default:
            line.append(byte)
            // A control character, pasted or typed, must not move the cursor about.
            return Step(echo: !echoes ? [] : byte < 0x20 ? [UInt8(ascii: "^"), byte + 0x40] : [byte])
        }
    }

    /// The input has ended.
    func end() -> Step {
        Step(outcome: line.isEmpty ? .end : .line, echo: keys == nil ? [] : [Self.newline])
    }

    /// Removes the last letter, and returns the bytes that remove it from the screen.
    private mutating func eraseLetter() -> [UInt8] {
        // The bytes of a letter after its first begin with the bits 10.
        while let byte = line.last, byte & 0xC0 == 0x80 { line.removeLast() }
        guard let byte = line.popLast(), echoes else { return [] }
        return byte < 0x20 ? Self.rubOut + Self.rubOut : Self.rubOut
    }
}
