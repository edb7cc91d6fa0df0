/// A QR code as lines of text: two rows of modules in one line, by the half blocks of Unicode.
enum QRCodeText {
    /// The light border that readers need, in modules (ISO/IEC 18004 §6.3.8).
    private static let border = 4

    /// How many columns the code of so many modules takes.
    static func width(of modules: [[Bool]]) -> Int { modules.count + 2 * border }

    /// The lines.
    ///
    /// - Parameters:
    ///   - modules: the rows, `true` for a dark module.
    ///   - hasColour: whether black and white may be asked for; else the terminal is taken to show light on dark.
    static func lines(of modules: [[Bool]], hasColour: Bool) -> [String] {
        let size = width(of: modules)
        func isDark(_ row: Int, _ column: Int) -> Bool {
            let (row, column) = (row - border, column - border)
            guard modules.indices.contains(row), modules[row].indices.contains(column) else { return false }
            return modules[row][column]
        }
        return stride(from: 0, to: size, by: 2).map { row in
            let line = (0..<size).map { column in
                let upper = isDark(row, column), lower = row + 1 < size && isDark(row + 1, column)
                // With colours the drawn parts are black; without them they are the terminal's light.
                return switch (upper == hasColour, lower == hasColour) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
            return hasColour ? "\u{1B}[30;107m\(line)\u{1B}[0m" : line
        }
    }
}
