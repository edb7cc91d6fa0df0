internal import CredentialCore
internal import PropertyLists

/// A definition in the making: the settings read so far, their values, and the outcome for each key.
struct ImportedDefinition {
    /// The settings.
    let settings: PropertyListDictionary
    /// The definition.
    var type: AccountType
    private var lines: [ImportLine] = []

    /// Begins with the settings of an app; `name` may be checked later.
    init(_ settings: PropertyListDictionary, name: String) {
        self.settings = settings
        type = AccountType(name: name, adapter: "azure-b2c", clientID: "")
    }

    // MARK: Reading

    /// The text of `key` without white space at its ends; `nil` when it is missing, empty, or no string, which is
    /// refused.
    mutating func text(_ key: String) -> String? {
        guard let value = settings[key]?.value else { return nil }
        guard let text = value.string else {
            refuse(key, "must be a string, not \(value.kindDescription)")
            return nil
        }
        let trimmed = Self.trimmed(text)
        return trimmed.isEmpty ? nil : trimmed
    }

    /// The text of a key that the settings must have; a missing or empty one is refused.
    mutating func required(_ key: String) -> String? {
        if let text = text(key) { return text }
        if fate(of: key) == nil { refuse(key, settings[key] == nil ? "is missing" : "is empty") }
        return nil
    }

    /// The strings of an array, blanks left out; anything else is refused.
    mutating func texts(_ key: String) -> [String] {
        guard let value = settings[key]?.value else { return [] }
        guard let elements = value.array, elements.allSatisfy({ $0.string != nil }) else {
            refuse(key, "must be an array of strings")
            return []
        }
        return elements.compactMap(\.string).map(Self.trimmed).filter { !$0.isEmpty }
    }

    /// A boolean, or the strings that `boolValue` of iOS takes for one.
    mutating func flag(_ key: String) -> Bool? {
        switch settings[key]?.value {
        case nil: return nil
        case .boolean(let flag)?: return flag
        case .string(let text)? where ["true", "yes", "1"].contains(text.lowercased()): return true
        case .string(let text)? where ["false", "no", "0", ""].contains(text.lowercased()): return false
        default:
            refuse(key, "must be true or false")
            return nil
        }
    }

    /// The text of `key` when it obeys `rule`, one of ``DefinitionValidation``; else it is refused.
    mutating func text(_ key: String, _ rule: (String) -> LocalizedMessage?) -> String? {
        guard let text = text(key) else { return nil }
        guard let problem = rule(text) else { return text }
        refuse(key, problem)
        return nil
    }

    /// The authority that `key` names; else it is refused.
    mutating func authority(_ key: String, isRequired: Bool = false) -> B2CAuthority? {
        guard let text = isRequired ? required(key) : text(key) else { return nil }
        do throws(B2CAuthority.Problem) {
            return try B2CAuthority(text)
        } catch {
            refuse(key, error.message)
            return nil
        }
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    // MARK: Reporting

    /// Notes that a key was taken over as it is.
    mutating func use(_ key: String, _ text: LocalizedMessage) { note(key, .used, text) }
    /// Notes that a key was imported in another form, or an addition.
    mutating func change(_ key: String, _ text: LocalizedMessage) { note(key, .changed, text) }
    /// Notes that a key was left out.
    mutating func ignore(_ key: String, _ text: LocalizedMessage) { note(key, .ignored, text) }
    /// Notes that a key is not acceptable.
    mutating func refuse(_ key: String, _ text: LocalizedMessage) { note(key, .refused, text) }

    private mutating func note(_ key: String, _ fate: ImportLine.Disposition, _ text: LocalizedMessage) {
        lines.append(ImportLine(key: key, line: settings[key]?.line, fate: fate, text: text))
    }

    /// The last fate noted for `key`.
    func fate(of key: String) -> ImportLine.Disposition? { lines.last { $0.key == key }?.fate }

    /// Notes every key that no rule has read.
    ///
    /// - Parameter known: the keys of this form, for the nearest one.
    mutating func readRest(known: [String], _ options: SettingsPlist.Options) {
        for entry in settings.entries where fate(of: entry.key) == nil {
            let nearest: LocalizedMessage =
                SpellingSuggestion.to(entry.key, among: known).map { ", did you mean '\($0)'?" } ?? ""
            if options.refusesUnknownKeys {
                refuse(entry.key, "is unknown\(nearest)")
            } else {
                ignore(entry.key, "unknown key\(nearest)")
            }
        }
    }

    /// The result for each key: in the order of the file, with added or missing keys last.
    var report: [ImportLine] {
        var places: [String: Int] = [:]
        for (place, entry) in settings.entries.enumerated() { places[entry.key] = place }
        return lines.enumerated().sorted {
            (places[$0.element.key] ?? .max, $0.offset) < (places[$1.element.key] ?? .max, $1.offset)
        }.map(\.element)
    }

    /// The definition and the report.
    ///
    /// - Throws: ``ErrorCode/configuration`` when a key was refused, naming each such key; the details hold the
    ///   whole report.
    func finished(place: String) throws(CredentialError) -> (type: AccountType, report: [ImportLine]) {
        let report = report
        let refused = report.filter { $0.fate == .refused }
        guard refused.isEmpty else {
            let reasons = refused.map { line -> LocalizedMessage in
                let key = UntrustedText.shown(line.key, limit: 60)
                return line.line.map { "key \(key), line \($0), \(line.text)" } ?? "key \(key) \(line.text)"
            }
            throw CredentialError(
                .configuration, "\(place) cannot be used: \(LocalizedMessage.joined(reasons, by: "; "))",
                details: report.map { UntrustedText.shown($0.description) })
        }
        return (type, report)
    }
}
