package import CredentialCore

/// The presets there are: `NAME.json` in each of the search folders, then those built in; the first wins.
package struct PresetCatalog: Sendable {
    private let folders: [String]
    private let files: any DefinitionStore

    /// Makes a catalog.
    ///
    /// - Parameter folders: the directories of presets, in order.
    package init(folders: [String], files: any DefinitionStore) {
        self.folders = folders
        self.files = files
    }

    /// A preset, its origin, and the presets that it hides.
    package struct Entry: Sendable {
        /// The name.
        package let name: String
        /// The file; `nil` for one that is built in.
        package let path: String?
        /// The preset, or why the file cannot be used.
        package let preset: Result<Preset, CredentialError>
    }

    /// Every preset, sorted by name.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when a folder cannot be read.
    package func entries() throws(CredentialError) -> [Entry] {
        var paths: [String: String?] = [:]
        for folder in folders {
            for file in try files.names(in: folder) where file.hasSuffix(".json") {
                let name = String(file.dropLast(5))
                if Identifier.isValid(name), paths[name] == nil { paths[name] = .some("\(folder)/\(file)") }
            }
        }
        for name in Preset.builtIn.keys where paths[name] == nil { paths[name] = .some(nil) }
        return paths.sorted { $0.key < $1.key }.map { name, path in
            do throws(CredentialError) {
                return Entry(name: name, path: path, preset: .success(try read(name, path)))
            } catch {
                return Entry(name: name, path: path, preset: .failure(error))
            }
        }
    }

    /// The preset called `name`.
    ///
    /// - Throws: ``ErrorCode/usage`` when there is no such preset; ``ErrorCode/configuration`` when its file cannot
    ///   be used.
    package func preset(named name: String) throws(CredentialError) -> Preset {
        let name = try Identifier.checked(name, kind: .preset)
        for folder in folders {
            let path = "\(folder)/\(name).json"
            if let file = try files.read(path) { return try Preset(name: name, file.bytes, place: path) }
        }
        if Preset.builtIn[name] != nil { return try read(name, nil) }
        let names = (try? entries().map(\.name)) ?? []
        throw CredentialError(
            .usage, "no preset '\(name)'",
            hint: Self.meant(by: name, among: names) ?? "credmgr presets")
    }

    /// The presets that have the word in their names, else the nearest one.
    private static func meant(by name: String, among names: [String]) -> LocalizedMessage? {
        let having = names.filter { $0.contains(name.lowercased()) }
        guard having.count > 1 else {
            return (having.first ?? SpellingSuggestion.to(name, among: names)).map { "did you mean '\($0)'?" }
        }
        return "did you mean one of \(having.joined(separator: ", "))?"
    }

    /// Whether a preset is built in, or in a directory of root's.
    package func isTrusted(_ name: String) -> Bool {
        for folder in folders {
            let path = "\(folder)/\(name).json"
            if (try? files.read(path)) != nil { return files.isOfRoot(path) }
        }
        return true
    }

    private func read(_ name: String, _ path: String?) throws(CredentialError) -> Preset {
        guard let path else {
            return try Preset(
                name: name, Array((Preset.builtIn[name] ?? "").utf8), place: "the built-in preset \(name)")
        }
        guard let file = try files.read(path) else {
            throw CredentialError(.inputOutput, "cannot read \(path): file not found")
        }
        return try Preset(name: name, file.bytes, place: path)
    }
}

extension Preset {
    /// The texts of the presets that this program brings, by name; each is in a file of its own.
    package static let builtIn: [String: String] = [
        "auth0": auth0, "azure-b2c": azureB2C, "entra-external-id": entraExternalID, "entra-id": entraID,
        "github": github, "gitlab": gitlab, "gmail": gmail, "google": google, "keycloak": keycloak, "okta": okta,
        "outlook": outlook,
    ]
}
