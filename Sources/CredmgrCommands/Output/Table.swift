import CredentialCore

/// Rows in aligned columns, for people.
package struct Table: Sendable {
    private let header: [String]
    private var rows: [[String]] = []

    /// Makes a table.
    ///
    /// - Parameter header: the columns' titles.
    package init(_ header: [String]) { self.header = header }

    /// Whether there are no rows.
    package var isEmpty: Bool { rows.isEmpty }

    /// Adds a row. Cells are made safe to show; missing ones are empty, further ones are dropped.
    package mutating func add(_ cells: [String]) {
        rows.append(
            header.indices.map { $0 < cells.count ? ForeignText.shown(cells[$0], limit: 1_000) : "" })
    }

    /// The table as lines, the header first, without spaces at their ends.
    ///
    /// - Parameter width: the columns of the terminal, where lines are cut; `nil` where it is none.
    package func text(width: Int?) -> String {
        let all = [header] + rows
        let widths = header.indices.map { column in all.map { TextLayout.columns($0[column]) }.max() ?? 0 }
        return all.map { cells in
            var line = header.indices.map { TextLayout.padded(cells[$0], to: widths[$0]) }.joined(separator: "  ")
            while line.hasSuffix(" ") { line.removeLast() }
            return (width.map { TextLayout.truncated(line, to: $0) } ?? line) + "\n"
        }.joined()
    }
}
