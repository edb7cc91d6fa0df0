/// The language of the person at the terminal.
package protocol Translations: Sendable {
    /// A template in that language; unchanged if there is no translation.
    func translation(of template: String) -> String

    /// One of the forms of a template that a number has in that language.
    func translation(of one: String, _ other: String, for count: Int) -> String
}

/// English, as the templates are.
package struct NoTranslations: Translations {
    package init() {}

    package func translation(of template: String) -> String { template }
    package func translation(of one: String, _ other: String, for count: Int) -> String { count == 1 ? one : other }
}

extension LocalizedMessage {
    /// The code of the catalogue's language for web pages (BCP 47): a translation of "en" as that.
    package static var languageOfPages: LocalizedMessage { "en" }

    /// The text in the user's language; no program reads it.
    package func text(in translations: any Translations) -> String {
        Self.filled(hasWords ? translations.translation(of: template) : template, texts(in: translations))
    }

    private func texts(in translations: any Translations) -> [String] {
        values.map { value in
            switch value {
            case .text(let text): text
            case .message(let message): message.text(in: translations)
            case .plural(let count, let one, let other):
                Self.filled(
                    translations.translation(of: one.template, other.template, for: count),
                    other.texts(in: translations))
            }
        }
    }

    /// Whether there is anything to translate; places and punctuation alone are not.
    private var hasWords: Bool {
        !template.isEmpty
            && Self.filled(template, values.map { _ in "" }).unicodeScalars.contains { $0.properties.isAlphabetic }
    }
}
