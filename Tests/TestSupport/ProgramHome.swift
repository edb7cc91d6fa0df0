import Foundation

/// A user's home for the real program: folders of its own, a clean environment, and the files in it.
public struct ProgramHome: Sendable {
    /// The path of the home.
    public let path: String
    /// The variables that every call gets; not those of the user that runs the tests.
    public let environment: [String: String]

    /// The program that was built with the tests.
    public static let program = BuiltProgram.path

    /// Makes a home in a folder, or takes one up that was made there.
    ///
    /// - Parameters:
    ///   - busAddress: the bus; `nil` for one that is not there.
    ///   - variables: added to the environment, or removed from it if the value is `nil`.
    public init(_ path: String, busAddress: String? = nil, _ variables: [String: String?] = [:]) throws {
        self.path = path
        var environment = [
            "HOME": path, "XDG_CONFIG_HOME": path + "/config", "XDG_DATA_HOME": path + "/data",
            "XDG_CONFIG_DIRS": path + "/etc", "XDG_DATA_DIRS": path + "/share", "XDG_RUNTIME_DIR": path + "/run",
            "TMPDIR": path + "/tmp", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            // The bus of the user that runs the tests is never asked.
            "DBUS_SESSION_BUS_ADDRESS": busAddress ?? "unix:path=" + path + "/run/bus",
            // The kernel's keyring outlives a home; the tests of the cache turn it on.
            "CREDMGR_CACHE": "off",
        ]
        for (name, value) in variables { environment[name] = value }
        self.environment = environment
        for name in ["run", "tmp"] {
            try FileManager.default.createDirectory(
                atPath: path + "/" + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700]
            )
        }
    }

    /// `$XDG_DATA_HOME`.
    public var dataHome: String { path + "/data" }

    /// The folder of a keychain group.
    public func groupFolder(_ group: String = "default") -> String { dataHome + "/credmgr/groups/" + group }

    /// A call of the program.
    public func command(_ words: [String], _ variables: [String: String] = [:]) -> ChildProcess {
        ChildProcess(Self.program, words, environment: environment.merging(variables) { $1 })
    }

    // MARK: Files

    /// Writes a file below the home, with the folders on the way.
    ///
    /// - Returns: its path.
    @discardableResult public func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let file = path + "/" + name
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        if mode & 0o111 != 0 {
            try installProgram(text, at: file, mode: mode)
            return file
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    /// The text of a file below the home; `nil` if there is no such file.
    public func text(of name: String) -> String? {
        FileManager.default.contents(atPath: path + "/" + name).map { String(decoding: $0, as: UTF8.self) }
    }
}
