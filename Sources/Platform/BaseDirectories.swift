package import CredentialCore
import Glibc

/// The folders of the XDG Base Directory Specification, as the environment gives them.
///
/// Values that are empty or not absolute count as unset, as the specification demands.
package struct BaseDirectories: Sendable, Hashable {
    /// The home folder.
    package let home: String
    /// `$XDG_DATA_HOME`: the parent of our own `credmgr` directory.
    package let dataHome: String
    /// `$XDG_CONFIG_HOME`.
    package let configHome: String
    /// `$XDG_CACHE_HOME`.
    package let cacheHome: String
    /// `$XDG_STATE_HOME`.
    package let stateHome: String
    /// The `credmgr` folders with configuration, the user's first, then those of `$XDG_CONFIG_DIRS`.
    package let configSearchPath: [String]
    /// The `credmgr` folders of `$XDG_DATA_DIRS`; the user's own is not among them.
    package let dataSearchPath: [String]

    /// The user's `credmgr` folder for data.
    package var dataFolder: String { dataHome + "/credmgr" }
    /// The user's `credmgr` folder for configuration.
    package var configFolder: String { configHome + "/credmgr" }
    /// The directories in which type definitions are looked up, the user's own first.
    package var typeFolders: [String] { (configSearchPath + dataSearchPath).map { $0 + "/types" } }
    /// The user's configuration.
    package var configurationFile: String { configFolder + "/config.json" }

    /// Reads the folders from an environment; without `HOME` the user database is asked.
    ///
    /// - Throws: ``ErrorCode/configuration`` when there is no home folder.
    package init(environment: [String: String]) throws(CredentialError) {
        try self.init { environment[$0] }
    }

    /// Reads the folders from single variables.
    ///
    /// - Throws: as ``init(environment:)``.
    package init(variable: (String) -> String?) throws(CredentialError) {
        guard let home = Self.absolute(variable("HOME")) ?? Self.homeFromUserDatabase() else {
            throw CredentialError(.configuration, "there is no home directory", hint: "set HOME")
        }
        self.home = home
        dataHome = Self.absolute(variable("XDG_DATA_HOME")) ?? Self.join(home, ".local/share")
        configHome = Self.absolute(variable("XDG_CONFIG_HOME")) ?? Self.join(home, ".config")
        cacheHome = Self.absolute(variable("XDG_CACHE_HOME")) ?? Self.join(home, ".cache")
        stateHome = Self.absolute(variable("XDG_STATE_HOME")) ?? Self.join(home, ".local/state")
        configSearchPath =
            [configHome + "/credmgr"] + Self.list(variable("XDG_CONFIG_DIRS"), standard: ["/etc/xdg"])
        dataSearchPath = Self.list(
            variable("XDG_DATA_DIRS"), standard: ["/usr/local/share", "/usr/share"])
    }

    private static func list(_ value: String?, standard: [String]) -> [String] {
        let given = (value ?? "").split(separator: ":").compactMap { absolute(String($0)) }
        return (given.isEmpty ? standard : given).map { $0 + "/credmgr" }
    }

    /// The path without slashes at its end, if it is absolute.
    private static func absolute(_ path: String?) -> String? {
        guard let path, path.utf8.first == UInt8(ascii: "/") else { return nil }
        let end = path.utf8.lastIndex { $0 != UInt8(ascii: "/") }
        return end.map { String(path[...$0]) } ?? ""
    }

    private static func join(_ folder: String, _ name: String) -> String { folder + "/" + name }

    private static func homeFromUserDatabase() -> String? {
        // The small program is linked statically, so it cannot load the modules of the user database.
        #if hasFeature(Embedded)
        return nil
        #else
        guard let entry = unsafe getpwuid(getuid()), let folder = unsafe entry.pointee.pw_dir else { return nil }
        return unsafe absolute(String(cString: folder))
        #endif
    }
}

extension BaseDirectories {
    /// Every directory of this user's that belongs to credmgr, even if it does not exist: data, configuration,
    /// caches, state, and the files in memory.
    ///
    /// - Parameter variable: reads a variable of the environment.
    package func ownFolders(variable: (String) -> String?) -> [String] {
        let user = getuid()
        let runtime = variable("XDG_RUNTIME_DIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let memory =
            ["/dev/shm/credmgr-\(user)"] + ([runtime, "/run/user/\(user)"].compactMap { $0 }).map(Self.own)
        return [dataFolder, configFolder] + [cacheHome, stateHome].map(Self.own) + memory
    }

    private static func own(_ folder: String) -> String { folder + "/credmgr" }
}
