import CredentialCore
import Foundation

/// The translations of one language, read from its file in `Sources/Languages/po`.
package struct POCatalogue: Translations {
    private var singles: [String: String] = [:]
    private var plurals: [String: [String]] = [:]

    /// The languages other than English.
    package static let languages = ["de", "it", "ru", "zh_TW"]

    /// Reads the file of a language.
    ///
    /// - Throws: if there is no such file.
    package init(_ language: String) throws {
        let root = String(#filePath.split(separator: "/Tests/")[0])
        let text = try String(contentsOfFile: "\(root)/Sources/Languages/po/\(language).po", encoding: .utf8)
        for entry in text.components(separatedBy: "\n\n") {
            var values: [String: String] = [:], key = ""
            for line in entry.split(separator: "\n") where !line.hasPrefix("#") {
                guard let quote = line.firstIndex(of: "\"") else { continue }
                if quote > line.startIndex { key = line[..<quote].trimmingCharacters(in: .whitespaces) }
                let piece = line[line.index(after: quote)...].dropLast()
                values[key, default: ""] += piece.replacingOccurrences(of: "\\\"", with: "\"")
                    .replacingOccurrences(of: "\\n", with: "\n").replacingOccurrences(of: "\\\\", with: "\\")
            }
            guard let template = values["msgid"] else { continue }
            if let translation = values["msgstr"], !translation.isEmpty { singles[template] = translation }
            let forms = (0..<4).compactMap { values["msgstr[\($0)]"] }
            if !forms.isEmpty { plurals[template] = forms }
        }
    }

    package func translation(of template: String) -> String { singles[template] ?? template }

    /// One of the longest forms: enough for who measures lines.
    package func translation(of one: String, _ other: String, for count: Int) -> String {
        plurals[one]?.max { $0.count < $1.count } ?? (count == 1 ? one : other)
    }
}
