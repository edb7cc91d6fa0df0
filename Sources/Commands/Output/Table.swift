import CommandLine
package import CredentialCore

/// Rows in aligned columns, for people.
package struct Table: Sendable {
    private let header: [LocalizedMessage]
    private let whole: Set<LocalizedMessage>
    private var rows: [[LocalizedMessage]] = []
    /// The colours of rows (SGR numbers) and the column that is coloured.
    private var colours: [Int?] = []
    private let coloured: LocalizedMessage?

    /// The narrowest that a column is made to fit a terminal; below that, a row is shown as lines.
    private static let narrowest = 6

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - header: the columns' titles.
    ///   - whole: the titles of columns that are never cut, because their cells are copied from there.
    ///   - coloured: the title of the column that a row's colour is for.
    package init(_ header: [LocalizedMessage], whole: Set<LocalizedMessage> = [], coloured: LocalizedMessage? = nil)
    {
        self.header = header
        self.whole = whole
        self.coloured = coloured
    }

    /// Whether there are no rows.
    package var isEmpty: Bool { rows.isEmpty }

    /// Adds a row. Cells are made safe to show; missing ones are empty, further ones are dropped.
    ///
    /// - Parameters:
    ///   - cells: the content of the columns.
    ///   - colour: the colour of the coloured column, as a number of SGR; its meaning has to be in words, too.
    package mutating func add(_ cells: [LocalizedMessage], colour: Int? = nil) {
        rows.append(header.indices.map { $0 < cells.count ? cells[$0] : "" })
        colours.append(colour)
    }

    /// Adds a row of data.
    package mutating func add(_ cells: [String]) { add(cells.map(LocalizedMessage.init(verbatim:))) }

    /// The table as lines, the header first, without spaces at their ends. A table that is too wide has its widest
    /// columns cut; if that is not enough, each row is a few lines of its own.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal; `nil` if there is no terminal, and no column is cut.
    ///   - translations: the reader's language.
    ///   - hasColour: whether rows are shown in their colours.
    package func text(
        width: Int?, in translations: any Translations = NoTranslations(), hasColour: Bool = false
    ) -> String {
        aligned(width: width, in: translations, hasColour: hasColour)
            ?? list(width: width ?? .max, in: translations, hasColour: hasColour)
    }

    /// The table as lines; `nil` if the columns that are never cut do not fit.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal; `nil` if there is no terminal, and no column is cut.
    ///   - translations: the reader's language.
    ///   - hasColour: whether rows are shown in their colours.
    package func aligned(
        width: Int?, in translations: any Translations = NoTranslations(), hasColour: Bool = false
    ) -> String? {
        let all = shown(in: translations)
        var widths = header.indices.map { column in all.map { TextLayout.columns($0[column]) }.max() ?? 0 }
        if let width {
            var surplus = widths.reduce(0, +) + 2 * (widths.count - 1) - width
            while surplus > 0 {
                let cuttable = header.indices.filter {
                    !whole.contains(header[$0]) && widths[$0] > max(Self.narrowest, TextLayout.columns(all[0][$0]))
                }
                guard let widest = cuttable.max(by: { widths[$0] < widths[$1] }) else { return nil }
                widths[widest] -= 1
                surplus -= 1
            }
        }
        return zip(all, [nil] + colours).map { cells, colour in
            let line = header.indices.map { column in
                let cell = TextLayout.truncated(cells[column], to: widths[column])
                let isLast = column == header.count - 1
                return painted(cell, column, hasColour ? colour : nil)
                    + (isLast ? "" : TextLayout.padded("", to: widths[column] - TextLayout.columns(cell)))
            }
            return Self.trimmed(line.joined(separator: "  ")) + "\n"
        }.joined()
    }

    /// Each row as lines of a title and its cell; a cell that is too long is broken, so that all of it can be read.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal.
    ///   - translations: the reader's language.
    ///   - hasColour: whether rows are shown in their colours.
    package func list(width: Int, in translations: any Translations = NoTranslations(), hasColour: Bool = false)
        -> String
    {
        let all = shown(in: translations)
        return zip(all.dropFirst(), colours).map { cells, colour in
            var lines: [String] = []
            for (column, cell) in cells.enumerated() where !cell.isEmpty {
                let title = all[0][column]
                let label = title.isEmpty ? "" : title.lowercased() + ": "
                let isShort = TextLayout.columns(label) + TextLayout.columns(cell) <= width
                let painted = painted(cell, column, hasColour ? colour : nil)
                if isShort || title.isEmpty {
                    lines.append(label + painted)
                } else {
                    lines.append(label)
                    lines += TextLayout.wrapped(cell, width: max(1, width - 2)).map { "  " + $0 }
                }
            }
            return lines.map { Self.trimmed($0) + "\n" }.joined()
        }.joined(separator: "\n")
    }

    private func shown(in translations: any Translations) -> [[String]] {
        ([header] + rows).map { cells in
            cells.map { UntrustedText.shown($0.text(in: translations), limit: 1_000) }
        }
    }

    private func painted(_ cell: String, _ column: Int, _ colour: Int?) -> String {
        guard let colour, header[column] == coloured, !cell.isEmpty else { return cell }
        return "\u{1B}[\(colour)m\(cell)\u{1B}[0m"
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.hasSuffix(" ") { line.removeLast() }
        return line
    }
}
