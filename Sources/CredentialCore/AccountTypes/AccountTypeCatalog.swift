internal import StrictJSON

/// The account types that are defined: `NAME.json` or `NAME.plist` in each of the search folders, the first wins.
public struct AccountTypeCatalog: Sendable {
    /// Reads the settings of an iOS app as a definition: bytes, the type's name, whether the file is private, and
    /// the file's path for messages.
    public typealias SettingsReader =
        @Sendable (_ bytes: [UInt8], _ name: String, _ isPrivate: Bool, _ place: String) throws(CredentialError)
        -> AccountType

    private let folders: [String]
    private let files: any DefinitionStore
    private let readSettings: SettingsReader

    /// Makes a catalog.
    ///
    /// - Parameters:
    ///   - folders: the directories of definitions, in order; the first is the user's own, the only one written.
    ///   - files: reads and writes.
    ///   - readSettings: reads `NAME.plist`.
    public init(folders: [String], files: any DefinitionStore, readSettings: @escaping SettingsReader) {
        self.folders = folders
        self.files = files
        self.readSettings = readSettings
    }

    /// A type and the place of its definition.
    public struct Definition: Sendable {
        /// The type.
        public let type: AccountType
        /// The file that defines it.
        public let path: String
    }

    /// A name that files define.
    public struct Entry: Sendable {
        /// The name.
        public let name: String
        /// The file that counts.
        public let path: String
        /// Files of the same name further down the search path, which do not count.
        public let shadowed: [String]
        /// The type, or why the file cannot be used.
        public let type: Result<AccountType, CredentialError>
    }

    // MARK: Reading

    /// The definition of `name`.
    ///
    /// - Throws: ``ErrorCode/unknownType`` when it has no definition; ``ErrorCode/usage`` for a bad name;
    ///   ``ErrorCode/configuration`` when its file cannot be used; ``ErrorCode/inputOutput``.
    public func definition(of name: String) throws(CredentialError) -> Definition {
        let name = try Identifier.checked(name, kind: .accountType)
        for path in paths(of: name) {
            guard let file = try files.read(path) else { continue }
            return Definition(type: try type(name, in: file, at: path), path: path)
        }
        throw try unknown(name)
    }

    /// The user's own definition of `name`; `nil` if the user has no such definition, even if other directories
    /// have one.
    ///
    /// - Throws: as ``definition(of:)``.
    package func ownDefinition(of name: String) throws(CredentialError) -> Definition? {
        for path in try userFiles(of: Identifier.checked(name, kind: .accountType)) {
            guard let file = try files.read(path) else { continue }
            return Definition(type: try type(name, in: file, at: path), path: path)
        }
        return nil
    }

    /// The file that defines `name`; `nil` if there is no such file.
    ///
    /// - Throws: ``ErrorCode/usage`` for a bad name; ``ErrorCode/inputOutput``.
    package func file(of name: String) throws(CredentialError) -> (path: String, file: DefinitionFile)? {
        for path in paths(of: try Identifier.checked(name, kind: .accountType)) {
            if let file = try files.read(path) { return (path, file) }
        }
        return nil
    }

    /// Whether a file is in the user's own folder.
    package func isOwn(_ path: String) -> Bool { folders.first.map { path.hasPrefix($0 + "/") } ?? false }

    /// Everything defined, sorted by name; a file that cannot be used is listed with the reason.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when a folder cannot be read.
    public func entries() throws(CredentialError) -> [Entry] {
        var paths: [String: [String]] = [:]
        for folder in folders {
            let names = Set(try files.names(in: folder))
            for name in Set(names.compactMap(Self.typeName)) {
                let present = Self.suffixes.filter { names.contains(name + $0) }
                paths[name, default: []] += present.map { "\(folder)/\(name)\($0)" }
            }
        }
        return paths.sorted { $0.key < $1.key }.compactMap { name, paths in
            guard let path = paths.first else { return nil }
            return Entry(name: name, path: path, shadowed: Array(paths.dropFirst()), type: type(name, at: path))
        }
    }

    /// Reads a definition in a file of either form: settings of an iOS app when `path` ends in `.plist`, else JSON
    /// with comments and trailing commas allowed.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    public func type(_ name: String, in file: DefinitionFile, at path: String) throws(CredentialError)
        -> AccountType
    {
        if path.hasSuffix(".plist") { return try readSettings(file.bytes, name, file.isPrivate, path) }
        return try AccountType(
            name: name, json: try members(of: file, at: path), isPrivateFile: file.isPrivate, place: path)
    }

    /// The keys in a definition of JSON.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    package func keys(in file: DefinitionFile, at path: String) throws(CredentialError) -> [String] {
        try members(of: file, at: path).keys
    }

    private func members(of file: DefinitionFile, at path: String) throws(CredentialError) -> JSONObject {
        let value: JSONValue
        do {
            value = try JSONValue.parse(file.bytes, dialect: .commented)
        } catch {
            throw CredentialError(.configuration, "\(path) is not JSON: \(error)")
        }
        guard let members = value.object else {
            throw CredentialError(.configuration, "\(path) must contain an object, not \(value.kind)")
        }
        return members
    }

    /// Whether the content of a file is a definition, be it a broken one, and not the settings of an app, which may
    /// be JSON with keys of their own.
    package static func isDefinition(_ file: DefinitionFile, at path: String) -> Bool {
        guard let keys = try? JSONValue.parse(file.bytes, dialect: .commented).object?.keys else {
            return path.hasSuffix(".json")
        }
        return !keys.contains { ["authURL", "clientID", "clientId"].contains($0) }
    }

    /// The types of the same client in other groups, which share no sign-in with `type`. The app of one article has
    /// a keychain group and that of another has no group, for one client, and the user would not see the reason.
    ///
    /// - Throws: the errors of the adapters and of ``entries()``.
    package func strangers(
        to type: AccountType, _ adapters: AdapterRegistry
    ) throws(CredentialError) -> [AccountType] {
        let own = try ClientIdentity(of: type, adapters)
        return try entries().compactMap { entry in
            guard entry.name != type.name, case .success(let other) = entry.type,
                other.keychainGroup != type.keychainGroup, (try? ClientIdentity(of: other, adapters)) == own
            else { return nil }
            return other
        }
    }

    private func type(_ name: String, at path: String) -> Result<AccountType, CredentialError> {
        do throws(CredentialError) {
            guard let file = try files.read(path) else {
                return .failure(CredentialError(.inputOutput, "cannot read \(path): file not found"))
            }
            return .success(try type(name, in: file, at: path))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Writing

    /// Writes a definition into the user's folder, as JSON in a private file.
    ///
    /// A definition of that name in another folder is shadowed by it.
    ///
    /// - Returns: the file written.
    /// - Throws: ``ErrorCode/usage`` when the user's folder defines the name and `force` is not given;
    ///   ``ErrorCode/inputOutput``.
    public func add(_ type: AccountType, force: Bool = false) throws(CredentialError) -> String {
        let name = try Identifier.checked(type.name, kind: .accountType)
        try checkFree(name, force: force)
        let path = "\(try userFolder())/\(name).json"
        try files.write(Self.bytes(of: type), to: path)
        return path
    }

    /// The file that ``add(_:force:)`` writes.
    static func bytes(of type: AccountType) -> [UInt8] {
        JSONValue.object(type.json).bytes(.indented) + [UInt8(ascii: "\n")]
    }

    /// Checks that ``add(_:force:)`` will not refuse the name, before its caller takes other steps for it.
    ///
    /// - Throws: as ``add(_:force:)``.
    package func checkFree(_ name: String, force: Bool) throws(CredentialError) {
        if !force, let path = try userFiles(of: name).first {
            throw CredentialError(
                .usage, "account type '\(name)' is already defined in \(path)",
                hint: "use --force to overwrite the definition, or choose another name")
        }
    }

    /// Whether any file defines `name`.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func isDefined(_ name: String) throws(CredentialError) -> Bool {
        for path in paths(of: name) where try files.read(path) != nil { return true }
        return false
    }

    /// Removes the definition of `name` from the user's folder.
    ///
    /// - Returns: the files removed.
    /// - Throws: ``ErrorCode/usage`` when its definition is in another directory, which the message names;
    ///   ``ErrorCode/unknownType``; ``ErrorCode/inputOutput``.
    public func remove(_ name: String) throws(CredentialError) -> [String] {
        let name = try Identifier.checked(name, kind: .accountType)
        let own = try userFiles(of: name)
        if own.isEmpty {
            for path in paths(of: name) where try files.read(path) != nil {
                throw CredentialError(
                    .usage,
                    "cannot remove account type '\(name)': its file \(path) is outside your configuration "
                        + "directory",
                    hint: "override the definition with your own: credmgr types add --help")
            }
            throw try unknown(name)
        }
        for path in own { try files.remove(path) }
        return own
    }

    // MARK: Places

    private static let suffixes = [".json", ".plist"]

    /// The files that decide the meaning of `name`: each in turn until the one that exists. While all of them stay
    /// unchanged, the definition is the same.
    package func candidates(of name: String) -> [String] {
        var candidates: [String] = []
        for path in paths(of: name) {
            candidates.append(path)
            if (try? files.read(path)) != nil { break }
        }
        return candidates
    }

    /// The directories and the files that decide which types are defined at all. While all of them stay unchanged,
    /// ``entries()`` are the same.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when a folder cannot be read.
    package func everything() throws(CredentialError) -> [String] {
        var everything = folders
        for folder in folders {
            everything += try files.names(in: folder).filter { Self.typeName($0) != nil }.map { "\(folder)/\($0)" }
        }
        return everything
    }

    private func paths(of name: String) -> [String] {
        folders.flatMap { folder in Self.suffixes.map { "\(folder)/\(name)\($0)" } }
    }

    private func userFolder() throws(CredentialError) -> String {
        guard let folder = folders.first else {
            throw CredentialError(.configuration, "cannot find the directory for account types", hint: "set HOME")
        }
        return folder
    }

    private func userFiles(of name: String) throws(CredentialError) -> [String] {
        let folder = try userFolder()
        let names = Set(try files.names(in: folder))
        return Self.suffixes.filter { names.contains(name + $0) }.map { "\(folder)/\(name)\($0)" }
    }

    private static func typeName(_ file: String) -> String? {
        guard let suffix = suffixes.first(where: file.hasSuffix) else { return nil }
        let name = String(file.dropLast(suffix.count))
        return Identifier.isValid(name) ? name : nil
    }

    private func unknown(_ name: String) throws(CredentialError) -> CredentialError {
        var names: [String] = []
        for folder in folders {
            for file in try files.names(in: folder) {
                guard let type = Self.typeName(file) else { continue }
                names.append(type)
                guard type == name else { continue }
                // It is listed, but it has no target to read.
                return CredentialError(
                    .unknownType, "no account type '\(name)': \(folder)/\(file) is a broken symbolic link")
            }
        }
        let hint: LocalizedMessage =
            SpellingSuggestion.to(name, among: names).map { "did you mean '\($0)'?" }
            ?? "define it: credmgr types add --help"
        return CredentialError(.unknownType, "no account type '\(name)'", hint: hint)
    }
}
