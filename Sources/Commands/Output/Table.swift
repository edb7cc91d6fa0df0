import CommandLine
package import CredentialCore

/// Rows in aligned columns, for people.
package struct Table: Sendable {
    private let header: [Message]
    private let whole: Set<Message>
    private var rows: [[Message]] = []

    /// The narrowest that a column is made to fit a terminal; below that, a row is shown as lines.
    private static let narrowest = 6

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - header: the columns' titles.
    ///   - whole: the titles of columns that are never cut, because their cells are copied from there.
    package init(_ header: [Message], whole: Set<Message> = []) {
        self.header = header
        self.whole = whole
    }

    /// Whether there are no rows.
    package var isEmpty: Bool { rows.isEmpty }

    /// Adds a row. Cells are made safe to show; missing ones are empty, further ones are dropped.
    package mutating func add(_ cells: [Message]) {
        rows.append(header.indices.map { $0 < cells.count ? cells[$0] : "" })
    }

    /// Adds a row of data.
    package mutating func add(_ cells: [String]) { add(cells.map(Message.init(verbatim:))) }

    /// The table as lines, the header first, without spaces at their ends. What is too wide has its widest columns cut;
    /// where that does not do, each row is a few lines of its own.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal; `nil` where it is none, and nothing is cut.
    ///   - translations: the reader's language.
    package func text(width: Int?, in translations: any Translations = English()) -> String {
        let all = ([header] + rows).map { cells in
            cells.map { ForeignText.shown($0.text(in: translations), limit: 1_000) }
        }
        var widths = header.indices.map { column in all.map { TextLayout.columns($0[column]) }.max() ?? 0 }
        if let width {
            var surplus = widths.reduce(0, +) + 2 * (widths.count - 1) - width
            while surplus > 0 {
                let cuttable = header.indices.filter {
                    !whole.contains(header[$0]) && widths[$0] > max(Self.narrowest, TextLayout.columns(all[0][$0]))
                }
                guard let widest = cuttable.max(by: { widths[$0] < widths[$1] }) else {
                    return lines(all, width: width)
                }
                widths[widest] -= 1
                surplus -= 1
            }
        }
        return all.map { cells in
            let line = header.indices.map {
                TextLayout.padded(TextLayout.truncated(cells[$0], to: widths[$0]), to: widths[$0])
            }
            return Self.trimmed(line.joined(separator: "  ")) + "\n"
        }.joined()
    }

    /// Each row as lines of a title and its cell; a cell that is too long is broken, so that all of it can be read.
    private func lines(_ all: [[String]], width: Int) -> String {
        all.dropFirst().map { cells in
            var lines: [String] = []
            for (title, cell) in zip(all[0], cells) where !cell.isEmpty {
                let label = title.isEmpty ? "" : title.lowercased() + ": "
                let isShort = TextLayout.columns(label) + TextLayout.columns(cell) <= width
                if isShort || title.isEmpty { lines.append(label + cell) } else { lines += [label, "  " + cell] }
            }
            return lines.map { Self.trimmed($0) + "\n" }.joined()
        }.joined(separator: "\n")
    }

    private static func trimmed(_ line: String) -> String {
        var line = line
        while line.hasSuffix(" ") { line.removeLast() }
        return line
    }
}
