package import CredentialCore
import Platform

/// The files that define account types, and `config.json`.
package struct DefinitionFiles: DefinitionStore {
    private static let limit = 1 << 20

    /// The directory that definitions are written to, made if it is missing.
    private let configHome: String

    /// Reads anywhere and writes below `$XDG_CONFIG_HOME`.
    package init(configHome: String) { self.configHome = configHome }

    package func read(_ path: String) throws(CredentialError) -> DefinitionFile? {
        try UserInputFile.read(path, limit: Self.limit).map {
            DefinitionFile(bytes: $0.content, isPrivate: $0.isPrivate)
        }
    }

    package func names(in folder: String) throws(CredentialError) -> [String] { try FileNames.inFolder(folder) }

    package func write(_ bytes: [UInt8], to path: String) throws(CredentialError) {
        let (folder, name) = try split(path)
        try PrivateDirectory.create(folder, below: configHome).write(bytes, to: name)
    }

    package func remove(_ path: String) throws(CredentialError) {
        let (folder, name) = try split(path)
        try PrivateDirectory.open(folder, below: configHome)?.remove(name)
    }

    package func isOfRoot(_ path: String) -> Bool {
        // A name that another user may exchange is no proof about the file.
        guard let slash = path.lastIndex(of: "/") else { return false }
        return [path, String(path[..<slash])].allSatisfy(OwnershipCheck.areRoots)
    }

    /// The folders below ``configHome`` and the name of a file that may be written.
    private func split(_ path: String) throws(CredentialError) -> ([String], String) {
        var parts =
            path.hasPrefix(configHome + "/") ? path.dropFirst(configHome.count + 1).split(separator: "/") : []
        guard let name = parts.popLast(), !parts.isEmpty else {
            throw CredentialError(.internalFault, "\(path) is not below \(configHome)")
        }
        return (parts.map(String.init), String(name))
    }
}
