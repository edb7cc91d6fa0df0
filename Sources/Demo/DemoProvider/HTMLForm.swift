/// The first form of one of the demo's own pages. No general reader of HTML.
struct HTMLForm {
    /// The URL that the form is sent to.
    let action: String
    /// Its inputs with their values, in order.
    let inputs: [(name: String, value: String)]

    /// Finds the form; `nil` when the page has no form.
    init?(_ page: String) {
        let tags = page.split(separator: "<").dropFirst().map { $0.prefix { $0 != ">" } }
        guard let start = tags.firstIndex(where: { $0.hasPrefix("form ") }),
            let action = Self.attribute("action", of: tags[start])
        else { return nil }
        self.action = action
        let end = tags[start...].firstIndex { $0 == "/form" } ?? tags.endIndex
        inputs = tags[start..<end].filter { $0.hasPrefix("input ") }.compactMap { tag in
            Self.attribute("name", of: tag).map { ($0, Self.attribute("value", of: tag) ?? "") }
        }
    }

    private static func attribute(_ name: String, of tag: Substring) -> String? {
        let opening = Array(" \(name)=\"".utf8)
        let bytes = Array(tag.utf8)
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: opening) }) else { return nil }
        let value = bytes[(start + opening.count)...].prefix { $0 != UInt8(ascii: "\"") }
        return unescape(String(decoding: value, as: UTF8.self))
    }

    private static func unescape(_ text: String) -> String {
        let names = ["lt": "<", "gt": ">", "quot": "\"", "#39": "'", "amp": "&"]
        var output = ""
        for (index, piece) in text.split(separator: "&", omittingEmptySubsequences: false).enumerated() {
            guard index > 0 else {
                output += piece
                continue
            }
            let name = piece.prefix { $0 != ";" }
            if let character = names[String(name)] {
                output += character + piece.dropFirst(name.count + 1)
            } else {
                output += "&" + piece
            }
        }
        return output
    }
}
